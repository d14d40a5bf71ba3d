import { pipeline } from "node:stream/promises";
import { failed, messageOf, type Outcome, succeeded } from "@routewright/runtime/model";
import pg from "pg";
import { from as copyFrom } from "pg-copy-streams";
import { pairedColumns } from "../columns.js";
import type { CopiedRelation } from "../copied-relation.js";
import { exportLocation, type ExportLocation } from "../export-location.js";
import type { LoadRequest, Loader } from "../loader.js";
import type { RelationScript, LoadStep } from "../script.js";
import {
  asName,
  asValue,
  type DuckDb,
  duckdbMessage,
  duckdbRelation,
  duckdbSchemas,
  duckdbSettings,
  openDuckDb,
  type SayVariable,
} from "./duckdb.js";
import { type TextColumn, textColumn } from "./expressions.js";
import { postgresScript } from "./statements.js";
import { FIELD_MACRO } from "./texts.js";
import { psqlScript } from "./psql.js";

/** PostgreSQL takes the rows that DuckDB reads. `url`: null where nothing is applied. */
export async function postgresLoader(
  url: string | null,
  location: ExportLocation,
  variables: LoadRequest["variables"],
): Promise<Outcome<Loader>> {
  const settings = (say: SayVariable): readonly string[] => [
    ...duckdbSettings(location, variables, say),
    FIELD_MACRO,
  ];
  const opened = await openDuckDb(settings(asValue));
  if (!opened.ok) return opened;
  const duckdb = opened.value;
  const client = url === null ? null : await connected(url);
  if (client !== null && !client.ok) {
    duckdb.close();
    return client;
  }
  return succeeded({
    script: (copied, request) => scriptOf(duckdb, copied, request),
    apply: async ({ steps }) => {
      if (client !== null) await apply(client.value, duckdb, steps);
    },
    print: (script) => psqlScript(script, settings(asName)),
    usage: () => "psql --no-psqlrc -v ON_ERROR_STOP=1 -f this file   # with the program duckdb in PATH",
    close: async () => {
      duckdb.close();
      await client?.value.end();
    },
  });
}

async function connected(url: string): Promise<Outcome<pg.Client>> {
  try {
    const client = new pg.Client({ connectionString: url, application_name: "routewright ddl" });
    // The statement that it breaks fails too.
    client.on("error", () => undefined);
    await client.connect();
    return succeeded(client);
  } catch (error) {
    return failed(`PostgreSQL cannot be reached: ${messageOf(error)}`);
  }
}

async function scriptOf(
  duckdb: DuckDb,
  copied: CopiedRelation,
  { from, format, buildsOf, grants }: LoadRequest,
): Promise<Outcome<RelationScript>> {
  const location = exportLocation(from, copied);
  const source = duckdbRelation(location, format);
  const columns = await exportColumns(duckdb, copied, source);
  if (!columns.ok) return columns;
  const schemas = format === "parquet" ? duckdbSchemas(location) : null;
  const load = { copied, columns: columns.value, source, schemas, builds: buildsOf(copied), grants };
  return succeeded(postgresScript(load));
}

async function exportColumns(
  duckdb: DuckDb,
  copied: CopiedRelation,
  source: string,
): Promise<Outcome<readonly TextColumn[]>> {
  const name = copied.relation.join(".");
  let described: readonly (readonly unknown[])[];
  try {
    described = await duckdb.rows(`DESCRIBE SELECT * FROM ${source}`);
  } catch (error) {
    return failed(`DuckDB cannot read the export of ${name}: ${duckdbMessage(messageOf(error))}`);
  }
  const exported = described.map(([column, type]) => ({ name: String(column), type: String(type) }));
  const pairs = pairedColumns(copied, exported);
  if (!pairs.ok) return pairs;
  const columns = pairs.value.map(([column, found]) => [column, textColumn(column, found)] as const);
  const problems = columns.flatMap(([column, outcome]) =>
    outcome.ok ? [] : outcome.problems.map((problem) => `${name}, column ${column.name}: ${problem}.`),
  );
  const texts = columns.flatMap(([, outcome]) => (outcome.ok ? [outcome.value] : []));
  return problems.length > 0 ? failed(...problems) : succeeded(texts);
}

async function apply(client: pg.Client, duckdb: DuckDb, steps: readonly LoadStep[]): Promise<void> {
  try {
    for (const step of steps) {
      if (step.kind === "sql") await client.query(step.text);
      else if (step.kind === "copy") await copy(client, duckdb, step);
      else await count(client, duckdb, step.select);
    }
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    throw new Error(duckdbMessage(messageOf(error)), { cause: error });
  }
}

async function copy(
  client: pg.Client,
  duckdb: DuckDb,
  { into, select }: Extract<LoadStep, { kind: "copy" }>,
): Promise<void> {
  const lines = async function* (): AsyncIterable<string> {
    for await (const chunk of duckdb.texts(select)) yield `${chunk.join("\n")}\n`;
  };
  await pipeline(lines, client.query(copyFrom(`COPY ${into} FROM STDIN`)));
}

async function count(client: pg.Client, duckdb: DuckDb, select: string): Promise<void> {
  const [[rows] = []] = await duckdb.rows(select);
  await client.query("SELECT set_config('routewright.rows', $1, true)", [String(rows)]);
}
