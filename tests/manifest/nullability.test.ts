import { describe, expect, it } from "vitest";
import { dataTypeOf } from "../../generator/catalogue/types/read-type.js";
import { typeScriptOf } from "../../generator/catalogue/types/typescript.js";
import { catalogueOfText, manifestText } from "../catalogue/catalogues.js";

interface Sketch {
  readonly adapter?: string;
  readonly type?: string | null;
  readonly constraints?: unknown;
  readonly ofModel?: unknown;
  readonly test?: object;
  readonly config?: object;
}

/** A table with a contract that dbt enforces. */
const ENFORCED = { materialized: "table", contract: { enforced: true } };

/** The type that the endpoint declares for the one column of a model. */
function typeOf({
  adapter = "postgres",
  type = "text",
  constraints,
  ofModel,
  test,
  config = ENFORCED,
}: Sketch) {
  const model = {
    resource_type: "model",
    name: "a",
    schema: "s",
    tags: ["production", "api:a"],
    columns: { x: { name: "x", data_type: type, constraints } },
    constraints: ofModel,
    config,
  };
  const nodes = { "model.t.a": model, ...(test && { "test.t.1": { ...TEST, ...test } }) };
  return catalogueOfText(manifestText(nodes, adapter)).entries[0]?.columns[0]?.type;
}

const TEST = {
  resource_type: "test",
  column_name: "x",
  attached_node: "model.t.a",
  test_metadata: { name: "not_null" },
  config: { severity: "ERROR", where: null },
};

describe("a column may be null", () => {
  it.each<[string, Sketch]>([
    ["where nothing forbids it", {}],
    ["where a test forbids something else", { test: { test_metadata: { name: "unique" } } }],
    ["where a test watches another column", { test: { column_name: "y" } }],
    ["where a test watches another model", { test: { attached_node: "model.t.b" } }],
    ["where a test looks at some rows only", { test: { config: { where: "x > 1" } } }],
    ["where a test only warns", { test: { config: { severity: "warn" } } }],
    ["where a constraint says something else", { constraints: [{ type: "unique" }, null, 7] }],
    ["where the constraints are no list", { constraints: { type: "not_null" } }],
    ...[
      { ...ENFORCED, materialized: "view" },
      { ...ENFORCED, materialized: "materialized_view" },
      { contract: { enforced: true } },
      { materialized: "table", contract: { enforced: false } },
      { materialized: "table" },
    ].map((config): [string, Sketch] => [
      `where dbt builds no constraint: ${JSON.stringify(config)}`,
      { config, constraints: [{ type: "not_null" }], ofModel: [{ type: "primary_key", columns: ["x"] }] },
    ]),
    ["where the model's constraint is on others", { ofModel: [{ type: "not_null", columns: ["y"] }] }],
  ])("%s", (_, sketch) => {
    expect(typeOf(sketch)).toBe("text null");
  });

  it("not by default in ClickHouse, whose types say it themselves", () => {
    expect(typeOf({ adapter: "clickhouse", type: "String" })).toBe("String");
    expect(typeOf({ adapter: "clickhouse", type: "Nullable(String)" })).toBe("Nullable(String)");
  });
});

it.each<[string, Sketch]>([
  ["with a constraint not_null", { constraints: [{ type: "check" }, { type: "not_null" }] }],
  ["as the primary key", { constraints: [{ type: "primary_key" }] }],
  ["with a constraint of the model", { ofModel: [{ type: "primary_key", columns: ["y", "x"] }] }],
  ["with a test", { test: {} }],
  ["with a test that has no configuration", { test: { config: undefined } }],
  [
    "with a constraint of an incremental model",
    {
      ofModel: [{ type: "not_null", columns: ["x"] }],
      config: { ...ENFORCED, materialized: "incremental" },
    },
  ],
  [
    "with a test of a version that does not name its model",
    { test: { attached_node: undefined, depends_on: { nodes: ["model.t.a"] } } },
  ],
])("a column is never null %s", (_, sketch) => {
  expect(typeOf(sketch)).toBe("text");
});

describe("a column that can hold NaN, which is served as null", () => {
  const NOT_NULL = [{ type: "not_null" }];
  const test = (name: string, kwargs: object) => ({
    test_metadata: { name, namespace: name === "accepted_values" ? null : "dbt_utils", kwargs },
  });

  it.each([
    ["postgres", "double precision"],
    ["postgres", "real"],
    ["postgres", "numeric"],
    ["postgres", "numeric(20,0)"],
    ["postgres", "pg_catalog.decimal(10,2)"],
    ["clickhouse", "Float64"],
    ["clickhouse", "BFloat16"],
  ])("may be null although its values are not: %s, %s", (adapter, type) => {
    const sketch = { adapter, type, constraints: NOT_NULL };
    expect(typeOf(sketch)).toBe(`${type} null`);
    expect(typeOf({ ...sketch, test: test("accepted_values", { values: [1, "NaN"] }) })).toBe(`${type} null`);
  });

  it.each([["accepted_values", { values: [1, 2.5] }]])(
    "is not null where a test rules NaN out: %s",
    (name, kwargs) => {
      for (const [adapter, type] of [
        ["postgres", "numeric"],
        ["clickhouse", "Float64"],
      ] as const)
        expect(typeOf({ adapter, type, constraints: NOT_NULL, test: test(name, kwargs) })).toBe(type);
      expect(typeOf({ type: "numeric", test: test(name, kwargs) })).toBe("numeric null");
    },
  );

  it.each([
    ["postgres", "bigint"],
    ["postgres", "numeric[]"],
    ["clickhouse", "Decimal(38, 18)"],
    ["clickhouse", "Nullable(Float64)"],
    ["clickhouse", "Array(Float64)"],
  ])("is none of another type: %s, %s", (adapter, type) => {
    expect(typeOf({ adapter, type, constraints: NOT_NULL })).toBe(type);
  });

  it.each([
    ["double precision[][]", "(number | null)[][]"],
    ["_numeric", "(number | null)[]"],
    ["text[][]", "(string | null)[][]"],
    ["Array(Tuple(a Float64, b UInt8))", "{ a: number | null; b: number }[]"],
    ["Map(String, Float32)", "Record<string, number | null>"],
    ["Array(Decimal(10, 2))", "number[]"],
  ])("may be null in a list too: %s", (type, expected) => {
    expect(typeScriptOf(dataTypeOf(type))).toBe(expected);
  });
});

it("a column without a type has none to add to", () => {
  expect(typeOf({ type: null })).toBeNull();
});
