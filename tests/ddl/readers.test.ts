/** Who reads a copy, and what depends on it. */
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { atEnd } from "../support/at-end.js";
import { hasClickhouse } from "../support/clickhouse.js";
import { query } from "../support/database.js";
import { needs } from "../support/needs.js";
import { CopiedProject, writeParquet } from "./copies.js";

const MODEL = { name: "orders", columns: { id: "NUMBER(10,0)", paid_at: "TIMESTAMP_NTZ(6)" } };
const ROWS =
  "{'ID': pa.array([1, 2], pa.int64()), 'PAID_AT': pa.array([d.datetime(2026, 1, 2)] * 2, pa.timestamp('us'))}";

async function ownRole(): Promise<string> {
  const role = `reader_${randomBytes(4).toString("hex")}`;
  await query(`CREATE ROLE ${role}`);
  atEnd(async () => {
    await query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });
  return role;
}

describe.skipIf(!needs("pyarrow"))("a copy in PostgreSQL", () => {
  const loaded = async (...args: readonly string[]): Promise<CopiedProject> => {
    const project = await CopiedProject.of("postgres", "snowflake", MODEL);
    await writeParquet(project.file("orders.parquet"), ROWS);
    expect(await project.load(...args)).toMatchObject({ exit: 0 });
    return project;
  };

  it("keeps the grants of its relation and of its columns at each load", async () => {
    const [role, other] = [await ownRole(), await ownRole()];
    const project = await loaded("--grant", role);
    const relation = `"${project.schema}".orders`;
    await query(`GRANT SELECT (id) ON ${relation} TO ${other}`);
    expect(await project.load()).toMatchObject({ exit: 0 });
    const [granted] = await query(
      `SELECT has_schema_privilege('${role}', '${project.schema}', 'USAGE') AS schema,
         has_table_privilege('${role}', '${relation}', 'SELECT') AS relation,
         has_column_privilege('${other}', '${relation}', 'id', 'SELECT') AS own,
         has_column_privilege('${other}', '${relation}', 'paid_at', 'SELECT') AS more`,
    );
    expect(granted).toEqual({ schema: true, relation: true, own: true, more: false });
  });

  it.each([
    ["a view depends on it", "CREATE VIEW @.v AS SELECT * FROM @.orders", /other objects depend on it/],
    ["it has row security", "ALTER TABLE @.orders ENABLE ROW LEVEL SECURITY", /has row security/],
  ])("is not replaced where %s", async (_, sql, says) => {
    const project = await loaded();
    await query(sql.replaceAll("@", `"${project.schema}"`));
    expect(await project.load()).toMatchObject({ exit: 2, err: expect.stringMatching(says) as string });
    expect(await project.rows("SELECT id FROM @.orders ORDER BY id")).toHaveLength(2);
  });
});

it.skipIf(!needs("pyarrow") || !hasClickhouse)(
  "a view over the export is read by a role that may not read files, and becomes a table",
  async () => {
    const project = await CopiedProject.of("clickhouse", "snowflake", MODEL);
    await writeParquet(project.file("orders.parquet"), ROWS);
    const url = await project.serve();
    const ids = async (): Promise<readonly number[]> =>
      ((await (await fetch(`${url}/v1/shop/orders`)).json()) as readonly { readonly id: number }[]).map(
        ({ id }) => id,
      );
    expect(await project.load("--as", "view")).toMatchObject({ exit: 0 });
    expect(await ids()).toEqual([1, 2]);
    await writeParquet(project.file("orders.parquet"), ROWS.replace("[1, 2]", "[3, 4]"));
    expect(await ids()).toEqual([3, 4]);
    expect(await project.load()).toMatchObject({ exit: 0 });
    await writeParquet(project.file("orders.parquet"), ROWS.replace("[1, 2]", "[5, 6]"));
    expect(await ids()).toEqual([3, 4]);
  },
);
