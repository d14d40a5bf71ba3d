import { describe, expect, it } from "vitest";
import { lintJson } from "./run.js";
import { DAILY, project, type TestNode } from "./project.js";

type Parameter = Readonly<Record<string, unknown>>;

const EQUAL = { name: "shop", column: "shop", operator: "=", type: "string", description: "A shop." };
const RANGE = { name: "from", column: "day", operator: ">=", type: "date", description: "First day." };
const SEARCH = { ...EQUAL, operator: "ILIKE" };

function endpoint(parameters: readonly Parameter[], node: TestNode = {}): TestNode {
  return { tags: DAILY, columns: ["day", "shop"], api: { allow_unfiltered: true, parameters }, ...node };
}

/** Places of what has no index. */
function unindexed(json: unknown): readonly string[] {
  const { findings } = lintJson(json);
  expect(findings.filter(({ rule }) => rule !== "unindexed-column")).toEqual([]);
  return findings.map(({ path }) => path.replace("$.config.meta.api.", ""));
}

const FOUND = ["parameters[0].column"];

describe("in PostgreSQL", () => {
  it.each<[string, Parameter, TestNode]>([
    ["an index that begins with the column", EQUAL, { config: { indexes: [{ columns: ["shop", "day"] }] } }],
    ["a quoted column", EQUAL, { config: { indexes: [{ columns: ['"shop"'] }] } }],
    ["a hash index for one value", EQUAL, { config: { indexes: [{ columns: ["shop"], type: "hash" }] } }],
    ["a BRIN index for a range", RANGE, { config: { indexes: [{ columns: ["day"], type: "brin" }] } }],
    [
      "the index of a primary key",
      RANGE,
      { constraints: [{ type: "primary_key", columns: ["day", "shop"] }] },
    ],
    [
      "a trigram index for a search",
      SEARCH,
      { config: { indexes: [{ columns: ["shop gin_trgm_ops"], type: "gin" }] } },
    ],
    [
      "an index on the expression",
      { ...EQUAL, case: "upper" },
      { config: { indexes: [{ columns: ["upper(shop)"] }] } },
    ],
    [
      "an index method that is not known",
      SEARCH,
      { config: { indexes: [{ columns: ["shop"], type: "pgroonga" }] } },
    ],
  ])("%s serves", (_, parameter, node) => {
    expect(unindexed(project({ sales: endpoint([parameter], node) }))).toEqual([]);
  });

  it.each<[string, Parameter, TestNode]>([
    ["no index", EQUAL, {}],
    [
      "an index with another column in first place",
      EQUAL,
      { config: { indexes: [{ columns: ["day", "shop"] }] } },
    ],
    ["a hash index for a range", RANGE, { config: { indexes: [{ columns: ["day"], type: "hash" }] } }],
    ["an ordinary index for a search", SEARCH, { config: { indexes: [{ columns: ["shop"] }] } }],
    [
      "a plain index for `case`",
      { ...EQUAL, case: "lower" },
      { config: { indexes: [{ columns: ["shop"] }] } },
    ],
    [
      "an index on an expression for the column",
      EQUAL,
      { config: { indexes: [{ columns: ["lower(shop)"] }] } },
    ],
    ["a not-null constraint", RANGE, { constraints: [{ type: "not_null", columns: ["day"] }] }],
  ])("%s does not", (_, parameter, node) => {
    expect(unindexed(project({ sales: endpoint([parameter], node) }))).toEqual(FOUND);
  });

  it("looks at the first key of the sort, and at every field to sort by", () => {
    const sort = [
      { column: "day", direction: "DESC" },
      { column: "shop", direction: "ASC" },
    ];
    const api = { allow_unfiltered: true, sort, sortable_fields: ["day", "sum"] };
    const sales = endpoint([], {
      api,
      columns: ["day", "shop", "sum"],
      config: { indexes: [{ columns: ["day"] }] },
    });
    expect(unindexed(project({ sales }))).toEqual(["sortable_fields[1]"]);
  });

  it("looks at columns that callers filter by with operators", () => {
    const sales = (config: Readonly<Record<string, unknown>>): TestNode =>
      endpoint([], { meta: { routewright: { filters: ["day", "shop"] } }, config });
    const indexes = [{ columns: ["day"] }, { columns: ["shop"] }];
    expect(unindexed(project({ sales: sales({ indexes: indexes.slice(0, 1) }) }))).toEqual([
      "$.meta.routewright.filters[1]",
    ]);
    expect(unindexed(project({ sales: sales({ indexes }) }))).toEqual([]);
  });

  it("takes a manifest that names no adapter for PostgreSQL's", () => {
    expect(unindexed(project({ sales: endpoint([EQUAL]) }, null))).toEqual(FOUND);
  });
});

describe("in ClickHouse", () => {
  it.each<[string, Parameter, Readonly<Record<string, unknown>>]>([
    ["`order_by` as a list", RANGE, { order_by: ["day", "shop"] }],
    ["`order_by` as a tuple", RANGE, { order_by: "(day, shop)" }],
    ["a function that keeps the order", RANGE, { order_by: "toStartOfMonth(day)" }],
    ["the primary key", RANGE, { primary_key: "day" }],
    ["a partition", RANGE, { order_by: "shop", partition_by: "toYYYYMM(day)" }],
    [
      "a data skipping index",
      EQUAL,
      { indexes: [{ name: "i", definition: "shop TYPE set(100) GRANULARITY 1" }] },
    ],
    ["a projection", EQUAL, { projections: [{ name: "p", query: "SELECT * ORDER BY shop, day" }] }],
  ])("%s serves", (_, parameter, config) => {
    const sales = endpoint([parameter], { config: { materialized: "incremental", ...config } });
    expect(unindexed(project({ sales }, "clickhouse"))).toEqual([]);
  });

  it.each<[string, Parameter, Readonly<Record<string, unknown>>]>([
    ["a sorting key without columns", RANGE, { order_by: "tuple()" }],
    ["a second place in `order_by`", EQUAL, { order_by: "(day, shop)" }],
    ["a hash of the column", EQUAL, { order_by: "cityHash64(shop)" }],
    ["a sorting key for a search", SEARCH, { order_by: "shop" }],
    ["an engine alone", EQUAL, { engine: "MergeTree()" }],
  ])("%s does not", (_, parameter, config) => {
    const sales = endpoint([parameter], { config: { materialized: "table", ...config } });
    expect(unindexed(project({ sales }, "clickhouse"))).toEqual(FOUND);
  });

  it("finds no order in a partition", () => {
    const api = { allow_unfiltered: true, sort: [{ column: "day", direction: "DESC" }] };
    const config = { materialized: "table", order_by: "shop", partition_by: "toYYYYMM(day)" };
    expect(unindexed(project({ sales: endpoint([], { api, config }) }, "clickhouse"))).toEqual([
      "sort[0].column",
    ]);
  });

  it("reports unknown where the manifest has no storage facts", () => {
    const json = project({ sales: endpoint([EQUAL]) }, "clickhouse");
    expect(lintJson(json)).toMatchObject({
      findings: [],
      unchecked: [{ rule: "unindexed-column", why: "no model declares an `order_by`, `engine` or index" }],
    });
  });
});

describe("does not guess", () => {
  const view = (parents: readonly string[]): TestNode =>
    endpoint([EQUAL], { parents, config: { materialized: "view" } });

  it.each<[string, Readonly<Record<string, TestNode>>]>([
    ["where a view reads a source", { sales: view(["source.shop.raw.sales"]) }],
    ["where a view reads nothing", { sales: view([]) }],
    ["where a parent lists no columns", { sales: view(["facts"]), facts: {} }],
    ["where no parent has the column", { sales: view(["facts"]), facts: { columns: ["id"] } }],
    [
      "where the column may be of a parent that lists none",
      { sales: view(["facts", "more"]), facts: { columns: ["shop"] }, more: {} },
    ],
    ["where the column is of a seed", { sales: view(["names"]), names: { kind: "seed", columns: ["shop"] } }],
    [
      "where views go round in a circle",
      { sales: view(["a"]), a: { columns: ["shop"], parents: ["a"], config: { materialized: "view" } } },
    ],
    [
      "of a materialization that it does not know",
      { sales: endpoint([EQUAL], { config: { materialized: "streaming" } }) },
    ],
    [
      "where a hook makes indexes",
      {
        sales: endpoint([EQUAL], { config: { "post-hook": [{ sql: "CREATE INDEX ON {{ this }} (shop)" }] } }),
      },
    ],
    [
      "of a table that is tiny by its granularity",
      { sales: endpoint([EQUAL], { tags: DAILY.with(4, "granularity:latest") }) },
    ],
    [
      "where one of two tables has an index",
      {
        sales: view(["a", "b"]),
        a: { columns: ["shop"], config: { indexes: [{ columns: ["shop"] }] } },
        b: { columns: ["shop"] },
      },
    ],
  ])("%s", (_, nodes) => {
    expect(unindexed(project(nodes))).toEqual([]);
  });

  it("of another database", () => {
    const json = project({ sales: endpoint([EQUAL]) }, "snowflake");
    expect(lintJson(json)).toMatchObject({
      findings: [],
      unchecked: [{ rule: "unindexed-column", why: "indexes of this database are not known to Routewright" }],
    });
  });
});

it("finds the table behind views on views", () => {
  const json = project({
    sales: endpoint([EQUAL], { parents: ["a", "b"], config: { materialized: "view" } }),
    a: { columns: ["shop"], parents: ["facts"], config: { materialized: "view" } },
    b: { columns: ["id"] },
    facts: { columns: ["shop"], config: { materialized: "materialized_view" } },
  });
  expect(unindexed(json)).toEqual(FOUND);
});
