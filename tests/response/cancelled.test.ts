import { expect, it } from "vitest";
import { Cursors } from "../../runtime/response/cursors.js";
import { ResultService } from "../../runtime/response/result-service.js";
import type { ResolvedQuery } from "../../runtime/model/query.js";
import type { Rows, Warehouse } from "../../runtime/warehouse/warehouse.js";
import { queryContext } from "../support/query-context.js";

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

it("runs a query again that is being cancelled for its earlier callers", async () => {
  const queries: Query[] = [];
  const rows: Warehouse["rows"] = (_, { isStillNeeded }) =>
    new Promise((give, fail) => void queries.push({ isStillNeeded, give, fail }));
  const results = new ResultService({ rows } as Warehouse, null, new Cursors(Buffer.alloc(32)));

  const gone = results.get("key", QUERY, queryContext({ isStillNeeded: () => false }));
  expect(queries[0]?.isStillNeeded()).toBe(false);
  const here = results.get("key", QUERY, queryContext());
  queries[0]?.fail(new Error("Connection terminated"));
  await expect(gone).rejects.toThrow("Connection terminated");

  const shared = results.get("key", QUERY, queryContext());
  expect(queries).toHaveLength(2);
  queries[1]?.give({
    kind: "buffered",
    columns: [],
    bytes: Buffer.from("{}"),
    returned: 1,
    hasMore: false,
    milliseconds: 1,
  });
  expect(await here).toMatchObject({ hasRunQuery: true, result: { body: Buffer.from("{}\n") } });
  expect(await shared).toMatchObject({ hasRunQuery: false, result: { body: Buffer.from("{}\n") } });
});
