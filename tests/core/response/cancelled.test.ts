import { expect, it } from "vitest";
import { Cursors } from "../../../runtime/core/response/cursors.js";
import { ResultCache } from "../../../runtime/core/response/result-cache.js";
import { ResultService } from "../../../runtime/core/response/result-service.js";
import type { ResolvedQuery } from "../../../runtime/core/model/query.js";
import type { Rows, Warehouse } from "../../../runtime/core/warehouse/warehouse.js";
import { queryContext } from "../../support/query-context.js";

const NO_CACHE = new ResultCache({ ttlSeconds: 0, maxBytes: 1024 });

const QUERY: ResolvedQuery = {
  relation: ["any", "any"],
  selection: { conditions: [], sort: [], page: null },
  format: "ndjson",
  timeoutMs: 0,
};

interface Query {
  readonly isStillNeeded: () => boolean;
  readonly fail: (error: Error) => void;
  readonly give: (rows: Rows) => void;
}

const ONE_ROW: Rows = {
  kind: "buffered",
  columns: [],
  parts: [Buffer.from("{}")],
  returned: 1,
  hasMore: false,
  milliseconds: 1,
};

it("runs a query again that is being cancelled for its earlier callers", async () => {
  const queries: Query[] = [];
  const rows: Warehouse["rows"] = (_, { isStillNeeded }) =>
    new Promise((give, fail) => void queries.push({ isStillNeeded, give, fail }));
  const results = new ResultService({ rows } as Warehouse, NO_CACHE, new Cursors(Buffer.alloc(32)));

  const gone = results.get("key", QUERY, queryContext({ isStillNeeded: () => false }));
  expect(queries[0]?.isStillNeeded()).toBe(false);
  const here = results.get("key", QUERY, queryContext());
  queries[0]?.fail(new Error("Connection terminated"));
  await expect(gone).rejects.toThrow("Connection terminated");

  expect(queries).toHaveLength(2);
  queries[1]?.give(ONE_ROW);
  expect(await here).toMatchObject({ hasRunQuery: true, result: { body: Buffer.from("{}\n") } });
});

it("a request that arrives while a query runs shares the next one, with those that arrive meanwhile", async () => {
  const queries: Query[] = [];
  const rows: Warehouse["rows"] = (_, { isStillNeeded }) =>
    new Promise((give, fail) => void queries.push({ isStillNeeded, give, fail }));
  const results = new ResultService({ rows } as Warehouse, NO_CACHE, new Cursors(Buffer.alloc(32)));
  const first = results.get("key", QUERY, queryContext());
  const later = [1, 2, 3].map(() => results.get("key", QUERY, queryContext()));
  expect(queries).toHaveLength(1);
  queries[0]?.give(ONE_ROW);
  expect(await first).toMatchObject({ hasRunQuery: true });
  await expect.poll(() => queries).toHaveLength(2);
  queries[1]?.give(ONE_ROW);
  const ran = (await Promise.all(later)).map(({ hasRunQuery }) => hasRunQuery);
  expect(ran).toEqual([true, false, false]);
});
