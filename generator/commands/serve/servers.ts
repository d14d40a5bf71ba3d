import nodeCluster from "node:cluster";
import { join } from "node:path";
import {
  type Environment,
  type Environments,
  createLogger,
  type EmbeddedPostgres,
  flushLog,
  type ManifestRenderer,
  openPrimary,
  type Primary,
  type RunningService,
  startEmbeddedPostgres,
  startService,
  WorkerCluster,
} from "@routewright/runtime/server";
import { readCatalogueIn } from "../../catalogue/catalogue-file.js";
import type { Settings } from "../../config.js";
import { openRunResults, type RunResults } from "../../watch/poll-run-results.js";
import { startPolling, watchedLocations } from "../../watch/poll.js";
import { workerRenderer } from "../../watch/worker-renderer.js";
import { type CommandResult, DATA_DIR, EXIT, stopSignal } from "../command.js";
import { type Progress, withProgress } from "../progress.js";
import { sharedCacheOf } from "../purge.js";
import { type PublicEndpoint, purgeCopies } from "../shared-cache.js";

export interface ServeOptions extends Pick<
  Settings,
  | "about"
  | "catalog"
  | "schemas"
  | "engine"
  | "publicMaxAge"
  | "purgeUrl"
  | "purgeMethod"
  | "severities"
  | "accept"
  | "minimumNoticeDays"
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
  /** Told how far the start is. */
  readonly progress?: Progress;
}

/** Serves in this process; SIGHUP reloads keys and folder. Returns once a signal has stopped it; the primary ends a worker. */
export function serveHere(options: ServeOptions, environments: Environments): Promise<CommandResult> {
  const primary = openPrimary();
  return primary === null ? serveAlone(options, environments) : serveAsWorker(primary, options, environments);
}

async function serveAlone(options: ServeOptions, environments: Environments): Promise<CommandResult> {
  const { data: environment } = environments;
  const stops: (() => Promise<unknown>)[] = [];
  // Without the data API there is nothing to reload.
  let reload = (): Promise<void> => Promise.resolve();
  const onHangup = (): void => void reload();
  process.on("SIGHUP", onHangup);
  try {
    if (options.only !== "ramp") {
      const runResults = await runResultsOf(environment);
      const service = await withProgress("Starting", (progress) =>
        serveData({ ...options, progress }, environment),
      );
      if (runResults !== null)
        stops.push(runResults.follow((builds, tests) => service.recordBuilds(builds, tests)));
      stops.push(followManifest(options, environment, service), () => service.stop());
      reload = () => service.reload();
    }
    if (isRampServed(options, environments)) stops.push(await serveRamp(environments.ramp));
    await stopSignal();
  } finally {
    for (const stop of stops) await stop();
    process.off("SIGHUP", onHangup);
  }
  return { exit: EXIT.ok };
}

/** A worker serves one role; the primary follows the manifest and dbt's results, and stops it. */
async function serveAsWorker(
  primary: Primary,
  options: ServeOptions,
  { data: environment, ramp }: Environments,
): Promise<never> {
  const { role, port, cursorKey, ...shared } = await primary.call("join");
  if (role === "ramp") {
    const stop = await serveRamp({ ...ramp, port });
    return primary.serve(
      {
        stop: () =>
          stop()
            .then(flushLog)
            .then(() => []),
      },
      {},
    );
  }
  const service = await serveData(
    options,
    { ...environment, port, cursorKey: environment.cursorKey ?? cursorKey },
    {
      ...shared,
      share: (release) => primary.call("share", release),
      refresh: () => primary.call("refresh"),
      metricsText: () => primary.call("metricsText"),
    },
  );
  return primary.serve(
    {
      ...service,
      recordBuilds: (...builds) => Promise.resolve(service.recordBuilds(...builds)),
      stop: () =>
        service
          .stop()
          .then(flushLog)
          .then(() => service.metrics()),
    },
    service.facts,
  );
}

async function serveData(
  options: ServeOptions,
  environment: Environment,
  cluster?: Parameters<typeof startService>[0]["cluster"],
): Promise<RunningService> {
  const { generated, allowEdited, progress } = options;
  const renderer = rendererOf(options, environment);
  const service = await startService({
    environment,
    generated,
    allowEdited,
    dataDir: DATA_DIR,
    renderer,
    ...(progress && { progress }),
    ...purging(options, environment),
    ...(cluster && { cluster }),
  });
  if (cluster === undefined || nodeCluster.worker?.id === 1)
    void verifyServed(generated, environment, service.databaseUrl);
  return service;
}

/** Removes the copies that a shared cache has of rows that have changed; without a cache there is nothing to do. */
function purging(
  options: ServeOptions,
  { purgeToken, logLevel }: Environment,
): Pick<Parameters<typeof startService>[0], "onRowsChanged"> {
  const cache = sharedCacheOf(options, purgeToken);
  if (cache === null) return {};
  const log = createLogger(logLevel);
  const purge = async (endpoints: readonly PublicEndpoint[]): Promise<void> => {
    const [problem] = await purgeCopies(cache, endpoints);
    if (problem) log.warn(problem, "copies of public rows not purged: they stay until their max-age");
    else if (endpoints.length > 0) log.info({ endpoints: endpoints.length }, "copies of public rows purged");
  };
  return { onRowsChanged: (endpoints) => void purge(endpoints) };
}

async function verifyServed(
  generated: string,
  { defaultTier, logLevel }: Environment,
  databaseUrl: string | null,
): Promise<void> {
  if (databaseUrl === null) return;
  const { logDifferences } = await import("../verify.js");
  await logDifferences({ generated, defaultTier }, databaseUrl, createLogger(logLevel));
}

async function serveRamp(environment: Environments["ramp"]): Promise<() => Promise<void>> {
  // Loaded only where it is served: it has many modules.
  const { startRampService } = await import("@routewright/runtime/ramp");
  const log = createLogger(environment.logLevel);
  const server = await startRampService({ environment, dataDir: DATA_DIR, log });
  return () => server.stop();
}

/**
 * Serves in several processes, which this one supervises; SIGHUP restarts them one by one. Returns once a signal has
 * stopped them.
 */
export async function serveWithWorkers(
  options: ServeOptions,
  environments: Environments,
): Promise<CommandResult> {
  const { data: environment, ramp } = environments;
  const stopped = stopSignal();
  const hasData = options.only !== "ramp";
  const log = createLogger(environment.logLevel);
  const sizes = { data: hasData ? options.workers : 0, ramp: Number(isRampServed(options, environments)) };
  const ports = { data: environment.port, ramp: ramp.port };
  const cluster = new WorkerCluster({ sizes, environment, ports, log });
  const reload = (): void => void cluster.reload();
  process.on("SIGHUP", reload);
  const stops: (() => Promise<void>)[] = [];
  let embedded: EmbeddedPostgres | null = null;
  try {
    // Here, so that a worker that stops does not stop the server.
    if (needsEmbedded(environments, sizes)) embedded = await startEmbeddedPostgres({ dataDir: DATA_DIR });
    const runResults = hasData ? await runResultsOf(environment) : null;
    // Before the workers start: their first responses carry data versions.
    if (runResults !== null)
      stops.push(runResults.follow((builds, tests) => cluster.recordBuilds(builds, tests)));
    const started = cluster.start().then(() => true);
    if (!(await Promise.race([started, stopped.then(() => false)]))) return { exit: EXIT.ok };
    if (hasData) stops.push(followManifest(options, environment, cluster));
    await stopped;
    return { exit: EXIT.ok };
  } finally {
    for (const stop of stops) await stop();
    await cluster.stop();
    await embedded?.stop();
    process.off("SIGHUP", reload);
  }
}

function needsEmbedded(
  { data, ramp }: Environments,
  sizes: { readonly data: number; readonly ramp: number },
): boolean {
  const hasNoData = data.databaseUrl === null && data.clickhouseUrl === null;
  return (sizes.data > 0 && hasNoData) || (sizes.ramp > 0 && ramp.databaseUrl === null);
}

/**
 * The renderer of the manifest; null where none is configured. Endpoints without a tier tag keep the default tier that
 * the folder was reviewed with: another `DEFAULT_ENDPOINT_TIER` would open or close them at the next refresh.
 */
function rendererOf(options: ServeOptions, environment: Environment): ManifestRenderer | null {
  const {
    generated,
    allowEdited,
    about,
    catalog,
    severities,
    accept,
    minimumNoticeDays,
    schemas,
    engine,
    publicMaxAge,
  } = options;
  const { manifest, apiTitle, defaultTier, logLevel, refreshGuard } = environment;
  if (manifest === null) return null;
  const reading = readCatalogueIn(generated);
  // The server refuses a folder that cannot be read.
  const recorded = reading?.ok ? reading.value.defaultTier : defaultTier;
  if (recorded !== defaultTier)
    createLogger(logLevel).warn(
      { recorded, environment: defaultTier },
      "DEFAULT_ENDPOINT_TIER differs from that of the generated folder: refreshes keep the recorded one; run `routewright generate` to change it",
    );
  const guard = refreshGuard ? { generated, severities, accept, minimumNoticeDays } : null;
  return workerRenderer({
    manifest,
    catalog,
    title: apiTitle,
    about,
    generated,
    allowEdited,
    schemas,
    engine,
    publicMaxAge,
    guard,
  });
}

/** Refreshes the service when the manifest or dbt's catalog changes, if the options enable it. Returns the function that stops this. */
function followManifest(
  { watch, catalog }: ServeOptions,
  { manifest, refreshEnabled, refreshIntervalSeconds: intervalSeconds, logLevel }: Environment,
  service: Pick<RunningService, "refresh">,
): () => Promise<void> {
  if (manifest === null || !(watch || refreshEnabled)) return () => Promise.resolve();
  createLogger(logLevel).info({ intervalSeconds }, "following the manifest");
  const sources = watchedLocations({ manifest, catalog });
  return startPolling({ sources, intervalSeconds, poll: () => service.refresh() });
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

/**
 * Whether the ramp is served. It creates tables: in the embedded database always, in a named one only when its secrets
 * key is set too. A warehouse served alone gets none.
 */
function isRampServed({ only }: ServeOptions, { data, ramp }: Environments): boolean {
  if (only !== undefined) return only === "ramp";
  const isNamed = ramp.databaseUrl !== null;
  const log = createLogger(ramp.logLevel);
  if (!isNamed && data.clickhouseUrl !== null) {
    log.info(
      "the ramp is not served: it stores in PostgreSQL. Set RAMP_DATABASE_URL for it, or serve --only data",
    );
    return false;
  }
  const isServed = !isNamed || ramp.secretsKey !== null;
  if (!isServed) log.info("the ramp is not served: set RAMP_SECRETS_KEY for it, or serve --only data");
  return isServed;
}
