import cluster from "node:cluster";
import { availableParallelism } from "node:os";
import { createLogger, openPrimary, readEnvironments } from "@routewright/runtime/server";
import { adapterNotice, messageOf } from "@routewright/runtime/model";
import { InvalidArgumentError, Option } from "commander";
import { adapterIn } from "../catalogue/catalogue-file.js";
import { closest } from "../manifest/strings.js";
import type { Settings } from "../config.js";
import { type CliCommand, EXIT, type CommandResult, failure, withSettings } from "./command.js";
import { loadRampEnvironment, rampMissing } from "./ramp-package.js";
import type { Environments, ServeOptions } from "./serve/serve-options.js";
import { serveHere, serveWithWorkers } from "./serve/servers.js";

/** Each worker takes about 100 MB and its own database connections. */
const MAX_WORKERS = 64;

/** Reads the settings of both services from the variables and the flags. */
type ReadsEnvironments = (
  variables: NodeJS.ProcessEnv,
) => ReturnType<typeof readEnvironments<Environments["ramp"]>>;

interface Flags extends Pick<ServeOptions, "watch" | "workers" | "allowEdited"> {
  readonly generated?: string;
  readonly catalog?: string;
  readonly guard: boolean;
  readonly port?: string;
  readonly rampPort?: string;
  readonly only?: "data" | "ramp";
}

export function configure(command: CliCommand): void {
  command
    .option("--generated <folder>", "the generated folder (default: `out` of the config file, or generated)")
    .option("--port <number>", "port of the data API (default: PORT or 8000)", parsePort)
    .option("--ramp-port <number>", "port of the ramp API (default: RAMP_PORT or 8001)", parsePort)
    .addOption(new Option("--only <api>", "serve one of the two APIs").choices(["data", "ramp"]))
    .option(
      "--watch",
      "follow the manifest of DBT_MANIFEST_PATH, DBT_MANIFEST_URL or DBT_ARTIFACTS_URL, or of the config file",
      false,
    )
    .option(
      "--catalog <file or URL>",
      "dbt's catalog.json for --watch (default: `catalog` of the config file)",
    )
    .option("--guard", "at refresh, hold back what `diff` calls breaking or exposing (REFRESH_GUARD)", false)
    .option("--allow-edited", "serve generated modules that were edited, added or deleted by hand", false)
    .option("--workers <number>", "processes that serve the data API, or auto: one per core", parseWorkers, 1)
    .runs(async (flags: Flags) => {
      const ramp = await loadRampEnvironment();
      const read: ReadsEnvironments = (variables) =>
        readEnvironments(withFlags(variables, flags), ramp?.rampSettings ?? (() => null));
      const problems = (variables: NodeJS.ProcessEnv): readonly string[] => {
        const reading = read(variables);
        return reading.ok ? [] : reading.problems;
      };
      return reported(withSettings(flags, (settings) => serve(flags, settings, read), problems));
    })
    .helpEnd(["serve --only data", "serve --watch --workers auto"], {
      0: "stopped by a signal",
      2: "cannot start; the message says why",
    });
}

/** A worker process that cannot start says why: its connection to the primary would keep it alive. */
async function reported(serving: Promise<CommandResult>): Promise<CommandResult> {
  const fails = (reason: string): Promise<void> | undefined => openPrimary()?.call("fails", reason);
  const result = await serving.catch(async (error: unknown) => {
    await fails(messageOf(error));
    throw error;
  });
  if (result.exit !== EXIT.ok) await fails(result.errors?.join(" ") ?? "");
  return result;
}

function parsePort(text: string): string {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return text;
  throw new InvalidArgumentError("It must be a whole number from 0 to 65535.");
}

function parseWorkers(text: string): number {
  if (text === "auto") return Math.min(availableParallelism(), MAX_WORKERS);
  const number = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= MAX_WORKERS) return number;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${String(MAX_WORKERS)}, or auto.`);
}

/** `routewright serve`: starts the servers and returns once a signal has stopped them. */
async function serve(flags: Flags, settings: Settings, read: ReadsEnvironments): Promise<CommandResult> {
  const variables = withFlags(settings.variables, flags);
  const reading = read(settings.variables);
  if (!reading.ok) return failure(...reading.problems);
  const { environment: environments, names } = reading.value;
  if (environments.ramp === null && wantsRamp(flags, variables)) return failure(rampMissing());
  const { data: environment } = environments;
  for (const detail of misspelledSettings(variables, [...names]))
    createLogger(environment.logLevel).warn({ detail }, "environment");
  if (flags.watch && environment.manifest === null) return failure(NO_MANIFEST_TO_WATCH);
  const notice = flags.only === "ramp" || cluster.isWorker ? null : adapterNotice(adapterIn(settings.out));
  // The embedded database has none of these relations.
  if (notice !== null && environment.databaseUrl === null && environment.clickhouseUrl === null)
    return failure(notice);
  if (notice !== null) createLogger(environment.logLevel).warn(notice);
  const options = { ...flags, ...settings, generated: settings.out };
  return flags.workers === 1 || cluster.isWorker
    ? serveHere(options, environments)
    : serveWithWorkers(options, environments);
}

/** Whether the ramp is asked for: by flag, or by a variable that only it reads. */
function wantsRamp({ only }: Flags, variables: NodeJS.ProcessEnv): boolean {
  if (only !== undefined) return only === "ramp";
  return Object.entries(variables).some(([name, value]) => name.startsWith("RAMP_") && Boolean(value));
}

/** Messages about variables with nearly the name of a setting. Short names are ignored: other programs use them. */
function misspelledSettings(variables: NodeJS.ProcessEnv, names: readonly string[]): readonly string[] {
  return Object.keys(variables).flatMap((name) => {
    if (name.length < 8 || !name.includes("_") || names.includes(name)) return [];
    const near = closest(name, names, 3);
    return near === null ? [] : [`${name} is not a setting; did you mean ${near}?`];
  });
}

const NO_MANIFEST_TO_WATCH =
  "--watch needs a manifest to follow: set DBT_MANIFEST_PATH, DBT_MANIFEST_URL or DBT_ARTIFACTS_URL, or `manifest` or `artifacts` in routewright.config.json.";

function withFlags(variables: NodeJS.ProcessEnv, { port, rampPort, guard }: Flags): NodeJS.ProcessEnv {
  return {
    ...variables,
    ...(port !== undefined && { PORT: port }),
    ...(rampPort !== undefined && { RAMP_PORT: rampPort }),
    ...(guard && { REFRESH_GUARD: "true" }),
  };
}
