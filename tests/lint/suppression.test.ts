import { expect, it } from "vitest";
import { DAILY, project, type TestNode } from "./project.js";
import { found, lintJson } from "./run.js";

const off = (lint: unknown) => ({ routewright: { lint } });
const LEGACY: TestNode = { tags: DAILY, columns: ["day"] };
const REASON = { "unlimited-response": " One row a year. " };

it("a rule turned off with a reason is reported apart, with its reason", () => {
  const { findings, suppressed } = lintJson(project({ sales: { ...LEGACY, meta: off(REASON) } }));
  expect(findings).toEqual([]);
  expect(suppressed.map(({ rule, reason }) => [rule, reason])).toEqual([
    ["unlimited-response", "One row a year."],
  ]);
});

it("is read from `meta` where `config.meta` says nothing of it", () => {
  const more = { meta: off(REASON) };
  expect(found(project({ sales: { ...LEGACY, more } }))).toEqual([]);
  const both = project({ sales: { ...LEGACY, meta: off({ "private-data": "None." }), more } });
  expect(found(both)).toEqual([
    "unlimited-response $.config.meta",
    'unused-suppression $.config.meta.routewright.lint["private-data"]',
  ]);
});

it("a suppression with `expires` holds through that day (the tests' day is 2026-01-31)", () => {
  const until = (expires: unknown, more = {}) => ({
    sales: { ...LEGACY, meta: off({ "unlimited-response": { reason: "Tiny.", expires, ...more } }) },
  });
  expect(found(project(until("2026-01-31")))).toEqual([]);
  // dbt writes a YAML date with a time.
  expect(found(project(until("2026-02-01T00:00:00")))).toEqual([]);
  const isOn = [
    'invalid-suppression $.config.meta.routewright.lint["unlimited-response"]',
    "unlimited-response $.config.meta",
  ];
  for (const json of [until("2026-01-30"), until("2026-02-30"), until("soon"), until(1)])
    expect(found(project(json))).toEqual(isOn);
  expect(found(project(until("2026-01-31", { until: 1 })))).toEqual(isOn);
});

it("a suppression of a whole folder is used where it hides a finding of any model", () => {
  const meta = off({ "unlimited-response": "Small tables." });
  const api = { allow_unfiltered: true };
  const small: TestNode = { ...LEGACY, tags: DAILY.with(3, "api:small"), api, meta };
  const unused = 'unused-suppression $.config.meta.routewright.lint["unlimited-response"]';
  expect(found(project({ sales: { ...LEGACY, meta }, small }))).not.toContain(unused);
  const other = { ...small, tags: DAILY.with(3, "api:other") };
  expect(found(project({ small, other }))).toEqual([unused]);
});

it.each([true, "", "  ", null, 1, ["tiny"]])(
  "a rule turned off without a reason stays on for %j",
  (reason) => {
    const sales = { ...LEGACY, meta: off({ "unlimited-response": reason }) };
    expect(found(project({ sales }))).toEqual([
      'invalid-suppression $.config.meta.routewright.lint["unlimited-response"]',
      "unlimited-response $.config.meta",
    ]);
  },
);

it("nothing is reported of a model that is kept out of the API", () => {
  const api = { exclude_from_api: true };
  expect(found(project({ sales: { ...LEGACY, api, meta: off(REASON) } }))).toEqual([]);
});
