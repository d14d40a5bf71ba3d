import { Option } from "commander";
import {
  adapterProblem,
  type ClickhouseAddress,
  clickhouseAddress,
  failed,
  messageOf,
  type Outcome,
  servedPaths,
  succeeded,
} from "@routewright/runtime/model";
import { readEnvironment } from "@routewright/runtime/server";
import { readArtifacts } from "../artifacts/artifacts.js";
import { projectOf } from "../artifacts/source.js";
import { catalogueOf } from "../catalogue/build.js";
import type { Catalogue } from "../catalogue/catalogue.js";
import type { Settings } from "../config.js";
import { firstDay, USAGE_DAYS } from "../diff/usage.js";
import { parseModels } from "../manifest/catalog.js";
import { textOr } from "../manifest/json.js";
import type { Manifest } from "../manifest/manifest.js";
import { counted } from "../report/report.js";
import { writeFiles } from "../output/replace-file.js";
import { liveFacts } from "../suggest/live-facts.js";
import { type EditedModel, type Patch, patchOf, pathIn } from "../suggest/project-files.js";
import { dbtVersionIn, type SuggestInput, suggestionsFor } from "../suggest/suggest.js";
import { suggestText } from "../suggest/suggest-report.js";
import type { Suggestion } from "../suggest/suggestion.js";
import { clickhouseTrial, postgresTrial, tried } from "../suggest/trial.js";
import { type CliCommand, type CommandResult, EXIT, failure, OPTIONS, withManifest } from "./command.js";
import { inspectDatabase } from "./database.js";
import { withProgress } from "./progress.js";
import { recordedUsage } from "./usage.js";

interface Flags {
  readonly manifest?: string;
  readonly catalog?: string;
  readonly project?: string;
  readonly try?: string;
  readonly apply: boolean;
  readonly format: "text" | "json";
}

type SuggestOptions = Settings & Omit<Flags, "catalog"> & { readonly manifest: string };

/** The serving database; PostgreSQL's address is null for the embedded one. */
interface Serving {
  readonly databaseUrl: string | null;
  readonly clickhouse: ClickhouseAddress | null;
}

export function configure(command: CliCommand): void {
  command
    .addOption(OPTIONS.manifest())
    .addOption(OPTIONS.catalog())
    .option(
      "--project <folder>",
      "the dbt project (default: the folder above the manifest that has dbt_project.yml)",
    )
    .option(
      "--try <address>",
      "another database with the same relations: indexes and projections are made there, measured and removed",
    )
    .option("--apply", "write the YAML", false)
    .addOption(new Option("--format <format>", "output format").choices(["text", "json"]).default("text"))
    .runs((flags: Flags) =>
      withManifest(flags, (settings) => suggest({ ...settings, ...flags, manifest: settings.manifest })),
    )
    .helpEnd(["suggest", "suggest --try postgres://localhost/copy", "suggest --apply"]);
}

/** `routewright suggest`: what models and database should declare. */
async function suggest(options: SuggestOptions): Promise<CommandResult> {
  const folder = options.project ?? projectOf(options.manifest);
  if (folder === null)
    return failure("No dbt_project.yml above the manifest: name the dbt project with --project.");
  const texts = await readArtifacts(options);
  if (!texts.ok) return failure(...texts.problems);
  const reading = parseModels(texts.value, options.publish);
  if (!reading.ok) return failure(...reading.problems);
  const manifest = reading.value;
  const catalogue = catalogueOf(manifest, options);
  const variables = readEnvironment(options.variables);
  if (!variables.ok) return failure(...variables.problems);
  const { databaseUrl, clickhouseUrl } = variables.value.environment;
  const serving = {
    databaseUrl,
    clickhouse: clickhouseUrl === null ? null : clickhouseAddress(clickhouseUrl),
  };
  const notes = [...untypedNote(catalogue)];
  const found = await withProgress("Reading models", (progress) =>
    foundIn(
      serving,
      { manifest, catalogue, options, notes, dbtVersion: dbtVersionIn(texts.value.manifest.text) },
      progress,
    ),
  );
  const measured = await triedAt(options.try, found, serving);
  if (!measured.ok) return failure(...measured.problems);
  const patch = patchOf(measured.value.suggestions, editedModels(manifest), folder);
  return resultOf(options, folder, patch, [...notes, ...measured.value.notes, ...patch.notes]);
}

interface CommandInput {
  readonly manifest: Manifest;
  readonly catalogue: Catalogue;
  readonly options: SuggestOptions;
  readonly dbtVersion: string | null;
  /** What could not be read. */
  readonly notes: string[];
}

/** Filters and orders are suggested by type. */
function untypedNote({ entries }: Catalogue): readonly string[] {
  const untyped = entries.filter(({ columns }) => columns.some(({ type }) => type === null));
  if (untyped.length === 0) return [];
  return [
    `Without types of columns, of ${counted(untyped.length, "endpoint")}: run \`dbt docs generate\` and name its file with --catalog, or run \`routewright columns pull\`.`,
  ];
}

/** With the database and usage where they can be read, else by the YAML alone. */
async function foundIn(
  serving: Serving,
  { manifest, catalogue, options, dbtVersion, notes }: CommandInput,
  progress: (done: number, total: number) => void,
): Promise<readonly Suggestion[]> {
  const input = { manifest, options, dbtVersion, usage: await usageFor(catalogue, options, notes) };
  const alone = (problems: readonly string[]): Promise<readonly Suggestion[]> => {
    notes.push(`Without the database: ${problems.join(" ")}`);
    return suggestionsFor({ ...input, database: null }, progress);
  };
  const isClickhouse = serving.clickhouse !== null;
  const problem = adapterProblem(catalogue.adapter, isClickhouse);
  if (problem !== null) return await alone([problem]);
  const read = await inspectDatabase(serving, ({ withWarehouse, ...database }) =>
    withWarehouse(async (warehouse) => {
      const live = await liveFacts(catalogue, { ...database, warehouse, isClickhouse });
      return await suggestionsFor({ ...input, database: live }, progress);
    }),
  );
  return read.ok ? read.value : await alone(read.problems);
}

async function usageFor(
  { entries }: Catalogue,
  { variables }: SuggestOptions,
  notes: string[],
): Promise<SuggestInput["usage"]> {
  const since = firstDay(new Date().toISOString().slice(0, 10), USAGE_DAYS);
  const recorded = await recordedUsage(variables, entries.flatMap(servedPaths), since);
  if (recorded.ok) return { recorded: recorded.value, days: USAGE_DAYS };
  notes.push(`Without usage: ${recorded.problems.join(" ")}`);
  return null;
}

/** Measures in another database than the serving one. */
async function triedAt(
  address: string | undefined,
  suggestions: readonly Suggestion[],
  { databaseUrl, clickhouse }: Serving,
): Promise<Outcome<Awaited<ReturnType<typeof tried>>>> {
  if (address === undefined) return succeeded({ suggestions, notes: [] });
  const other = clickhouseAddress(address);
  const same =
    other === null
      ? databaseUrl !== null && placeOf(address) === placeOf(databaseUrl)
      : clickhouse !== null && other.hostname === clickhouse.hostname && other.port === clickhouse.port;
  if (same) return failed("--try names the serving database: name another one, with the same relations.");
  if ((other === null) === (clickhouse !== null))
    return failed("--try names another engine than the serving one.");
  try {
    const database = other === null ? await postgresTrial(address) : await clickhouseTrial(other);
    try {
      return succeeded(await withProgress("Measuring", () => tried(suggestions, database)));
    } finally {
      await database.close();
    }
  } catch (error) {
    // Without the address, which may contain a password.
    return failed(`The database of --try cannot be read: ${messageOf(error)}.`);
  }
}

function placeOf(address: string): string {
  const { host, pathname } = new URL(address);
  return `${host.replace(/:5432$/, "")}${pathname}`;
}

/** Models of the project itself, without versions: a version's YAML stands below that of its model. */
function editedModels({ models, graph, project }: Manifest): ReadonlyMap<string, EditedModel> {
  return new Map(
    models.flatMap(({ uniqueId, name, file, version }) => {
      const json = graph.get(uniqueId)?.json ?? {};
      if (version !== null || (project !== null && uniqueId.split(".")[1] !== project)) return [];
      const patchPath = textOr(json["patch_path"], "") || null;
      return [[uniqueId, { uniqueId, name, patchPath, file, json }] as const];
    }),
  );
}

function resultOf(
  { apply, format }: SuggestOptions,
  folder: string,
  { suggestions, files }: Patch,
  notes: readonly string[],
): CommandResult {
  if (apply) {
    const writing = writeFiles(files.map(({ file, after }) => ({ file: pathIn(folder, file), text: after })));
    if (!writing.ok) return failure(...writing.problems);
  }
  const shown = suggestions.map(({ kind, model, path, subject, reason, figures, statement }) => ({
    ...{ kind, model, path, subject, reason, figures },
    ...(statement !== undefined && { statement }),
  }));
  const report = { suggestions: shown, files: files.map(({ file }) => file), notes };
  const output = format === "json" ? `${JSON.stringify(report, null, 2)}\n` : suggestText(suggestions, files);
  const done =
    apply && files.length > 0
      ? ["Written. Review the diff, then run `dbt parse` and `routewright generate`."]
      : [];
  return { exit: EXIT.ok, output, notes: [...notes, ...done] };
}
