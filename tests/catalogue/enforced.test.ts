/** Contracts and constraints that dbt and the database enforce: `enforced` of an endpoint. */
import { describe, expect, it } from "vitest";
import { openApiOf } from "../../generator/render/openapi/document.js";
import { catalogueOfText, manifestText } from "./catalogues.js";

interface Sketch {
  readonly adapter?: string;
  readonly materialized?: string;
  readonly isEnforced?: boolean;
  /** Keys of the column `total`. */
  readonly ofTotal?: object;
  readonly meta?: object;
}

/** A model with a constraint of each type on columns, and three of the model. */
function catalogueOf(sketch: Sketch) {
  const { adapter = "postgres", materialized = "table", isEnforced = true, ofTotal, meta = {} } = sketch;
  const model = {
    ...{ resource_type: "model", name: "a", schema: "s", tags: ["production", "api:a"] },
    columns: {
      id: { name: "id", data_type: "bigint", constraints: [{ type: "primary_key" }] },
      code: {
        name: "code",
        data_type: "text",
        constraints: [
          { type: "not_null" },
          { type: "foreign_key", to: "ref('codes')", to_columns: ["code"] },
          { type: "custom", expression: "masked" },
        ],
      },
      total: {
        name: "total",
        data_type: "numeric",
        constraints: [{ type: "check", expression: " total >= 0 " }],
        ...ofTotal,
      },
    },
    constraints: [
      { type: "unique", columns: ["code", "total"] },
      { type: "check", expression: "Total < id", columns: [] },
      { type: "check", expression: "id > 0", columns: ["id"] },
    ],
    config: { materialized, contract: { enforced: isEnforced }, meta },
  };
  return catalogueOfText(manifestText({ "model.t.a": model }, adapter));
}
const enforcedOf = (sketch: Sketch) => catalogueOf(sketch).entries[0]?.enforced;

const CHECKS = ["check (total >= 0)", "check (Total < id)", "check (id > 0)"];
const KEYS = ["primary key (id)", "not null (code)", "foreign key (code)"];
const ALL = ["contract", ...KEYS, "check (total >= 0)", "unique (code, total)", ...CHECKS.slice(1)];

describe("what is enforced", () => {
  it.each<[string, Sketch, readonly string[] | undefined]>([
    ["PostgreSQL", {}, ALL],
    ["DuckDB", { adapter: "duckdb" }, ALL],
    ["ClickHouse", { adapter: "clickhouse" }, ["contract", ...CHECKS]],
    ["Snowflake", { adapter: "snowflake" }, ["contract", "not null (code)"]],
    ["a view", { materialized: "view" }, ["contract"]],
    ["a model without a contract", { isEnforced: false }, undefined],
    [
      "a private column, whose check is not named",
      { ofTotal: { meta: { pii: true } } },
      ["contract", ...KEYS, "unique (code, total)", "check (id > 0)"],
    ],
    ["a private model", { meta: { pii: true } }, ["contract", ...KEYS, "unique (code, total)"]],
  ])("of %s", (_, sketch, expected) => {
    expect(enforcedOf(sketch)).toEqual(expected);
  });

  it("proves keys and references as far as it is enforced", () => {
    const columns = (adapter: string) => catalogueOf({ adapter }).entries[0]?.columns;
    expect(columns("postgres")).toMatchObject([
      { name: "id", notNull: "constraint", unique: true },
      { name: "code", notNull: "constraint", references: "codes.code" },
      { name: "total" },
    ]);
    for (const column of columns("snowflake") ?? [])
      expect(Object.keys(column)).not.toEqual(expect.arrayContaining(["unique", "references"]));
  });

  it("is in the operation's description", () => {
    const text = JSON.stringify(openApiOf(catalogueOf({})), (_, value: unknown) =>
      value instanceof Map ? (Object.fromEntries(value) as unknown) : value,
    );
    expect(text).toContain(
      "Enforced when rows are built: names and types of the columns; `not null (code)`; `primary key (id)`; `foreign key (code)`;",
    );
  });
});
