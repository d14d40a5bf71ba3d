import pg from "pg";
import type { NodeBuild, TestRun } from "@routewright/runtime/server";
import { readStarter, type Relation, type Starter, type Test } from "./starter.js";

const { escapeIdentifier, escapeLiteral } = pg;

/** The advisory lock that a build holds: a number that nothing else locks. */
const BUILD_LOCK = 7_246_839_511;

/** The schema comment begins with this and a fingerprint of the manifest and the seeds: it marks a schema as the demo's. */
const FINGERPRINT_PREFIX = "Routewright demo data, sha256:";

/** The result of a start. */
export interface DemoBuild {
  /** Relations that were built; 0 if all were up to date. */
  readonly built: number;
  readonly results: BuildResults;
}

/** As in dbt's `run_results.json`: when each relation was built, its number of rows, and the test results. */
export interface BuildResults {
  readonly builds: readonly NodeBuild[];
  readonly tests: readonly TestRun[];
}

/**
 * Builds the starter project's relations without dbt: seeds from their CSV files, models from the manifest's compiled SQL;
 * then runs its dbt tests. One transaction: readers see either the old relations or the new ones. Builds nothing if the
 * database has the relations of the same manifest and seeds.
 *
 * @throws if the schema has relations that the demo did not build
 */
export async function buildDemoRelations(databaseUrl: string, starterDir: string): Promise<DemoBuild> {
  const starter = await readStarter(starterDir);
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query("begin");
    const build = await buildIfChanged(client, starter);
    await client.query("commit");
    return build;
  } finally {
    // Rolls back what is not committed.
    await client.end();
  }
}

async function buildIfChanged(client: pg.Client, starter: Starter): Promise<DemoBuild> {
  await client.query("select pg_advisory_xact_lock($1)", [BUILD_LOCK]);
  const mark = `${FINGERPRINT_PREFIX}${starter.fingerprint}\n`;
  const present = await schemaState(client, starter.schema);
  if (present.comment?.startsWith(mark)) {
    const results = JSON.parse(present.comment.slice(mark.length)) as BuildResults;
    return { built: 0, results };
  }
  if (present.hasRelations && !present.comment?.startsWith(FINGERPRINT_PREFIX)) {
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
  // Stored in the database: another start on the same database, also of another clone, shows them too.
  await client.query(`comment on schema ${schema} is ${escapeLiteral(mark + JSON.stringify(results))}`);
  return { built: starter.relations.length, results };
}

/** Each row that a dbt test selects is a failure. */
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
): Promise<{ comment: string | null; hasRelations: boolean }> {
  const { rows } = await client.query<{ comment: string | null; hasRelations: boolean }>(
    `select obj_description(oid, 'pg_namespace') as comment,
       exists (select from pg_class where relnamespace = pg_namespace.oid) as "hasRelations"
     from pg_namespace where nspname = $1`,
    [schema],
  );
  return rows[0] ?? { comment: null, hasRelations: false };
}

/** Builds a relation. Returns its number of rows; null for a view. */
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
        return await createTable(client, name, relation);
    }
  } catch (cause) {
    throw new Error(`The demo relation ${name} could not be built: ${(cause as Error).message}`, { cause });
  }
}

async function createTable(
  client: pg.Client,
  name: string,
  { sql, indexes, notNull }: Relation & { kind: "table" },
): Promise<number | null> {
  const { rowCount } = await client.query(`create table ${name} as\n${sql}`);
  const constraints = notNull.map((column) => `alter column ${escapeIdentifier(column)} set not null`);
  if (constraints.length > 0) await client.query(`alter table ${name} ${constraints.join(", ")}`);
  for (const index of indexes) {
    const columns = index.columns.map(escapeIdentifier).join(", ");
    await client.query(`create ${index.unique ? "unique " : ""}index on ${name} (${columns})`);
  }
  await client.query(`analyze ${name}`);
  return rowCount;
}

/** Sends one array of texts per column; PostgreSQL casts each text to the column's type. */
async function createSeed(
  client: pg.Client,
  name: string,
  seed: Relation & { kind: "seed" },
): Promise<number | null> {
  const columns = seed.csv.header.map((column, i) => ({
    id: escapeIdentifier(column),
    type: sqlType(column, seed.types[column]),
    values: seed.csv.records.map((record) => record[i] ?? null),
  }));
  const list = (part: (column: (typeof columns)[number], i: number) => string) =>
    columns.map(part).join(", ");
  await client.query(`create table ${name} (${list(({ id, type }) => `${id} ${type}`)})`);
  const { rowCount } = await client.query(
    `insert into ${name} select ${list(({ id, type }) => `${id}::${type}`)}
     from unnest(${list((_, i) => `$${i + 1}::text[]`)}) as csv (${list(({ id }) => id)})`,
    columns.map(({ values }) => values),
  );
  await client.query(`analyze ${name}`);
  return rowCount;
}

/** A type name cannot be a bind parameter: only words, sizes and `[]` are accepted. */
function sqlType(column: string, type: string | undefined): string {
  if (type === undefined || !/^[a-z][a-z0-9_ ]*(\(\d+(, ?\d+)?\))?(\[\])?$/i.test(type)) {
    throw new Error(
      `The type of "${column}", "${type}", is not the name of a PostgreSQL type: correct column_types in dbt_project.yml.`,
    );
  }
  return type;
}
