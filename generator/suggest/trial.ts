import { type ClickhouseAddress, messageOf } from "@routewright/runtime/model";
import type { Client } from "pg";
import type { FirstPage, RollUpTrial, Suggestion, Trial } from "./suggestion.js";
import { clickhouseIdentifier } from "../verify/clickhouse-relations.js";
import { identifier } from "./indexes.js";

/** Runs of a statement, of which the median counts. */
const RUNS = 5;
/** What must be left of the time: less is noise. */
const WORTHWHILE = 0.9;
/** Of one statement in the other database. */
const TIMEOUT_MS = 10 * 60_000;

/** What a statement read and took. */
export interface Measured {
  readonly rows: number;
  readonly ms: number;
}

/** A database beside the serving one, in which indexes and projections are made, measured and taken away again. */
export interface TrialDatabase {
  /** Null where the relation or a value of the column is not there. */
  measure(trial: Trial, statement: string): Promise<readonly [before: Measured, after: Measured] | null>;
  /** A question asked of the rows, and of a roll-up. */
  measureRollUp(trial: RollUpTrial): Promise<readonly [before: Measured, after: Measured]>;
  close(): Promise<void>;
}

/** The suggestions with what was measured; those that make a request no faster are left out, and named. */
export async function tried(
  suggestions: readonly Suggestion[],
  database: TrialDatabase,
): Promise<{ readonly suggestions: readonly Suggestion[]; readonly notes: readonly string[] }> {
  const kept: Suggestion[] = [];
  const notes: string[] = [];
  for (const suggestion of suggestions) {
    const { path, subject } = suggestion;
    const measure = measureOf(suggestion, database);
    if (measure === null) {
      kept.push(suggestion);
      continue;
    }
    const name = `${suggestion.kind} of ${subject} (${path})`;
    try {
      const measured = await measure();
      if (measured === null) {
        notes.push(`${name} was not measured: the database of --try has no such rows.`);
        kept.push(suggestion);
        continue;
      }
      const [before, after] = measured;
      if (after.ms > before.ms * WORTHWHILE) notes.push(`${name} is left out: ${textOf(before, after)}.`);
      else kept.push({ ...suggestion, figures: [...suggestion.figures, textOf(before, after)] });
    } catch (error) {
      notes.push(`${name} was not measured: ${messageOf(error)}.`);
      kept.push(suggestion);
    }
  }
  return { suggestions: kept, notes };
}

function measureOf(
  { trial, statement, rollUp }: Suggestion,
  database: TrialDatabase,
): (() => ReturnType<TrialDatabase["measure"]>) | null {
  if (rollUp !== undefined) return () => database.measureRollUp(rollUp);
  return trial === undefined || statement === undefined ? null : () => database.measure(trial, statement);
}

/** How a database makes a roll-up and asks it. */
interface RollUpDatabase {
  readonly source: string;
  readonly copy: string;
  /** What stands between its name and its rows. */
  readonly as: string;
  readonly run: (statement: string) => Promise<unknown>;
  readonly measure: (text: string) => Promise<Measured>;
}

async function ofRollUp(
  { select, groupBy, asked, askedAgain }: RollUpTrial,
  { source, copy, as, run, measure }: RollUpDatabase,
): Promise<readonly [before: Measured, after: Measured]> {
  const before = await median(() => measure(`${asked} FROM ${source} GROUP BY 1`));
  await run(`CREATE TABLE ${copy} ${as} ${select} FROM ${source} GROUP BY ${groupBy}`);
  return [before, await median(() => measure(`${askedAgain} FROM ${copy} GROUP BY 1`))];
}

function textOf(before: Measured, after: Measured): string {
  const part = ({ rows, ms }: Measured): string => `${rows.toLocaleString("en")} rows in ${ms.toFixed(2)} ms`;
  return `measured, median of ${String(RUNS)}: ${part(before)} before, ${part(after)} after`;
}

/** In a transaction that is rolled back. */
export async function postgresTrial(url: string): Promise<TrialDatabase> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({
    connectionString: url,
    application_name: "routewright suggest",
    statement_timeout: TIMEOUT_MS,
  });
  await client.connect();
  const measureOnce = async ({ text, values }: TrialRequest): Promise<Measured> => {
    const { rows } = await client.query<{ "QUERY PLAN": readonly [Explained] }>(
      `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${text}`,
      [...values],
    );
    const explained = rows[0]?.["QUERY PLAN"][0];
    return explained === undefined
      ? { rows: 0, ms: 0 }
      : { rows: rowsRead(explained.Plan), ms: explained["Execution Time"] };
  };
  return {
    measure: async (trial, statement) => {
      const table = trial.relation.map(identifier).join(".");
      await client.query("BEGIN");
      try {
        const request =
          trial.page === undefined ? await byValue(client, table, trial) : ofPage(table, trial.page);
        if (request === null) return null;
        const before = await median(() => measureOnce(request));
        await client.query(statement);
        await client.query(`ANALYZE ${table}`);
        return [before, await median(() => measureOnce(request))];
      } finally {
        await client.query("ROLLBACK");
      }
    },
    measureRollUp: async (trial) => {
      const [schema, name] = trial.relation;
      await client.query("BEGIN");
      try {
        return await ofRollUp(trial, {
          source: [schema, name].map(identifier).join("."),
          copy: [schema, `${name.slice(0, 40)}_routewright_suggest`].map(identifier).join("."),
          as: "AS",
          run: (statement) => client.query(statement),
          measure: (text) => measureOnce({ text, values: [] }),
        });
      } finally {
        await client.query("ROLLBACK");
      }
    },
    close: () => client.end(),
  };
}

/** What a caller asks, as a statement. */
interface TrialRequest {
  readonly text: string;
  readonly values: readonly string[];
}

/** The rows that have the value of the row in the middle, or have it in theirs; null where there is none. */
async function byValue(
  client: Client,
  table: string,
  { column, isPart }: Trial,
): Promise<TrialRequest | null> {
  const name = identifier(column);
  const found = await client.query<{ value: string }>(
    `SELECT ${name}::text AS value FROM ${table} WHERE ${name} IS NOT NULL
      OFFSET (SELECT count(*) / 2 FROM ${table} WHERE ${name} IS NOT NULL) LIMIT 1`,
  );
  const value = found.rows[0]?.value;
  if (value === undefined) return null;
  if (isPart) return { text: `SELECT * FROM ${table} WHERE ${name} LIKE $1`, values: [partPattern(value)] };
  const type = await client.query<{ type: string }>(
    "SELECT pg_catalog.format_type(atttypid, atttypmod) AS type FROM pg_catalog.pg_attribute WHERE attrelid = $1::regclass AND attname = $2",
    [table, column],
  );
  const text = `SELECT * FROM ${table} WHERE ${name} = $1::text::${type.rows[0]?.type ?? "text"}`;
  return { text, values: [value] };
}

const partPattern = (text: string): string => `%${text.replace(/[\\%_]/g, "\\$&")}%`;

function ofPage(table: string, { order, limit }: FirstPage): TrialRequest {
  const keys = order.map(([column, direction]) => `${identifier(column)} ${direction}`).join(", ");
  return { text: `SELECT * FROM ${table} ORDER BY ${keys} LIMIT ${String(limit)}`, values: [] };
}

interface Explained {
  readonly Plan: PlanNode;
  readonly "Execution Time": number;
}

interface PlanNode {
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly PlanNode[];
}

/** Rows that the scans below a node read. */
function rowsRead(node: PlanNode): number {
  const { Plans: plans = [] } = node;
  if (plans.length > 0) return plans.reduce((sum, each) => sum + rowsRead(each), 0);
  return Math.round((node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * node["Actual Loops"]);
}

async function median(measure: () => Promise<Measured>): Promise<Measured> {
  // The first run fills caches.
  await measure();
  const runs: Measured[] = [];
  for (let i = 0; i < RUNS; i++) runs.push(await measure());
  const [middle = { rows: 0, ms: 0 }] = runs.sort((a, b) => a.ms - b.ms).slice(Math.floor(RUNS / 2));
  return middle;
}

/** In a copy of the table, which is dropped. */
export async function clickhouseTrial(address: ClickhouseAddress): Promise<TrialDatabase> {
  const { clickhouseSession } = await import("../ddl/clickhouse/session.js");
  const run = clickhouseSession(address);
  const measureOnce = async (text: string): Promise<Measured> => {
    const { statistics } = JSON.parse(
      await run(`${text} SETTINGS use_query_condition_cache = 0 FORMAT JSON`),
    ) as {
      readonly statistics: { readonly rows_read: number; readonly elapsed: number };
    };
    return { rows: statistics.rows_read, ms: statistics.elapsed * 1000 };
  };
  return {
    measure: async ({ relation, column }, statement) => {
      const [source, name] = [relation.map(clickhouseIdentifier).join("."), clickhouseIdentifier(column)];
      const copy = [relation[0], `${relation[1]}_routewright_suggest`].map(clickhouseIdentifier).join(".");
      const own = statement.replace(source, copy);
      await run(`DROP TABLE IF EXISTS ${copy}`);
      try {
        await run(`CREATE TABLE ${copy} AS ${source}`);
        await run(`INSERT INTO ${copy} SELECT * FROM ${source}`);
        const values = await run(
          `SELECT toString(assumeNotNull(${name})) AS v FROM ${copy} WHERE ${name} IS NOT NULL ORDER BY cityHash64(v) LIMIT 1 FORMAT JSON`,
        );
        const value = (JSON.parse(values) as { readonly data: readonly { readonly v: string }[] }).data[0]?.v;
        if (value === undefined) return null;
        const text = `SELECT * FROM ${copy} WHERE ${name} = '${value.replace(/[\\']/g, "\\$&")}'`;
        const before = await median(() => measureOnce(text));
        await run(own);
        const projection = /ADD PROJECTION ("(?:[^"\\]|\\.)+")/.exec(own)?.[1];
        if (projection !== undefined)
          await run(`ALTER TABLE ${copy} MATERIALIZE PROJECTION ${projection} SETTINGS mutations_sync = 2`);
        return [before, await median(() => measureOnce(text))];
      } finally {
        await run(`DROP TABLE IF EXISTS ${copy}`);
      }
    },
    measureRollUp: async (trial) => {
      const [schema, name] = trial.relation;
      const copy = [schema, `${name}_routewright_suggest`].map(clickhouseIdentifier).join(".");
      await run(`DROP TABLE IF EXISTS ${copy}`);
      try {
        return await ofRollUp(trial, {
          source: [schema, name].map(clickhouseIdentifier).join("."),
          copy,
          as: "ENGINE = MergeTree ORDER BY tuple() AS",
          run,
          measure: measureOnce,
        });
      } finally {
        await run(`DROP TABLE IF EXISTS ${copy}`);
      }
    },
    close: () => Promise.resolve(),
  };
}
