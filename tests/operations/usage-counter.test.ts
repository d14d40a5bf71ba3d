import { expect, it } from "vitest";
import { UsageCounter } from "../../runtime/operations/usage-counter.js";
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

it("merges routes, then keys, when it is full, and loses no count", () => {
  const counter = new UsageCounter(10);
  let requests = 0;
  for (let key = 0; key < 100; key++)
    for (let route = 0; route < 5; route++) {
      const owner = { ...ANN, id: String(key) };
      for (let again = 0; again < 2; again++, requests++)
        counter.count(observation({ owner, route: `/v1/${String(route)}` }), NOON);
    }
  const rows = counter.take();
  expect(rows).toHaveLength(21);
  expect(rows.slice(10, 20).every(({ key, route }) => key !== "other" && route === "other")).toBe(true);
  expect(rows[20]).toMatchObject({ key: "other", route: "other", user: "" });
  expect(rows.reduce((sum, row) => sum + row.requests, 0)).toBe(requests);
});
