import { expect, it } from "vitest";
import { ResultService } from "../../runtime/results/result-service.js";
import type { ResolvedQuery, Rows, IsStillNeeded, Warehouse } from "../../runtime/query/warehouse.js";

const QUESTION: ResolvedQuery = {
  relation: ["any", "any"],
  selection: { conditions: [], sort: [], page: null },
  format: "ndjson",
  timeoutMs: 0,
};

interface Query {
  readonly wanted: IsStillNeeded;
  readonly fail: (error: Error) => void;
  readonly give: (rows: Rows) => void;
}

it("whoever asks for what is being cancelled asks anew", async () => {
  const queries: Query[] = [];
  const rows: Warehouse["rows"] = (_, wanted) =>
    new Promise((give, fail) => void queries.push({ wanted, give, fail }));
  const answers = new ResultService({ rows } as Warehouse, null);

  const gone = answers.of("key", QUESTION, null, () => false);
  expect(queries[0]?.wanted()).toBe(false);
  const here = answers.of("key", QUESTION, null, () => true);
  queries[0]?.fail(new Error("Connection terminated"));
  await expect(gone).rejects.toThrow("Connection terminated");

  const shared = answers.of("key", QUESTION, null, () => true);
  expect(queries).toHaveLength(2);
  queries[1]?.give({ kind: "whole", columns: [], text: "{}", returned: 1, hasMore: false, milliseconds: 1 });
  expect(await here).toMatchObject({ asked: true, answer: { body: "{}\n" } });
  expect(await shared).toMatchObject({ asked: false, answer: { body: "{}\n" } });
});
