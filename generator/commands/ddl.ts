import { Option } from "commander";
import type { Catalogue } from "../catalogue/catalogue.js";
import { failed, messageOf, type Outcome, succeeded } from "@routewright/runtime/model";
import type { Settings } from "../config.js";
import { buildsAtLoad, passedAmong } from "../ddl/builds.js";
import { clickhouseLoader } from "../ddl/clickhouse/load.js";
import { newLoadId } from "../ddl/clickhouse/load-tables.js";
import { type CopiedRelation, copiedRelations } from "../ddl/copied-relation.js";
import {
  EXPORT_FORMATS,
  type ExportFormat,
  exportLocation,
  type ExportLocation,
  exportTemplate,
  hasSecrets,
  withoutSecrets,
} from "../ddl/export-location.js";
import { type CopyMaterialization, type Loader, type LoadRequest, MATERIALIZATIONS } from "../ddl/loader.js";
import { postgresLoader } from "../ddl/postgres/load.js";
import type { RelationScript } from "../ddl/script.js";
import { readRevision } from "../diff/revision.js";
import { type RecordedBuilds, recordedBuilds } from "../manifest/run-results.js";
import { ENGINES, type ServedEngine } from "../catalogue/types/type-in-copy.js";
import { redactedLocation } from "../artifacts/source.js";
import { counted } from "../report/report.js";
import {
  type CliCommand,
  type CommandResult,
  DATA_DIR,
  EXIT,
  failure,
  OPTIONS,
  withSettings,
} from "./command.js";
import { withProgress } from "./progress.js";

interface DdlFlags {
  readonly from: string;
  readonly format: ExportFormat;
  readonly as: CopyMaterialization;
  readonly apply: boolean;
  readonly onlyPassed: boolean;
  readonly database?: string;
  readonly cluster?: string;
  readonly nodes?: readonly string[];
  readonly select?: readonly string[];
  readonly grant?: readonly string[];
  readonly generated?: string;
}

export function configure(command: CliCommand): void {
  command
    .argument(
      "[catalogue]",
      "a generated folder, a manifest (file or URL), or git:<ref> (default: the generated folder)",
    )
    .requiredOption(
      "--from <place>",
      "where the exports are: a path, https://, s3://, gs://, az:// or abfss://, with {schema}, {name} and {model}",
    )
    .addOption(
      new Option("--format <format>", "format of the exports").choices(EXPORT_FORMATS).default("parquet"),
    )
    .addOption(
      new Option(
        "--as <kind>",
        "a table that is filled, or a view that reads the export at each request (ClickHouse)",
      )
        .choices(MATERIALIZATIONS)
        .default("table"),
    )
    .option("--apply", "run the statements instead of printing them", false)
    .option(
      "--only-passed",
      "with --apply: a relation whose dbt tests failed, or have not run since the build, keeps its rows",
      false,
    )
    .option(
      "--database <url>",
      "the database, as a user who may create tables (default: LOAD_DATABASE_URL); `embedded` is the one that serve starts",
    )
    .option(
      "--cluster <name>",
      "spread the rows over the nodes of this cluster of ClickHouse, as its remote_servers name it",
    )
    .option(
      "--nodes <hosts...>",
      "HTTP addresses of the cluster's nodes, host or host:port (default: its hosts, at the port of the database)",
    )
    .option("--select <relations...>", "only these relations, by name or schema.name")
    .option(
      "--grant <roles...>",
      "roles that may read the relations; those of an earlier load keep their grants",
    )
    .addOption(OPTIONS.generated())
    .runs((revision: string | undefined, flags: DdlFlags) =>
      withSettings(flags, (settings) => ddl(revision ?? settings.out, settings, flags)),
    )
    .helpEnd(
      [
        "ddl --from 's3://exports/{schema}/{name}/*.parquet' > load.sql",
        "ddl --from './exports/{name}.parquet' --apply --database postgres://loader@localhost/shop --grant api",
      ],
      { 2: "error; the relations keep their former rows" },
    );
}

/** `routewright ddl`: statements that make the served relations from exports of a warehouse. */
async function ddl(revision: string, settings: Settings, flags: DdlFlags): Promise<CommandResult> {
  const reading = await readRevision(revision, { ...settings, generated: settings.out, cwd: process.cwd() });
  if (!reading.ok) return failure(...reading.problems);
  const { catalogue } = reading.value;
  const relations = selected(copiedRelations(catalogue), flags.select);
  if (!relations.ok) return failure(...relations.problems);
  if (relations.value.length === 0) return failure(nothingToLoad(revision, catalogue));
  const engine = ENGINES.find((one) => one === catalogue.adapter);
  if (engine === undefined) return failure(noEngine(catalogue.adapter));
  if (flags.as === "view" && engine === "postgres") return failure(NO_VIEW);
  if (flags.cluster !== undefined && engine === "postgres") return failure(NO_CLUSTER);
  if (flags.nodes !== undefined && flags.cluster === undefined) return failure(NODES_ALONE);
  if (flags.onlyPassed && !flags.apply) return failure(PASSED_ALONE);
  const builds = await recordedBuilds(settings.variables);
  if (!builds.ok) return failure(...builds.problems);
  if (flags.onlyPassed && builds.value.location === null) return failure(NO_RESULTS);
  const { loaded, kept } = flags.onlyPassed
    ? passedAmong(relations.value, catalogue.lineage, builds.value.records)
    : { loaded: relations.value, kept: [] };
  if (loaded.length === 0)
    return { exit: EXIT.ok, output: "No relation loaded.\n", notes: kept, isStatus: true };
  const from = exportTemplate(flags.from, process.cwd(), loaded);
  if (!from.ok) return failure(...from.problems);
  const request: LoadRequest = {
    id: newLoadId(),
    from: from.value,
    format: flags.format,
    as: flags.as,
    grants: flags.grant ?? [],
    variables: settings.variables,
    buildsOf: (copied) => buildsAtLoad(copied, catalogue.lineage, builds.value.records),
  };
  const loader = await openLoader(engine, loaded, request, flags);
  if (!loader.ok) return failure(...loader.problems);
  try {
    const result = await (flags.apply ? applied : printed)(loader.value, loaded, request);
    return result.exit === EXIT.ok
      ? { ...result, notes: [...kept, ...unknownBuilds(loaded, request, builds.value)] }
      : result;
  } finally {
    await loader.value.close();
  }
}

/** Which relations are loaded without the time of a build, and why. A view keeps none. */
function unknownBuilds(
  relations: readonly CopiedRelation[],
  { as, buildsOf }: LoadRequest,
  { location, problem }: RecordedBuilds,
): readonly string[] {
  if (location === null || as === "view") return [];
  const names = relations
    .filter((copied) => buildsOf(copied) === null)
    .map(({ relation }) => relation.join("."));
  if (names.length === 0) return [];
  const why = problem ?? `${location} has no successful build of them.`;
  return [
    `warning: ${why} ${names.join(", ")}: this load is of no known build, so callers get no X-Data-As-Of.`,
  ];
}

function nothingToLoad(revision: string, { skipped }: Catalogue): string {
  const hint =
    skipped.length > 0
      ? `${counted(skipped.length, "tagged model")} ${skipped.length === 1 ? "is" : "are"} skipped as invalid: \`routewright lint\` says why.`
      : "Tag models with production and api:<resource>, then run `routewright generate`.";
  return `${redactedLocation(revision)} has no endpoint to load. ${hint}`;
}

const PASSED_ALONE = "--only-passed needs --apply: a printed script would run whatever the tests say then.";

const NO_RESULTS =
  "--only-passed reads the tests in dbt's run_results.json: name it with DBT_RUN_RESULTS_PATH, DBT_RUN_RESULTS_URL or `runResults` in the config file.";

const NO_VIEW =
  "PostgreSQL does not read exports at a request: `--as view` needs ClickHouse. Load tables, which is the default.";

const NO_CLUSTER =
  "PostgreSQL keeps the rows of a relation on one server: `--cluster` needs ClickHouse. For more reads use its replicas.";

const NODES_ALONE = "--nodes needs --cluster <name>: the nodes are those of one cluster.";

const noEngine = (adapter: string | null): string =>
  `The models are served from ${adapter ?? "no known engine"}: set \`engine\` in routewright.config.json to \`clickhouse\` or \`postgres\`, then run \`routewright generate\`.`;

function selected(
  relations: readonly CopiedRelation[],
  names: readonly string[] | undefined,
): Outcome<readonly CopiedRelation[]> {
  if (names === undefined) return succeeded(relations);
  const isNamed = ({ relation }: CopiedRelation, name: string): boolean =>
    relation[1] === name || relation.join(".") === name;
  const unknown = names.filter((name) => !relations.some((copied) => isNamed(copied, name)));
  if (unknown.length > 0) return failed(`No endpoint reads ${unknown.join(", ")} (--select).`);
  return succeeded(relations.filter((copied) => names.some((name) => isNamed(copied, name))));
}

async function openLoader(
  engine: ServedEngine,
  [first]: readonly CopiedRelation[],
  { from, variables }: LoadRequest,
  { database, apply, cluster, nodes }: DdlFlags,
): Promise<Outcome<Loader>> {
  const url = (database ?? variables["LOAD_DATABASE_URL"] ?? "").trim();
  if (engine === "clickhouse")
    return url === "" ? failed(NEEDS_CLICKHOUSE) : clickhouseLoader(url, cluster ?? null, nodes);
  if (url === "" && apply) return failed(NEEDS_POSTGRES);
  if (url !== "" && url !== EMBEDDED && !/^postgres(ql)?:\/\//.test(url)) return failed(NOT_POSTGRES);
  if (first === undefined) return failed("There is no relation to load.");
  const location = exportLocation(from, first);
  if (!apply) return postgresLoader(null, location, variables);
  return url === EMBEDDED ? embeddedLoader(location, variables) : postgresLoader(url, location, variables);
}

/** The PostgreSQL that `serve` starts without `DATABASE_URL`. */
const EMBEDDED = "embedded";

async function embeddedLoader(
  location: ExportLocation,
  variables: LoadRequest["variables"],
): Promise<Outcome<Loader>> {
  // A command that loads another server does not need it.
  const { startEmbeddedPostgres } = await import("@routewright/runtime/server");
  const embedded = await startEmbeddedPostgres({ dataDir: DATA_DIR });
  const loader = await postgresLoader(embedded.url, location, variables);
  if (!loader.ok) {
    await embedded.stop();
    return loader;
  }
  const close = (): Promise<void> => loader.value.close().finally(() => embedded.stop());
  return succeeded({ ...loader.value, close });
}

const NEEDS_CLICKHOUSE =
  "ClickHouse reads the columns of the exports: name a server with --database or LOAD_DATABASE_URL, as a user who may create tables. Nothing is changed without --apply.";

const NEEDS_POSTGRES =
  "--apply needs a database: name it with --database or LOAD_DATABASE_URL, as a user who may create tables; `--database embedded` is the one that `serve` starts without DATABASE_URL, which is the server's, whose role only reads.";

const NOT_POSTGRES =
  "The models are served from PostgreSQL: --database (or LOAD_DATABASE_URL) must be a postgres:// address of a user who may create tables.";

async function scriptsOf(
  loader: Loader,
  relations: readonly CopiedRelation[],
  request: LoadRequest,
): Promise<Outcome<readonly RelationScript[]>> {
  const outcomes: Outcome<RelationScript>[] = [];
  for (const copied of relations) outcomes.push(await loader.script(copied, request));
  const problems = outcomes.flatMap((outcome) => (outcome.ok ? [] : outcome.problems));
  const shown = problems.map((problem) => withoutSecrets(problem, request.from));
  if (problems.length > 0) return failed(...new Set(shown));
  return succeeded(outcomes.flatMap((outcome) => (outcome.ok ? [outcome.value] : [])));
}

async function printed(
  loader: Loader,
  relations: readonly CopiedRelation[],
  request: LoadRequest,
): Promise<CommandResult> {
  if (hasSecrets(request.from)) return failure(SECRET_ADDRESS);
  const scripts = await scriptsOf(loader, relations, request);
  if (!scripts.ok) return failure(...scripts.problems);
  const names = scripts.value.map(({ name }) => name);
  const texts = scripts.value.map((script) => {
    const notes = script.notes.map((note) => `-- ${oneLine(note)}\n`).join("");
    return `-- ${oneLine(script.name)}\n${notes}\n${loader.print(script)}\n`;
  });
  return { exit: EXIT.ok, output: [`-- Run: ${loader.usage(names)}\n`, ...texts].join("\n") };
}

const SECRET_ADDRESS =
  "The address of --from has a user name, a password or a query, which the script would show: load with --apply.";

const oneLine = (text: string): string => text.replace(/[\r\n]+/g, " ");

/** All exports are looked at before the first relation is replaced. */
async function applied(
  loader: Loader,
  relations: readonly CopiedRelation[],
  request: LoadRequest,
): Promise<CommandResult> {
  const scripts = await scriptsOf(loader, relations, request);
  if (!scripts.ok) return failure(...scripts.problems);
  const done: string[] = [];
  try {
    await withProgress("Loading relations", async (progress) => {
      for (const script of scripts.value) {
        progress(done.length, scripts.value.length);
        await loader.apply(script);
        done.push(script.name);
      }
    });
  } catch (error) {
    const failing = scripts.value[done.length]?.name ?? "";
    const before = done.length === 0 ? "" : ` Loaded before it: ${done.join(", ")}.`;
    return failure(
      `${failing} was not loaded, and keeps its former rows: ${withoutSecrets(messageOf(error), request.from)}.${before}`,
    );
  }
  return {
    exit: EXIT.ok,
    output: [
      ...scripts.value.flatMap(({ notes }) => notes.map((note) => withoutSecrets(note, request.from))),
      `${counted(done.length, "relation")} loaded: ${done.join(", ")}\n`,
    ].join("\n"),
    isStatus: true,
  };
}
