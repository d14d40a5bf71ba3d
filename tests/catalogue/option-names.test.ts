import { expect, it } from "vitest";
import { catalogueOf } from "../../generator/catalogue/build.js";
import { parseManifest } from "../../generator/manifest/manifest.js";
import { manifestOf } from "../support/manifest.js";

function problemsOf(
  parameter: string,
  group: string,
  measures: readonly string[],
  filters: readonly string[],
) {
  const model = {
    name: "sales",
    columns: { region: "text", level: "text", amount: "bigint" },
    api: {
      allow_unfiltered: true,
      parameters: [{ name: parameter, column: "region", operator: "=", type: "string" }],
    },
    routewright: {
      filters,
      aggregate: {
        group_by: [group],
        measures: Object.fromEntries(measures.map((name) => [name, { agg: "sum", column: "amount" }])),
      },
    },
  };
  const reading = parseManifest(JSON.stringify(manifestOf([model])), "manifest.json");
  if (!reading.ok) throw new Error(reading.problems.join(" "));
  return catalogueOf(reading.value).skipped.flatMap(({ problems }) => problems.map(({ message }) => message));
}

it.each([
  ["a parameter", "top", "region", ["revenue"], [], /A parameter has the name "top"/],
  ["a group", "region", "level", ["revenue"], [], /"level" is a column that requests for groups add/],
  ["a measure", "region", "region", ["other"], [], /"other" is a column/],
  ["a compared measure", "region", "region", ["a", "a__change"], [], /"a__change" is a column/],
  ["a filtered column", "region", "region", ["amount"], ["amount"], /"amount" is a column of `filters`/],
])("%s has no name of what requests for groups have", (_, parameter, group, measures, filters, message) => {
  expect(problemsOf(parameter, group, measures, filters)).toEqual([expect.stringMatching(message)]);
  expect(problemsOf("region", "region", ["revenue"], ["amount"])).toEqual([]);
});
