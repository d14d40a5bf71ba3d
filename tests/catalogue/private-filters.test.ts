/** A filter by a private column that no row shows would tell its values, bound by bound. */
import { expect, it } from "vitest";
import { manifestOf, type TestModel } from "../support/manifest.js";
import { catalogueOfText } from "./catalogues.js";

const AGGREGATE = { rows: false, measures: { people: { agg: "count" } }, group_by: ["country"] };

function catalogue(marks: object, more: Partial<TestModel> = {}) {
  const manifest = manifestOf([
    {
      name: "salaries",
      columns: { id: "int", country: "text", salary: "int" },
      api: { allow_unfiltered: true },
      routewright: { filters: ["country", "salary"], aggregate: AGGREGATE },
      ...more,
    },
  ]) as { nodes: Record<string, { columns: Record<string, object> }> };
  const node = manifest.nodes["model.test.salaries"];
  if (node?.columns["salary"] !== undefined) Object.assign(node.columns["salary"], marks);
  const { entries, warnings, skipped } = catalogueOfText(JSON.stringify(manifest));
  expect(skipped).toEqual([]);
  return {
    filters: entries[0]?.filters?.map(({ column }) => column),
    messages: warnings.map(({ message }) => message),
  };
}

it("offers no filter by a private column of an endpoint without rows, and says so", () => {
  expect(catalogue({ meta: { pii: true } })).toEqual({
    filters: ["country"],
    messages: [
      'The filter by "salary" is not offered: the column is marked private for tier3, and no row shows it.',
    ],
  });
});

it("offers it from the tier that the mark asks for", () => {
  const tags = (tier: string) => ({ tags: ["production", "shop", "api:salaries", tier] });
  const marked = { meta: { privacy_tier: "tier2" } };
  expect(catalogue(marked, tags("tier1")).filters).toEqual(["country"]);
  for (const tier of ["tier2", "tier3"])
    expect(catalogue(marked, tags(tier))).toEqual({ filters: ["country", "salary"], messages: [] });
});

it("offers it where rows show the column, which the rule private-data reports, and where nothing is marked", () => {
  const rows = { routewright: { filters: ["country", "salary"] } };
  expect(catalogue({ meta: { pii: true } }, rows).filters).toEqual(["country", "salary"]);
  expect(catalogue({}).filters).toEqual(["country", "salary"]);
  expect(catalogue({ meta: { pii: false } }).filters).toEqual(["country", "salary"]);
});
