import { pipeline } from "node:stream/promises";
import { failed, messageOf, type Outcome, succeeded } from "@routewright/runtime/model";
import pg from "pg";
import { from as copyFrom } from "pg-copy-streams";
import type { CopiedRelation } from "../copied-relation.js";
import { exportLocation, type ExportLocation } from "../export-location.js";
import type { LoadRequest, Loader } from "../loader.js";
import { conflictingNames, folderNotes } from "../folder-notes.js";
import type { RelationScript, LoadStep } from "../script.js";
import { misfitText } from "../value-check.js";
import {
  asName,
  asValue,
  type DuckDb,
  type DuckDbPackage,
  duckdbMessage,
  duckdbSchemas,
  duckdbSettings,
  openDuckDb,
  type SayVariable,
} from "./duckdb.js";
import { folderConflict, misfitIn } from "./examine.js";
import { duckdbExport, type TextPart } from "./export.js";
import { postgresScript } from "./statements.js";
import { FIELD_MACRO } from "./texts.js";
import { psqlScript } from "./psql.js";

/** PostgreSQL takes the rows that DuckDB reads. `url`: null where nothing is applied. */
export async function postgresLoader(
  url: string | null,
  location: ExportLocation,
  variables: LoadRequest["variables"],
  packageOf?: () => Promise<DuckDbPackage>,
): Promise<Outcome<Loader>> {
  const settings = (say: SayVariable): readonly string[] => [
    ...duckdbSettings(location, variables, say),
    FIELD_MACRO,
  ];
  const opened = await openDuckDb(settings(asValue), packageOf);
  if (!opened.ok) return opened;
  const duckdb = opened.value;
  const client = url === null ? null : await connected(url);
  if (client !== null && !client.ok) {
    duckdb.close();
    return client;
  }
  /** Of each relation. */
  const parts = new Map<string, readonly TextPart[]>();
  return succeeded({
    script: async (copied, request) => {
      const script = await scriptOf(duckdb, copied, request);
      if (script.ok) parts.set(script.value.name, script.value.parts);
      return script;
    },
    apply: async ({ name, steps }) => {
      if (client !== null) await apply(client.value, duckdb, steps, parts.get(name) ?? []);
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
): Promise<Outcome<PostgresRelation>> {
  const location = exportLocation(from, copied);
  const found = await duckdbExport(duckdb, copied, location, format);
  if (!found.ok) return found;
  const { parts, files, folders, cut } = found.value;
  const schemas = format === "parquet" && parts.length === 1 ? duckdbSchemas(location) : null;
  const conflicts: string[] = [];
  for (const name of conflictingNames(copied, files))
    conflicts.push(
      ...[await folderConflict(duckdb, found.value, { name, isInAddress: location.store === "http" })].filter(
        (one) => one !== null,
      ),
    );
  const notes = [...folderNotes(copied, folders, conflicts), ...cutNotes(copied, cut)];
  const script = postgresScript({ copied, parts, schemas, notes, builds: buildsOf(copied), grants });
  return succeeded({ ...script, parts });
}

const cutNotes = ({ relation }: CopiedRelation, cut: readonly string[]): readonly string[] =>
  cut.length === 0
    ? []
    : [
        `${relation.join(".")}: ${cut.join(", ")} has times as INT96, of which DuckDB reads microseconds: further digits, which Impala and Hive write, are cut off.`,
      ];

/** A script, with what is read to say why it failed. */
interface PostgresRelation extends RelationScript {
  readonly parts: readonly TextPart[];
}

async function apply(
  client: pg.Client,
  duckdb: DuckDb,
  steps: readonly LoadStep[],
  parts: readonly TextPart[],
): Promise<void> {
  try {
    for (const step of steps) {
      if (step.kind === "sql") await client.query(step.text);
      else if (step.kind === "copy") await copy(client, duckdb, step);
      else await count(client, duckdb, step.select);
    }
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    const misfit = await misfitIn(duckdb, parts).catch(() => null);
    const problem = misfit === null ? duckdbMessage(messageOf(error)) : misfitText(misfit);
    throw new Error(problem, { cause: error });
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
  await client.query("SELECT pg_catalog.set_config('routewright.rows', $1, true)", [String(rows)]);
}
