import { byEngine, ownTables } from "../../support/engines.js";
import { manifestOf } from "../../support/manifest.js";

/** Rows of the long table: 4 MB, more than a buffered result may have. */
export const LONG = 60_000;

/** A schema with a short table and a long one, and a view that takes its time over each row. */
export async function bigTables() {
  const parts = `
    CREATE TABLE @.short AS SELECT * FROM @.long WHERE id <= 3;
    CREATE TABLE @.empty AS SELECT * FROM @.long WHERE false;
    CREATE TABLE @.middle AS SELECT * FROM @.long WHERE id <= 900;`;
  const failing = String(LONG - 10);
  const schema = await ownTables({
    postgres: `
    CREATE TABLE @.long AS
      SELECT i AS id, 'label, "' || i || '"' AS label, i * 1000000000000::numeric AS amount FROM generate_series(1, ${String(LONG)}) i;${parts}
    CREATE VIEW @.late AS SELECT id, label, 1 / (id - ${failing}) AS v FROM @.long;`,
    clickhouse: [
      `CREATE TABLE @.long ORDER BY id AS SELECT toInt32(number + 1) AS id, concat('label, "', toString(number + 1), '"') AS label,
        toDecimal128((number + 1) * 1000000000000, 0) AS amount FROM numbers(${String(LONG)})`,
      ...parts
        .split(";")
        .filter((statement) => statement.trim() !== "")
        .map((statement) => statement.replace(" AS", " ORDER BY id AS")),
      // Throws in the middle of a stream: not in the first block.
      `CREATE VIEW @.late AS SELECT id, label, toInt32(throwIf(id = ${failing})) AS v FROM @.long SETTINGS max_block_size = 1000`,
    ],
  });
  const model = (name: string, api?: unknown) => ({
    name,
    schema,
    tags: ["production", "big", `api:${name}`],
    columns: byEngine({
      postgres: { id: "integer", label: "text", amount: "numeric", v: "integer" },
      clickhouse: { id: "Int32", label: "String", amount: "Decimal(38, 0)", v: "Int32" },
    }),
    ...(api !== undefined && { api }),
  });
  const paged = {
    allow_unfiltered: true,
    methods: ["GET", "POST"],
    parameters: [{ name: "id", column: "id", operator: "=", type: "string" }],
    pagination: { enabled: true, default_limit: 2, max_limit: LONG, response: "envelope" },
    sort: [{ column: "id", direction: "ASC" }],
  };
  const names = ["short", "empty", "middle", "late"];
  return { schema, manifest: manifestOf([...names.map((name) => model(name)), model("long", paged)]) };
}
