import { describe, expect, it } from "vitest";
import { catalogueOfText } from "../catalogue/catalogues.js";

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
  const manifest = {
    metadata: {
      dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json",
      adapter_type: adapter,
    },
    nodes: { "model.t.a": model, ...(test && { "test.t.1": { ...TEST, ...test } }) },
  };
  return catalogueOfText(JSON.stringify(manifest)).entries[0]?.endpoint.columns[0]?.type;
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

describe("a column is never null", () => {
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
  ])("%s", (_, sketch) => {
    expect(typeOf(sketch)).toBe("text");
  });
});

it("a column without a type has none to add to", () => {
  expect(typeOf({ type: null })).toBeNull();
});
