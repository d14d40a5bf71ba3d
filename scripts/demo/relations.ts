import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import type { NodeBuild, TestRun } from "@routewright/runtime/server";

const { escapeIdentifier, escapeLiteral } = pg;

/** The advisory lock that a build holds: a number that nothing else locks. */
const BUILD_LOCK = 7_246_839_511;

/** The schema comment begins with this and a fingerprint of the manifest and the seeds: it marks a schema as the demo's. */
const FINGERPRINT_PREFIX = "Routewright demo data, sha256:";

/** Changes when the demo builds other relations from the same manifest. */
const BUILDER = "3";

/** A node of the slim manifest that `scripts/starter/manifest.ts` writes. */
interface Node {
  readonly resource_type: string;
  readonly alias: string;
  readonly schema: string;
  readonly unique_id: string;
  readonly original_file_path: string;
  readonly config: {
    readonly materialized: string;
    readonly column_types?: Record<string, string>;
    readonly indexes?: readonly { readonly columns: readonly string[]; readonly unique?: boolean }[];
    readonly severity?: string;
    readonly contract?: { readonly enforced?: boolean };
  };
  readonly columns?: Record<
    string,
    { readonly name: string; readonly constraints?: readonly { readonly type: string }[] }
  >;
  readonly depends_on: { readonly nodes: readonly string[] };
  /** A seed has none. */
  readonly compiled_code?: string;
}

/** The starter project as the demo needs it. */
interface Starter {
  /** All relations live in it. */
  readonly schema: string;
  /** Each after those it reads from. */
  readonly relations: readonly Node[];
  /** The text of each seed's CSV file. */
  readonly seeds: ReadonlyMap<Node, string>;
  readonly tests: readonly Node[];
  /** Changes when the manifest, a seed file or the builder does. */
  readonly fingerprint: string;
}

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
  for (const node of starter.relations) {
    const rows = await build(client, node, starter.seeds.get(node));
    builds.push({ node: node.unique_id, completedAt: Date.now(), rows });
  }
  const tests: TestRun[] = [];
  for (const test of starter.tests) tests.push(await runTest(client, test));
  const results = { builds, tests };
  // Stored in the database: another start on the same database, also of another clone, shows them too.
  await client.query(`comment on schema ${schema} is ${escapeLiteral(mark + JSON.stringify(results))}`);
  return { built: starter.relations.length, results };
}

/** Each row that a dbt test selects is a failure. */
async function runTest(client: pg.Client, { unique_id, compiled_code, config }: Node): Promise<TestRun> {
  const { rows } = await client.query<{ failures: number }>(
    `select count(*)::integer as failures from (\n${compiled_code}\n) as failed`,
  );
  const failures = rows[0]?.failures ?? null;
  const status = failures === 0 ? "pass" : config.severity?.toLowerCase() === "warn" ? "warn" : "fail";
  return { test: unique_id, status, completedAt: Date.now(), failures };
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
async function build(client: pg.Client, node: Node, csv: string | undefined): Promise<number | null> {
  const { schema, alias, config, compiled_code: sql = "" } = node;
  const name = `${escapeIdentifier(schema)}.${escapeIdentifier(alias)}`;
  const isView = config.materialized === "view";
  try {
    if (csv !== undefined) await createSeed(client, name, csv, config.column_types ?? {});
    else await client.query(`create ${isView ? "view" : "table"} ${name} as\n${sql}`);
    return isView ? null : await finishTable(client, name, node);
  } catch (cause) {
    throw new Error(`The demo relation ${name} could not be built: ${(cause as Error).message}`, { cause });
  }
}

/** PostgreSQL casts each text to its column's type. An empty field is null, as dbt reads it. */
async function createSeed(
  client: pg.Client,
  name: string,
  csv: string,
  types: Record<string, string>,
): Promise<void> {
  const [first = [], ...records] = parseCsv(csv);
  const header = first.map(String);
  const columns = header.map((column) => `${escapeIdentifier(column)} ${types[column] ?? ""}`);
  await client.query(`create table ${name} (${columns.join(", ")})`);
  const rows = records.map((fields) => Object.fromEntries(header.map((column, i) => [column, fields[i]])));
  await client.query(`insert into ${name} select * from json_populate_recordset(null::${name}, $1)`, [
    JSON.stringify(rows),
  ]);
}

/** One record a line: no field of the starter's seeds holds a line break. */
function parseCsv(text: string): readonly (readonly (string | null)[])[] {
  const fieldOf = ([, quoted, plain = ""]: RegExpMatchArray): string | null =>
    (quoted?.replaceAll('""', '"') ?? plain) || null;
  return text
    .trim()
    .split(/\r?\n/)
    .map((line) => [...`,${line}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(fieldOf));
}

/** Constraints of an enforced contract, indexes, statistics. Returns the number of rows. */
async function finishTable(client: pg.Client, name: string, { config, columns = {} }: Node): Promise<number> {
  const notNull = Object.values(columns).filter(({ constraints = [] }) =>
    constraints.some(({ type }) => type === "not_null"),
  );
  if (config.contract?.enforced === true)
    for (const column of notNull)
      await client.query(`alter table ${name} alter column ${escapeIdentifier(column.name)} set not null`);
  for (const index of config.indexes ?? []) {
    const keys = index.columns.map(escapeIdentifier).join(", ");
    await client.query(`create ${index.unique ? "unique " : ""}index on ${name} (${keys})`);
  }
  await client.query(`analyze ${name}`);
  const { rows } = await client.query<{ rows: number }>(`select count(*)::integer as rows from ${name}`);
  return rows[0]?.rows ?? 0;
}

/** Reads the manifest and the seed files of a starter project. */
async function readStarter(dir: string): Promise<Starter> {
  const manifest = await readFile(join(dir, "manifest.json"), "utf8");
  const { nodes } = JSON.parse(manifest) as { readonly nodes: Record<string, Node> };
  const ordered = inDependencyOrder(nodes);
  const relations = ordered.filter(
    ({ resource_type, config }) => resource_type !== "test" && config.materialized !== "ephemeral",
  );
  const hash = createHash("sha256").update(BUILDER).update(manifest);
  const seeds = new Map<Node, string>();
  for (const node of relations.filter(({ resource_type }) => resource_type === "seed")) {
    const csv = await readFile(join(dir, node.original_file_path), "utf8");
    hash.update(`\0${node.alias}\0${csv}`);
    seeds.set(node, csv);
  }
  const tests = Object.values(nodes).filter(({ resource_type }) => resource_type === "test");
  return { schema: relations[0]?.schema ?? "", relations, seeds, tests, fingerprint: hash.digest("hex") };
}

/** Sorts nodes so that each comes after what it depends on. */
function inDependencyOrder(nodes: Readonly<Record<string, Node>>): readonly Node[] {
  const byId = new Map(Object.values(nodes).map((node) => [node.unique_id, node]));
  const ordered = new Set<Node>();
  const visit = (node: Node): void => {
    for (const id of node.depends_on.nodes) {
      const needed = byId.get(id);
      if (needed !== undefined) visit(needed);
    }
    ordered.add(node);
  };
  for (const node of byId.values()) visit(node);
  return [...ordered];
}
