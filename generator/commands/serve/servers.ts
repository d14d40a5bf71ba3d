import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { Tier } from "@routewright/runtime/model";
import {
  type Environment,
  createLogger,
  openSupervisor,
  type ManifestRenderer,
  type RunningService,
  startService,
  type Supervisor,
} from "@routewright/runtime/server";
import { readCatalogue } from "../../catalogue/catalogue-file.js";
import type { Settings } from "../../config.js";
import { openRunResults, type RunResults } from "../../watch/poll-run-results.js";
import { startPolling } from "../../watch/poll.js";
import { workerRenderer } from "../../watch/worker-renderer.js";
import { type CommandResult, DATA_DIR, EXIT, stopSignal } from "../command.js";
import type { ServedCatalogue, LoggedWarning } from "../verify-thread.js";

export interface ServeOptions extends Pick<
  Settings,
  "catalog" | "severities" | "accept" | "minimumNoticeDays"
> {
  /** The generated folder. */
  readonly generated: string;
  /** Whether its modules may differ from what was generated. */
  readonly allowEdited: boolean;
  /** Serve one of the two APIs alone. */
  readonly only?: "data" | "ramp";
  /** Follow the manifest that the environment or the config file names. */
  readonly watch: boolean;
  /** Processes that serve the data API; 1: this one serves all. */
  readonly workers: number;
}

/** Serves in this process alone; SIGHUP reloads keys and folder. Returns once a signal has stopped it. */
export async function serveAlone(options: ServeOptions, environment: Environment): Promise<CommandResult> {
  const stops: (() => Promise<void>)[] = [];
  // Without the data API there is nothing to reload.
  let reload = (): Promise<void> => Promise.resolve();
  const onHangup = (): void => void reload();
  process.on("SIGHUP", onHangup);
  try {
    if (options.only !== "ramp") {
      const data = await serveData(options, environment);
      stops.push(data.stop);
      ({ reload } = data);
    }
    if (isRampServed(options, environment)) stops.push(await serveRamp(environment));
    await stopSignal();
  } finally {
    await Promise.all(stops.map((stop) => stop()));
    process.off("SIGHUP", onHangup);
  }
  return { exit: EXIT.ok };
}

interface Serving {
  readonly stop: () => Promise<void>;
  readonly reload: () => Promise<void>;
}

async function serveData(options: ServeOptions, environment: Environment): Promise<Serving> {
  const { generated, allowEdited } = options;
  const renderer = rendererOf(options, environment);
  const runResults = await runResultsOf(environment);
  const service = await startService({ environment, generated, allowEdited, dataDir: DATA_DIR, renderer });
  verifyInThread(generated, environment, service.databaseUrl);
  const unfollow = [followManifest(options, environment, service)];
  if (runResults !== null)
    unfollow.push(runResults.follow((builds, tests) => service.recordBuilds(builds, tests)));
  const stop = (): Promise<void> => Promise.all(unfollow.map((end) => end())).then(() => service.stop());
  return { stop, reload: () => service.reload() };
}

async function serveRamp(environment: Environment): Promise<() => Promise<void>> {
  // Loaded only where it is served: it brings a queue, signatures and more.
  const { startRampService } = await import("@routewright/runtime/ramp");
  const log = createLogger(environment.logLevel);
  const server = await startRampService({ environment, dataDir: DATA_DIR, log });
  return () => server.stop();
}

/**
 * Serves in several processes, which this one supervises; SIGHUP restarts them one by one. Returns once a signal has
 * stopped them, or none of them stays alive.
 */
export async function serveWithWorkers(
  options: ServeOptions,
  environment: Environment,
  variables: NodeJS.ProcessEnv,
): Promise<CommandResult> {
  const stopped = stopSignal();
  const hasData = options.only !== "ramp";
  const supervisor = openSupervisor({
    variables,
    workers: options.workers,
    generated: hasData ? options.generated : null,
    allowEdited: options.allowEdited,
    ramp: isRampServed(options, environment),
    dataDir: DATA_DIR,
    renderer: hasData ? rendererOf(options, environment) : null,
    log: createLogger(environment.logLevel),
  });
  const reload = (): void => void supervisor.reload();
  process.on("SIGHUP", reload);
  const unfollow: (() => Promise<void>)[] = [];
  try {
    const runResults = hasData ? await runResultsOf(environment) : null;
    // Before the workers start: their first responses carry data versions.
    if (runResults !== null)
      unfollow.push(runResults.follow((builds, tests) => supervisor.recordBuilds(builds, tests)));
    const started = supervisor.start().then(() => true);
    if (!(await Promise.race([started, stopped.then(() => false)]))) return { exit: EXIT.ok };
    if (hasData) {
      verifyInThread(options.generated, environment, supervisor.databaseUrl);
      unfollow.push(followManifest(options, environment, supervisor));
    }
    return await outcome(supervisor, stopped);
  } finally {
    await Promise.all(unfollow.map((end) => end()));
    await supervisor.stop();
    process.off("SIGHUP", reload);
  }
}

async function outcome(supervisor: Supervisor, stopped: Promise<void>): Promise<CommandResult> {
  const reason = await Promise.race([supervisor.gaveUp, stopped]);
  if (reason === undefined) return { exit: EXIT.ok };
  return { exit: EXIT.error, errors: [`No worker process can be kept alive: ${reason}.`] };
}

/**
 * The renderer of the manifest; null where none is configured. Endpoints without a tier tag keep the default tier that
 * the folder was reviewed with: another `DEFAULT_ENDPOINT_TIER` would open or close them at the next refresh.
 */
function rendererOf(options: ServeOptions, environment: Environment): ManifestRenderer | null {
  const { generated, allowEdited, catalog, severities, accept, minimumNoticeDays } = options;
  const { manifest, apiTitle, defaultTier, logLevel, refreshGuard } = environment;
  if (manifest === null) return null;
  const recorded = recordedTier(generated);
  if (recorded !== null && recorded !== defaultTier)
    createLogger(logLevel).warn(
      { recorded, environment: defaultTier },
      "DEFAULT_ENDPOINT_TIER differs from that of the generated folder: refreshes keep the recorded one; run `routewright generate` to change it",
    );
  const guard = refreshGuard ? { generated, severities, accept, minimumNoticeDays } : null;
  return workerRenderer({ manifest, catalog, title: apiTitle, generated, allowEdited, guard });
}

/** For the warning alone; null where the server will refuse the folder. */
function recordedTier(generated: string): Tier | null {
  const file = join(generated, "catalogue.json");
  if (!existsSync(file)) return null;
  const reading = readCatalogue(readFileSync(file, "utf8"), file);
  return reading.ok ? reading.catalogue.defaultTier : null;
}

/** Refreshes the service when the manifest changes, if the options enable it. Returns the function that stops this. */
function followManifest(
  { watch }: ServeOptions,
  { manifest, refreshEnabled, refreshIntervalSeconds: intervalSeconds }: Environment,
  service: Pick<RunningService, "refresh">,
): () => Promise<void> {
  if (manifest === null || !(watch || refreshEnabled)) return () => Promise.resolve();
  return startPolling({ source: manifest, intervalSeconds, poll: () => service.refresh() });
}

/** dbt's run results; null where the environment names none. */
async function runResultsOf(environment: Environment): Promise<RunResults | null> {
  const { runResults: source, refreshIntervalSeconds: intervalSeconds, logLevel } = environment;
  if (source === null) return null;
  const log = createLogger(logLevel);
  const onProblem = (detail: string): void => log.warn({ detail }, "run results not read");
  const onSaveFailed = (detail: string): void => log.warn({ detail }, "builds not stored for the next start");
  return openRunResults({
    source,
    intervalSeconds,
    onProblem,
    storeFile: join(DATA_DIR, "builds.json"),
    onSaveFailed,
  });
}

/** The bundled thread in the package's `dist/`: from the sources, or from `dist/chunks/`. */
const THREAD = new URL(
  import.meta.url.endsWith(".ts") ? "../../dist/verify-thread.js" : "../verify-thread.js",
  import.meta.url,
);

/**
 * Compares the relations with the database in use, in a thread of its own; each difference is logged. The thread must not
 * start the embedded database: it would outlive a server that stops meanwhile.
 */
function verifyInThread(generated: string, environment: Environment, databaseUrl: string | null): void {
  if (databaseUrl === null) return;
  const served: ServedCatalogue = { generated, databaseUrl, defaultTier: environment.defaultTier };
  const log = createLogger(environment.logLevel);
  new Worker(THREAD, { workerData: served })
    .on("message", ([fields, message]: LoggedWarning) => log.warn(fields, message))
    .once("error", (error) => log.warn({ err: error }, "not verified"))
    .unref();
}

/**
 * Whether the ramp is served. It creates tables: in the embedded database always, in a named one only when its secrets
 * key is set too. A warehouse served alone gets none.
 */
function isRampServed({ only }: ServeOptions, environment: Environment): boolean {
  if (only !== undefined) return only === "ramp";
  const { databaseUrl, clickhouseUrl, rampDatabaseUrl, rampSecretsKey, logLevel } = environment;
  const isNamed = (rampDatabaseUrl ?? databaseUrl) !== null;
  const log = createLogger(logLevel);
  if (!isNamed && clickhouseUrl !== null) {
    log.info(
      "the ramp is not served: it stores in PostgreSQL. Set RAMP_DATABASE_URL for it, or serve --only data",
    );
    return false;
  }
  const isServed = !isNamed || rampSecretsKey !== null;
  if (!isServed) log.info("the ramp is not served: set RAMP_SECRETS_KEY for it, or serve --only data");
  return isServed;
}
