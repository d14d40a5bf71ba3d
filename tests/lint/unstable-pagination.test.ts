import { describe, expect, it } from "vitest";
import { DAILY, dbtTest, project, type TestNode } from "./project.js";
import { found, lintJson } from "./run.js";
import { plainText } from "../../generator/report/report.js";

const INDEXES = { indexes: [{ columns: ["day"] }] };

function paged(node: TestNode = {}): TestNode {
  const sort = [
    { column: "day", direction: "DESC" },
    { column: "shop", direction: "ASC" },
  ];
  return {
    tags: DAILY,
    columns: ["day", "shop", "id", "sum"],
    api: {
      allow_unfiltered: true,
      pagination: { enabled: true, default_limit: 10, max_limit: 10 },
      sort,
    },
    ...node,
    config: { ...INDEXES, ...node.config },
  };
}

const UNSTABLE = ["unstable-pagination $.config.meta.api.sort"];

describe("knows that a sort is total", () => {
  it.each<[string, TestNode]>([
    ["a unique key of the incremental model", { config: { unique_key: ["shop", "day"] } }],
    ["a unique key written as text", { config: { unique_key: "(day, shop)" } }],
    ["a primary key constraint", { constraints: [{ type: "primary_key", columns: ["day", "shop"] }] }],
    ["a unique constraint", { constraints: [{ type: "unique", columns: ["shop"] }] }],
    [
      "a unique index of a hook",
      {
        config: {
          "post-hook": [{ sql: 'create unique index on {{ this }} ("shop", day)', transaction: true }],
        },
      },
    ],
    ["a unique index", { config: { indexes: [{ columns: ["day", "shop"], unique: true }] } }],
    [
      "a constraint of a column",
      { more: { columns: { day: {}, shop: { constraints: [{ type: "unique" }] }, id: {}, sum: {} } } },
    ],
  ])("by %s", (_, node) => {
    const json = project({ sales: paged(node) });
    expect(found(json).filter((line) => line.startsWith("unstable"))).toEqual([]);
  });

  it("by the key that cursors add to it", () => {
    const sales = paged({ meta: { routewright: { cursor: true } } });
    const tests = ["unique", "not_null"].map((name) => dbtTest("sales", name, { column_name: "id" }));
    const others = Object.assign({}, ...tests) as Readonly<Record<string, unknown>>;
    const unstable = (node: TestNode): readonly string[] =>
      found(project({ sales: node }, "postgres", others)).filter((line) => line.startsWith("unstable"));
    expect(unstable(sales)).toEqual([]);
    expect(unstable({ ...sales, meta: {} })).toEqual(UNSTABLE);
  });

  it.each([
    ["a unique test", dbtTest("sales", "unique", { column_name: "shop" })],
    [
      "a test of a combination",
      dbtTest("sales", "unique_combination_of_columns", {
        kwargs: { combination_of_columns: ["shop", "day"] },
      }),
    ],
  ])("by %s", (_, tests) => {
    expect(found(project({ sales: paged() }, "postgres", tests))).toEqual([]);
  });

  it("by a key of the one model that a view shows", () => {
    const json = project({
      sales: paged({ parents: ["middle"], config: { materialized: "view" } }),
      middle: { parents: ["facts"], config: { materialized: "ephemeral" } },
      facts: { config: { materialized: "incremental", unique_key: "shop" } },
    });
    expect(found(json)).toEqual([]);
  });
});

describe("doubts a sort", () => {
  it.each<[string, TestNode]>([
    ["that covers part of a key only", { config: { unique_key: ["day", "shop", "id"] } }],
    [
      "whose unique key the strategy ignores",
      { config: { unique_key: "shop", incremental_strategy: "append" } },
    ],
    [
      "by an index that is not unique",
      { config: { indexes: [{ columns: ["day", "shop"], unique: false }] } },
    ],
    [
      "by columns that are merely not null",
      { constraints: [{ type: "not_null", columns: ["day", "shop"] }] },
    ],
  ])("%s", (_, node) => {
    expect(found(project({ sales: paged(node) }))).toEqual(UNSTABLE);
  });

  it.each([
    ["looks at some rows only", { column_name: "shop", config: { where: "day > '2024-01-01'" } }],
    ["only warns", { column_name: "shop", config: { severity: "warn" } }],
    ["is of another model", { column_name: "shop", attached_node: "model.shop.other" }],
  ])("whose unique test %s", (_, test) => {
    expect(found(project({ sales: paged() }, "postgres", dbtTest("sales", "unique", test)))).toEqual(
      UNSTABLE,
    );
  });

  it("of a view that joins two models, whatever they promise", () => {
    const json = project({
      sales: paged({ parents: ["a", "b"], config: { materialized: "view" } }),
      a: { config: { unique_key: "shop" } },
      b: { config: { unique_key: "day" } },
    });
    expect(found(json)).toEqual(UNSTABLE);
  });

  it("of a view on a snapshot, which has a row per version of each key", () => {
    const json = project({
      sales: paged({ parents: ["history"], config: { materialized: "view" } }),
      history: { kind: "snapshot", config: { unique_key: "shop" } },
    });
    expect(found(json)).toEqual(UNSTABLE);
  });
});

it("names a unique key that the endpoint has columns for", () => {
  const json = project({ sales: paged({ config: { unique_key: ["day", "id"] } }) });
  const hint = lintJson(json).findings.map((finding) => plainText(finding.hint));
  expect(hint).toEqual(['End `sort` with the columns of a unique key: "day", "id".']);
});

it("leaves an endpoint without pages alone", () => {
  const api = { allow_unfiltered: true, sort: [{ column: "day", direction: "DESC" }] };
  expect(found(project({ sales: paged({ api }) }))).toEqual([]);
});
