/** What a click on a value selects, and which values count as chosen. */
import { describe, expect, it } from "vitest";
import type { CatalogueEndpoint } from "../../../runtime/pages/catalogue-body.js";
import type { ApiRequest, Parameters } from "../../../runtime/pages/explorer/api-request.js";
import {
  isChosen,
  rangeOf,
  selectedBy,
  unselected,
} from "../../../runtime/pages/explorer/facet-selection.js";
import { filterBy, hasRequired } from "../../../runtime/pages/explorer/filters.js";

const ENDPOINT = {
  columns: [
    { name: "day", type: "date" },
    { name: "at", type: "timestamp" },
  ],
  parameters: [{ name: "kind", column: "kind", operator: "=" }],
  filters: [
    { column: "token", operators: ["eq", "in", "null"] },
    { column: "day", operators: ["gte", "lte"] },
    { column: "at", operators: ["gte", "lt", "lte"] },
    { column: "note", operators: ["in"] },
    { column: "most", operators: ["lt"] },
  ],
  require_any_of: ["kind", "token"],
} as unknown as CatalogueEndpoint;
const asking = (parameters: Parameters): ApiRequest => ({ endpoint: ENDPOINT, parameters });

describe("a value is chosen", () => {
  it.each<[Parameters, string, unknown, boolean]>([
    [{ kind: ["a"] }, "kind", "a", true],
    [{ kind: ["a"] }, "kind", "b", false],
    [{ kind: ["7"] }, "kind", 7, true],
    [{ "token[in]": ["a, b"] }, "token", "b", true],
    [{ "token[eq]": ["a,b"] }, "token", "b", false],
    [{ "token[null]": ["true"] }, "token", null, true],
    [{ "token[null]": ["false"] }, "token", null, false],
    [{ kind: ["null"] }, "kind", null, false],
    [{ "day[gte]": ["2026-01-01"] }, "day", "2026-01-01", false],
  ])("by %j: %s %j is %s", (parameters, column, value, expected) => {
    expect(isChosen(asking(parameters), column, value)).toBe(expected);
  });
});

describe("a click selects", () => {
  it.each<[Parameters, string, unknown, Parameters | null]>([
    [{ offset: ["10"] }, "token", "a", { "token[eq]": ["a"] }],
    [{ "token[eq]": ["a"] }, "token", "b", { "token[in]": ["a,b"] }],
    [{ "token[in]": ["a"], cursor: ["c"] }, "token", "b", { "token[in]": ["a,b"] }],
    [{ "token[eq]": ["a"] }, "token", "b,c", { "token[eq]": ["b,c"] }],
    [{ "token[eq]": ["a"] }, "token", null, { "token[null]": ["true"] }],
    [{ kind: ["a"] }, "kind", "b", { kind: ["b"] }],
    [{}, "kind", null, null],
  ])("with %j: %s %j as %j", (parameters, column, value, expected) => {
    expect(selectedBy(asking(parameters), column, value)).toEqual(expected);
  });

  it.each<[Parameters, string, string, Parameters]>([
    [{ "token[in]": ["a,b"], offset: ["5"] }, "token", "a", { "token[in]": ["b"] }],
    [{ "token[in]": ["a"], kind: ["k"] }, "token", "a", { kind: ["k"] }],
    [{ kind: ["a"] }, "kind", "a", {}],
  ])("again, with %j: without %s %s it is %j", (parameters, column, text, expected) => {
    expect(unselected(asking(parameters), column, text)).toEqual(expected);
  });
});

describe("rows with a value are asked for", () => {
  it.each<[string, unknown, Parameters | null]>([
    ["day", "2026-01-01", { "day[gte]": ["2026-01-01"], "day[lte]": ["2026-01-01"] }],
    ["at", "2026-01-01", null],
    ["note", "a", { "note[in]": ["a"] }],
    ["note", "a,b", null],
    ["kind", " a", null],
    ["kind", "", null],
    ["kind", ["a"], null],
    ["token", undefined, { "token[null]": ["true"] }],
  ])("%s %j as %j", (column, value, expected) => {
    expect(filterBy(asking({}), column, value)).toEqual(expected);
  });
});

it("a bar is asked for by its bounds: below the next one where there is such a filter, else up to its last value", () => {
  const bar = { label: "1", rows: 1, from: "1", below: "5", to: "4" };
  expect(rangeOf(asking({}), "at", bar)).toEqual({ "at[gte]": "1", "at[lt]": "5" });
  expect(rangeOf(asking({}), "at", { ...bar, below: null })).toEqual({ "at[gte]": "1", "at[lte]": "4" });
  expect(rangeOf(asking({}), "day", bar)).toEqual({ "day[gte]": "1", "day[lte]": "4" });
  expect(rangeOf(asking({}), "day", { ...bar, to: null })).toBeNull();
  expect(rangeOf(asking({}), "most", bar)).toBeNull();
});

it("a filter that the endpoint requires is there by its name, with or without an operator", () => {
  const has = (parameters: Parameters): boolean => hasRequired(ENDPOINT, parameters);
  expect([has({ kind: ["a"] }), has({ "token[in]": ["a"] })]).toEqual([true, true]);
  expect([has({}), has({ tokens: ["a"], day: ["x"] })]).toEqual([false, false]);
});
