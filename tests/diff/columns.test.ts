import { describe, expect, it } from "vitest";
import { changesBetween, kindsBetween, modelWith } from "./catalogues.js";

/** The kinds that changing a ClickHouse column from one type to another gives. */
function between(base: string | null, head: string | null): string {
  const [was, is] = [base, head].map((type) => [modelWith({ columns: { c: type } })]);
  return kindsBetween(was ?? [], is ?? [], "clickhouse")
    .map((change) => change.replace(/^column-(.*) c$/, "$1"))
    .join(" and ");
}

describe("a column whose type changes", () => {
  it.each([
    ["UInt32", "UInt64", "digits-changed", "digits-changed"],
    ["UInt16", "UInt32", "widened", "narrowed"],
    ["Int32", "UInt8", "narrowed", "widened"],
    ["UInt32", "Int32", "retyped", "retyped"],
    ["Float64", "Float32", "number-changed", "widened"],
    ["Float64", "UInt64", "made-non-null and scale-lowered", "made-nullable and retyped"],
    ["Float64", "Decimal(38, 18)", "digits-changed and made-non-null", "made-nullable and retyped"],
    ["Float64", "Decimal(10, 2)", "made-non-null and number-changed", "made-nullable and retyped"],
    ["Decimal(38, 18)", "UInt64", "scale-lowered", "retyped"],
    ["String", "UInt64", "retyped", "retyped"],
    ["String", "Date", "text-changed", "retyped"],
    ["Date", "DateTime", "retyped", "retyped"],
    ["String", "UUID", "text-changed", "retyped"],
    ["FixedString(20)", "FixedString(10)", "text-changed", "text-changed"],
    ["FixedString(20)", "String", "text-changed", "text-changed"],
    ["Enum8('a' = 1, 'b' = 2)", "Enum8('a' = 1)", "label-removed", "label-added"],
    ["String", "Enum8('a' = 1)", "narrowed", "retyped"],
    ["String", "Bool", "retyped", "retyped"],
    ["Array(UInt64)", "Array(UInt8)", "narrowed", "widened"],
    ["Array(Nullable(String))", "Array(String)", "narrowed", "retyped"],
    ["Map(String, UInt64)", "Map(String, UInt8)", "narrowed", "widened"],
    ["Tuple(UInt8, String)", "Tuple(UInt8, String, String)", "retyped", "retyped"],
    ["Tuple(a UInt8)", "Tuple(a UInt8, b String)", "narrowed", "retyped"],
    ["Array(String)", "String", "retyped", "retyped"],
    [null, "String", "narrowed", "retyped"],
    ["JSON", "String", "retyped", "retyped"],
    ["no such type", "String", "retyped", "retyped"],
    ["String", "Nullable(String)", "made-nullable", "made-non-null"],
    ["UInt32", "Nullable(UInt64)", "digits-changed and made-nullable", "made-non-null and digits-changed"],
    ["Nullable(UInt32)", "UInt64", "made-non-null and digits-changed", "made-nullable and digits-changed"],
    ["DateTime", "DateTime64(3, 'UTC')", "widened", "scale-lowered"],
    ["DateTime64(6)", "DateTime64(3)", "scale-lowered", "widened"],
    // No client can see the difference.
    ["String", "LowCardinality(String)", "", ""],
    ["DateTime('UTC')", "DateTime64(0, 'UTC')", "", ""],
    ["Int256", "Decimal(76, 0)", "", ""],
    ["Decimal(10, 2)", "Decimal(20, 4)", "digits-changed", "scale-lowered"],
    ["Decimal(10, 2)", "Decimal(12, 2)", "widened", "narrowed"],
    ["Tuple(a UInt8, b String)", "Tuple(b String, a UInt8)", "", ""],
    [null, "no such type", "", ""],
    [null, "JSON", "", ""],
  ])("from %s to %s: %s; and back: %s", (base, head, forwards, backwards) => {
    expect([between(base, head), between(head, base)].map(sorted)).toEqual([forwards, backwards].map(sorted));
  });

  function sorted(kinds: string): string {
    return kinds.split(" and ").sort().join(" and ");
  }

  it("is found whatever its name is", () => {
    const was = modelWith({ columns: { ["__proto__"]: "UInt8", constructor: "UInt8" } });
    const is = modelWith({ columns: { ["__proto__"]: "String" } });
    expect(kindsBetween([was], [is])).toEqual(["column-removed constructor", "column-retyped __proto__"]);
  });
});

it("becomes nullable by its type in ClickHouse, whatever a test says", () => {
  const catalogues = ["LowCardinality(String)", "Nullable(String)"].map((type) => ({
    metadata: {
      dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json",
      adapter_type: "clickhouse",
    },
    nodes: {
      "model.test.m": {
        resource_type: "model",
        name: "m",
        schema: "analytics",
        tags: ["production", "api:m"],
        columns: { c: { name: "c", data_type: type } },
        config: {},
      },
      "test.test.c": {
        resource_type: "test",
        attached_node: "model.test.m",
        column_name: "c",
        test_metadata: { name: "not_null" },
        config: {},
      },
    },
  }));
  const kinds = changesBetween(catalogues[0], catalogues[1]).map(
    ({ severity, kind }) => `${severity} ${kind}`,
  );
  expect(kinds).toEqual(["breaking column-made-nullable"]);
});
