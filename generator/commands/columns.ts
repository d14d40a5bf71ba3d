import { existsSync, readFileSync } from "node:fs";
import { adapterProblem, type ClickhouseAddress, clickhouseAddress } from "@routewright/runtime/model";
import { readEnvironment } from "@routewright/runtime/server";
import { withServedEngine, withServedSchemas } from "../catalogue/build.js";
import { withPublished } from "../manifest/publish-rules.js";
import { isPublished } from "../manifest/publishing.js";
import { DEFAULTS, type Settings } from "../config.js";
import { columnsText, type PulledColumn } from "../manifest/columns-file.js";
import { readManifest } from "../manifest/manifest.js";
import type { Model } from "../manifest/model.js";
import { writeFiles } from "../output/replace-file.js";
import { counted } from "../report/report.js";
import type { LiveRelation } from "../verify/relations.js";
import { type CliCommand, type CommandResult, EXIT, failure, OPTIONS, withManifest } from "./command.js";
import { inspectDatabase } from "./database.js";
import { withProgress } from "./progress.js";

export interface PullOptions
  extends Pick<Settings, "schemas" | "engine">, Partial<Pick<Settings, "access" | "publish">> {
  readonly manifest: string;
  /** File that is written or compared. */
  readonly file: string;
  /** Compare only: a finding where the database differs from the file. */
  readonly check: boolean;
  /** Address of PostgreSQL; null for the embedded one. */
  readonly databaseUrl: string | null;
  /** The ClickHouse that is served instead; none by default. */
  readonly clickhouse?: ClickhouseAddress | null;
}

interface Flags {
  readonly manifest?: string;
  readonly check: boolean;
}

export function configure(command: CliCommand): void {
  command
    .command("pull")
    .description("read names, types, nullability and comments of the served relations from the database")
    .addOption(OPTIONS.manifest())
    .option("--check", "write nothing; exit 1 where the database differs from the file", false)
    .runs((flags: Flags) => withManifest(flags, (settings) => start({ ...settings, check: flags.check })))
    .helpEnd(["columns pull", "columns pull --check   # in a job that has the database"], {
      1: "--check and the database differs from the file",
    });
  command.helpEnd();
}

function start(
  settings: Settings & { readonly manifest: string; readonly check: boolean },
): CommandResult | Promise<CommandResult> {
  const reading = readEnvironment(settings.variables);
  if (!reading.ok) return failure(...reading.problems);
  const { databaseUrl, clickhouseUrl } = reading.value.environment;
  return pullColumns({
    ...settings,
    file: settings.columns ?? DEFAULTS.columns,
    databaseUrl,
    clickhouse: clickhouseUrl === null ? null : clickhouseAddress(clickhouseUrl),
  });
}

/** `routewright columns pull`: the columns of published models, as the database has them. */
export async function pullColumns(options: PullOptions): Promise<CommandResult> {
  const reading = await readManifest(options.manifest, options.access);
  if (!reading.ok) return failure(...reading.problems);
  const { models, adapter } = withServedSchemas(
    withServedEngine(withPublished(reading.value, options.publish), options.engine),
    options.schemas,
  );
  const { clickhouse = null, databaseUrl, file } = options;
  const problem = adapterProblem(adapter, clickhouse !== null);
  if (problem !== null) return failure(problem);
  const published = models.filter(({ tags }) => isPublished(tags));
  const found = await withProgress("Reading columns", () =>
    inspectDatabase({ databaseUrl, clickhouse }, ({ readRelations }) =>
      readRelations(published.map(({ schema, alias }) => [schema, alias] as const)),
    ),
  );
  if (!found.ok) return failure(...found.problems);
  const columns = columnsOfModels(published, found.value);
  const missing = published.filter(({ uniqueId }) => !columns.has(uniqueId));
  const notes = missing.map(
    ({ schema, alias, uniqueId }) => `The database has no relation ${schema}.${alias}, of ${uniqueId}.`,
  );
  const result = report(columnsText(columns), file, options.check, columns.size);
  return result.exit === EXIT.error ? result : { ...result, notes };
}

function report(text: string, file: string, check: boolean, relations: number): CommandResult {
  const isSame = existsSync(file) && readFileSync(file, "utf8") === text;
  const writing = writeFiles(check || isSame ? [] : [{ file, text }]);
  if (!writing.ok) return failure(...writing.problems);
  const done = isSame
    ? "is up to date"
    : check
      ? "differs from the database: run `routewright columns pull`"
      : "written";
  const output = `${file}: ${counted(relations, "relation")}; ${done}\n`;
  return { exit: check && !isSame ? EXIT.findings : EXIT.ok, output, isStatus: true };
}

/** By `unique_id`; none for a model whose relation does not exist. */
function columnsOfModels(
  models: readonly Model[],
  live: readonly LiveRelation[],
): ReadonlyMap<string, readonly PulledColumn[]> {
  const found = new Map(live.map((relation) => [JSON.stringify([relation.schema, relation.name]), relation]));
  return new Map(
    models.flatMap(({ uniqueId, schema, alias }) => {
      const { columns = null } = found.get(JSON.stringify([schema, alias])) ?? {};
      if (columns === null) return [];
      return [
        [
          uniqueId,
          columns.map(({ name, type, notNull, comment = null, labels, baseType }) => ({
            name,
            type,
            notNull,
            comment,
            ...(labels && { labels }),
            ...(baseType && { baseType }),
          })),
        ] as const,
      ];
    }),
  );
}
