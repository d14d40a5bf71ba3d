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
  expect(found(both)).toEqual(["unlimited-response $.config.meta"]);
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
