/** Conditions on the results of measures: which a request may have, and which select no rows. */
import { describe, expect, it } from "vitest";
import type { CatalogueEndpoint } from "../../../runtime/pages/catalogue-body.js";
import type { ApiRequest, Parameters } from "../../../runtime/pages/explorer/api-request.js";
import {
  groupFilters,
  resultFilters,
  withoutOldResults,
} from "../../../runtime/pages/explorer/result-filters.js";

/** Orders, with `revenue` and `orders` by country. A filter of rows has the name `orders` too. */
const endpoint = (more: object = {}): CatalogueEndpoint =>
  ({
    filter: true,
    aggregate: {
      ...{ of: "metrics", is_saved: false, rows: true },
      measures: [{ name: "revenue" }, { name: "orders" }, { name: "buyers" }],
      filters: [{ column: "orders" }, { column: "country" }],
      ...more,
    },
  }) as unknown as CatalogueEndpoint;
const asking = (parameters: Parameters, more?: object): ApiRequest => ({
  endpoint: endpoint(more),
  parameters,
});
const GROUPED = { group_by: ["country"] };

describe("measures whose results a request may compare", () => {
  it.each<[string, ApiRequest, readonly string[]]>([
    ["all, without those that a filter of rows has the name of", asking(GROUPED), ["revenue", "buyers"]],
    ["those that it asks", asking({ ...GROUPED, metrics: ["buyers,orders"] }), ["buyers"]],
    ["none, where it asks no groups", asking({ country: ["de"] }), []],
    ["none of a saved query", asking(GROUPED, { is_saved: true }), []],
    ["none, where there are no measures", { endpoint: {} as CatalogueEndpoint, parameters: GROUPED }, []],
  ])("%s", (_, request, names) => {
    expect(resultFilters(request).map(({ column }) => column)).toEqual(names);
  });

  it("by the number's operators, of which the first is not equality", () => {
    const [first] = resultFilters(asking(GROUPED));
    expect(first?.operators).toEqual(["gte", "eq", "ne", "gt", "lt", "lte", "in", "null"]);
  });
});

describe("what selects no rows", () => {
  it.each<[string, ApiRequest, string, boolean]>([
    ["an option of groups", asking(GROUPED), "top", true],
    ["a condition on a result", asking(GROUPED), "revenue[gte]", true],
    ["a condition on a column", asking(GROUPED), "country", false],
    ["one of a name that both have", asking(GROUPED), "orders[gte]", false],
    ["an expression with a result", asking({ ...GROUPED, filter: ["revenue gt 5"] }), "filter", true],
    ["an expression of columns", asking({ ...GROUPED, filter: ["country eq 'de'"] }), "filter", false],
    ["a name in a text", asking({ ...GROUPED, filter: ["country eq 'revenue'"] }), "filter", false],
    ["a function of that name", asking({ ...GROUPED, filter: ["revenue(country) eq 1"] }), "filter", false],
    ["an option where no groups are asked", asking({}), "top", false],
  ])("%s: %#", (_, request, name, isOfGroups) => {
    expect(groupFilters(request)(name)).toBe(isOfGroups);
  });
});

it("conditions on results that are not asked any more go, all others stay", () => {
  const others = { ...GROUPED, metrics: ["buyers"], "buyers[gte]": ["1"], "orders[gte]": ["2"] };
  expect(withoutOldResults(asking({ ...others, "revenue[gte]": ["3"], "revenue[lt]": ["9"] }))).toEqual(
    others,
  );
  const plain = { endpoint: {} as CatalogueEndpoint, parameters: { "revenue[gte]": ["3"] } };
  expect(withoutOldResults(plain)).toEqual(plain.parameters);
});
