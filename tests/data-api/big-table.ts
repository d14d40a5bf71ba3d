import { ownSchema } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";

/** Rows of the long table: more than any one piece holds. */
export const LONG = 20_000;

/** A schema with a short table and a long one, and a view that takes its time over each row. */
export async function bigTables() {
  const schema = await ownSchema(`
    CREATE TABLE @.long AS
      SELECT i AS id, 'label, "' || i || '"' AS label, i * 1000000000000::numeric AS amount FROM generate_series(1, ${String(LONG)}) i;
    CREATE TABLE @.short AS SELECT * FROM @.long WHERE id <= 3;
    CREATE TABLE @.empty AS SELECT * FROM @.long WHERE false;
    CREATE TABLE @.middle AS SELECT * FROM @.long WHERE id <= 900;
    CREATE VIEW @.late AS SELECT id, 1 / (id - ${String(LONG - 10)}) AS v FROM @.long;`);
  const model = (name: string, api?: unknown) => ({
    name,
    schema,
    tags: ["production", "big", `api:${name}`],
    columns: { id: "integer", label: "text", amount: "numeric", v: "integer" },
    ...(api !== undefined && { api }),
  });
  const paged = {
    allow_unfiltered: true,
    methods: ["GET", "POST"],
    parameters: [{ name: "id", column: "id", operator: "=", type: "string" }],
    pagination: { enabled: true, default_limit: 2, max_limit: 50_000, response: "envelope" },
    sort: [{ column: "id", direction: "ASC" }],
  };
  const names = ["short", "empty", "middle", "late"];
  return { schema, manifest: manifestOf([...names.map((name) => model(name)), model("long", paged)]) };
}
