import { expect, it } from "vitest";
import { UsageCounter } from "../../runtime/operations/usage.js";
import { ANN, observation } from "../support/observation.js";

const NOON = Date.UTC(2026, 0, 31, 12);

it("counts requests, refusals and errors by key and route", () => {
  const counter = new UsageCounter();
  for (const status of [200, 200, 304, 401, 403, 429, 404, 400, 500, 503])
    counter.count(observation({ owner: ANN, status, rows: 3, bytes: 10 }), NOON);
  counter.count(observation({ rows: null, bytes: 0 }), NOON);
  counter.count(observation({ route: null, status: 404 }), NOON + 5);
  expect(counter.take()).toEqual([
    {
      day: "2026-01-31",
      key: ANN.id,
      route: "/v1/shop/legacy",
      user: "ann",
      org: "Acme",
      tier: "tier1",
      requests: 10,
      refused: 3,
      errors: 4,
      rows: 30,
      bytes: 100,
      lastSeen: NOON,
    },
    expect.objectContaining({ key: "none", route: "/v1/shop/legacy", user: "", requests: 1, rows: 0 }),
    expect.objectContaining({ key: "none", route: "none", errors: 1, lastSeen: NOON + 5 }),
  ]);
  expect(counter.take()).toEqual([]);
});

it("starts a new row with each UTC day", () => {
  const counter = new UsageCounter();
  const midnight = Date.UTC(2026, 1, 1);
  for (const now of [midnight - 1, midnight, midnight - 1]) counter.count(observation(), now);
  expect(counter.take().map(({ day, requests }) => [day, requests])).toEqual([
    ["2026-01-31", 2],
    ["2026-02-01", 1],
  ]);
});
