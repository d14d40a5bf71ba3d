/** Expressions of semantic models are compared as SQL tokens: what a database reads alike is no change. */
import { expect, it } from "vitest";
import { canonicalSql, withoutComments } from "../../generator/manifest/sql-text.js";
import { changesBetween } from "./catalogues.js";
import { METRIC_CHANGES } from "./metric-changes.js";
import { manifestWith, nothing, type Raw } from "./feature-model.js";

const [{ given = nothing } = {}] = METRIC_CHANGES;

/** The metrics of the table, with an expression of a measure, of a dimension and of a filter. */
function measuring(measure: string, dimension: string, filter: string): Raw {
  const manifest = manifestWith(given);
  const { measures, dimensions } = manifest.semantic_models["semantic_model.shop.orders"];
  measures[0].expr = measure;
  dimensions[0].expr = dimension;
  manifest.metrics["metric.shop.paid"].filter.where_filters[0].where_sql_template = filter;
  return manifest;
}

const MEASURE = "case when amount > 0 then amount end";
const DIMENSION = "coalesce(status, 'new  one')";
const FILTER = "{{ Dimension('order__status') }} = 'Paid'";

it.each<[string, string, string, string]>([
  [
    "white space",
    "case  when amount>0\n then amount end",
    "coalesce( status,'new  one' )",
    "{{ Dimension('order__status') }}='Paid'",
  ],
  ["letter case of key words", "CASE WHEN amount > 0 Then amount END", DIMENSION, FILTER],
  ["comments", `${MEASURE} -- of today\n`, `/* a /* b */ c */ ${DIMENSION}`, `${FILTER} -- paid`],
  ["one pair of parentheses", `(${MEASURE})`, `( ${DIMENSION} )`, `(${FILTER})`],
])("%s do not count", (_, ...written) => {
  const base = measuring(MEASURE, DIMENSION, FILTER);
  expect(changesBetween(base, measuring(...written))).toEqual([]);
  expect(changesBetween(measuring(...written), base)).toEqual([]);
});

it.each<[string, string, string, string]>([
  ["the case of a name", "case when Amount > 0 then amount end", DIMENSION, FILTER],
  ["the case of a literal", MEASURE, DIMENSION, FILTER.replace("Paid", "paid")],
  ["white space in a literal", MEASURE, "coalesce(status, 'new one')", FILTER],
  ["an operator", MEASURE.replace(">", ">="), DIMENSION, FILTER],
  ["two pairs that are not one", "(amount) + (1)", DIMENSION, FILTER],
  ["a comment mark in a literal", MEASURE, "coalesce(status, 'new  one--')", FILTER],
])("but %s does", (_, ...written) => {
  const kinds = changesBetween(measuring(MEASURE, DIMENSION, FILTER), measuring(...written)).map(
    ({ kind }) => kind,
  );
  expect(kinds).toContain("meaning-changed");
});

it("reads tokens as databases do", () => {
  expect(canonicalSql("a AND(b)")).toBe("a and ( b )");
  expect(canonicalSql("(a) OR (b)")).toBe("( a ) or ( b )");
  expect(canonicalSql('"And"')).toBe('"And"');
  expect(withoutComments("a /* b")).toBe("a /* b");
  expect(withoutComments("'--' || \"/*\"")).toBe("'--' || \"/*\"");
  expect(withoutComments("a--b\n-c")).toBe("a \n-c");
});
