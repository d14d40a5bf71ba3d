import pg from "pg";
import type { NodeBuild, TestRun } from "@routewright/runtime/server";
import { type Index, readStarter, type Relation, type Starter, type Test } from "./starter.js";

const { escapeIdentifier, escapeLiteral } = pg;

/** The advisory lock that building holds; any number does, as long as nothing else takes it. */
const BUILD_LOCK = 7_246_839_511;

/** Begins the schema comment that marks a schema as made here, and says from what. */
const MARK = "Routewright demo data, sha256:";

/** What a start found to do: how many relations were built, or that they were up to date. */
export interface DemoBuild {
  readonly built: number;
  readonly skipped: boolean;
  readonly results: BuildResults;
}

/** What dbt writes to `run_results.json`: when each relation was built, its rows, and how its tests went. */
export interface BuildResults {
  readonly builds: readonly NodeBuild[];
  readonly tests: readonly TestRun[];
}

/**
 * Builds the starter project's relations without dbt: seeds from their CSV files, models from the manifest's compiled SQL.
 * Then runs its dbt tests. All in one transaction, so that readers see the old relations or the new. Does nothing when the database already holds
 * what the same manifest and seeds made. Refuses a schema of the same name that it did not make itself.
 */
export async function buildDemoRelations(databaseUrl: string, starterDir: string): Promise<DemoBuild> {
  const starter = await readStarter(starterDir);
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query("begin");
    const build = await bringUpToDate(client, starter);
    await client.query("commit");
    return build;
  } finally {
    // Ending the session rolls back whatever was not committed.
    await client.end();
  }
}

async function bringUpToDate(client: pg.Client, starter: Starter): Promise<DemoBuild> {
  await client.query("select pg_advisory_xact_lock($1)", [BUILD_LOCK]);
  const mark = `${MARK}${starter.fingerprint}\n`;
  const present = await schemaState(client, starter.schema);
  if (present.comment?.startsWith(mark)) {
    const results = JSON.parse(present.comment.slice(mark.length)) as BuildResults;
    return { built: 0, skipped: true, results };
  }
  if (present.occupied && !present.comment?.startsWith(MARK)) {
    throw new Error(
      `Schema "${starter.schema}" already holds relations that the demo did not make. ` +
        "Use another database for the demo, or drop the schema.",
    );
  }
  // The queries are many and short: compiling them takes longer than running them.
  await client.query("set local time zone 'UTC'; set local jit = off");
  const schema = escapeIdentifier(starter.schema);
  await client.query(`drop schema if exists ${schema} cascade; create schema ${schema}`);
  const builds: NodeBuild[] = [];
  for (const relation of starter.relations) {
    const rows = await build(client, starter.schema, relation);
    builds.push({ node: relation.id, completedAt: Date.now(), rows });
  }
  const tests: TestRun[] = [];
  for (const test of starter.tests) tests.push(await runTest(client, test));
  const results = { builds, tests };
  // The results belong to the relations: another clone that uses the same database shows them too.
  await client.query(`comment on schema ${schema} is ${escapeLiteral(mark + JSON.stringify(results))}`);
  return { built: starter.relations.length, skipped: false, results };
}

/** As dbt does: each row that the test selects is a failure. */
async function runTest(client: pg.Client, { id, sql, severity }: Test): Promise<TestRun> {
  const { rows } = await client.query<{ failures: number }>(
    `select count(*)::integer as failures from (\n${sql}\n) as failed`,
  );
  const failures = rows[0]?.failures ?? null;
  const status = failures === 0 ? "pass" : severity === "warn" ? "warn" : "fail";
  return { test: id, status, completedAt: Date.now(), failures };
}

async function schemaState(
  client: pg.Client,
  schema: string,
): Promise<{ comment: string | null; occupied: boolean }> {
  const { rows } = await client.query<{ comment: string | null; occupied: boolean }>(
    `select obj_description(oid, 'pg_namespace') as comment,
       exists (select from pg_class where relnamespace = pg_namespace.oid) as occupied
     from pg_namespace where nspname = $1`,
    [schema],
  );
  return rows[0] ?? { comment: null, occupied: false };
}

/** Returns the rows of the relation; null for a view. */
async function build(client: pg.Client, schema: string, relation: Relation): Promise<number | null> {
  const name = `${escapeIdentifier(schema)}.${escapeIdentifier(relation.name)}`;
  try {
    switch (relation.kind) {
      case "seed":
        return await createSeed(client, name, relation);
      case "view":
        await client.query(`create view ${name} as\n${relation.sql}`);
        return null;
      case "table":
        return await createTable(client, name, relation.sql, relation.indexes);
    }
  } catch (cause) {
    throw new Error(`The demo relation ${name} could not be built: ${(cause as Error).message}`, { cause });
  }
}

async function createTable(
  client: pg.Client,
  name: string,
  sql: string,
  indexes: readonly Index[],
): Promise<number | null> {
  const { rowCount } = await client.query(`create table ${name} as\n${sql}`);
  for (const index of indexes) {
    const columns = index.columns.map(escapeIdentifier).join(", ");
    await client.query(`create ${index.unique ? "unique " : ""}index on ${name} (${columns})`);
  }
  await client.query(`analyze ${name}`);
  return rowCount;
}

/** Sends one array of texts per column; PostgreSQL turns each text into the column's type. */
async function createSeed(
  client: pg.Client,
  name: string,
  seed: Relation & { kind: "seed" },
): Promise<number | null> {
  const columns = seed.csv.header.map((column, at) => ({
    id: escapeIdentifier(column),
    type: sqlType(seed.types[column]),
    values: seed.csv.records.map((record) => record[at] ?? null),
  }));
  const list = (part: (column: (typeof columns)[number], at: number) => string) =>
    columns.map(part).join(", ");
  await client.query(`create table ${name} (${list(({ id, type }) => `${id} ${type}`)})`);
  const { rowCount } = await client.query(
    `insert into ${name} select ${list(({ id, type }) => `${id}::${type}`)}
     from unnest(${list((_, at) => `$${at + 1}::text[]`)}) as csv (${list(({ id }) => id)})`,
    columns.map(({ values }) => values),
  );
  await client.query(`analyze ${name}`);
  return rowCount;
}

/** A type name can't be a bind parameter: only words, sizes and `[]` pass. */
function sqlType(type: string | undefined): string {
  if (type === undefined || !/^[a-z][a-z0-9_ ]*(\(\d+(, ?\d+)?\))?(\[\])?$/i.test(type)) {
    throw new Error(`"${type}" is not the name of a PostgreSQL type.`);
  }
  return type;
}
