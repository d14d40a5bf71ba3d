import { describe, expect, it } from "vitest";
import { DAILY, dbtTest, project, type TestNode } from "./project.js";
import { found, lintJson } from "./run.js";
import { plainText } from "../../generator/report/report.js";

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
  };
}

const UNSTABLE = ["unstable-pagination $.config.meta.api.sort"];

/** A test that the combination of columns is unique. */
const combination = (...columns: readonly string[]) =>
  dbtTest("sales", "unique_combination_of_columns", { kwargs: { combination_of_columns: columns } });

/** The tests that prove a column to be a key. */
const uniqueAndNotNull = (column_name: string): Readonly<Record<string, unknown>> => ({
  ...dbtTest("sales", "unique", { column_name }),
  ...dbtTest("sales", "not_null", { column_name }),
});

describe("knows that a sort is total", () => {
  it("by the key that cursors add to it", () => {
    const sales = paged({ meta: { routewright: { cursor: true } } });
    const unstable = (node: TestNode): readonly string[] =>
      found(project({ sales: node }, "postgres", uniqueAndNotNull("id"))).filter((line) =>
        line.startsWith("unstable"),
      );
    expect(unstable(sales)).toEqual([]);
    expect(unstable({ ...sales, meta: {} })).toEqual(UNSTABLE);
  });

  it.each([
    ["a unique test of a column that is never null", uniqueAndNotNull("shop")],
    ["a test of a combination", combination("shop", "day")],
  ])("by %s", (_, tests) => {
    expect(found(project({ sales: paged() }, "postgres", tests))).toEqual([]);
  });
});

it.each([
  ["that covers part of a key only", combination("day", "shop", "id")],
  ["by a column that may be null", dbtTest("sales", "unique", { column_name: "shop" })],
  ["by columns that are merely not null", dbtTest("sales", "not_null", { column_name: "shop" })],
])("doubts a sort %s", (_, tests) => {
  expect(found(project({ sales: paged() }, "postgres", tests))).toEqual(UNSTABLE);
});

it("names a unique key that the endpoint has columns for", () => {
  const json = project({ sales: paged() }, "postgres", combination("day", "id"));
  const hint = lintJson(json).findings.map((finding) => plainText(finding.hint));
  expect(hint).toEqual(['End `sort` with the columns of a unique key: "day", "id".']);
});

it("leaves an endpoint without pages alone", () => {
  const api = { allow_unfiltered: true, sort: [{ column: "day", direction: "DESC" }] };
  expect(found(project({ sales: paged({ api }) }))).toEqual([]);
});
