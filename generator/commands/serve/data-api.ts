import { join } from "node:path";
import nodeCluster from "node:cluster";
import {
  type Environment,
  createLogger,
  type ManifestRenderer,
  type RunningService,
  startService,
} from "@routewright/runtime/server";
import { isOfArtifacts, messageOf } from "@routewright/runtime/model";
import { readCatalogueIn } from "../../catalogue/catalogue-file.js";
import { accessOf } from "../../artifacts/access.js";
import { watchedLocations } from "../../artifacts/artifacts.js";
import { openRunResults, RESULTS_FILES, type RunResults } from "../../watch/poll-run-results.js";
import { type Polling, startPolling } from "../../watch/poll.js";
import { workerRenderer } from "../../watch/worker-renderer.js";
import { DATA_DIR } from "../command.js";
import { sharedCacheOf } from "../purge.js";
import { type PublicEndpoint, purgeCopies } from "../shared-cache.js";
import type { ServeOptions } from "./serve-options.js";

/** The data API, and what it follows: the manifest, and dbt's run results. */

export async function serveData(
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

/** Never rejects: a server that cannot verify, such as without a free file descriptor, goes on serving. */
async function verifyServed(
  generated: string,
  { logLevel }: Environment,
  databaseUrl: string | null,
): Promise<void> {
  if (databaseUrl === null) return;
  const log = createLogger(logLevel);
  try {
    const { logDifferences } = await import("./log-differences.js");
    await logDifferences(generated, databaseUrl, log);
  } catch (error) {
    log.error({ detail: messageOf(error) }, "not verified");
  }
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
    access,
    severities,
    accept,
    minimumNoticeDays,
    schemas,
    engine,
    publicMaxAge,
    publish,
  } = options;
  const { manifest, artifacts, apiTitle, defaultTier, logLevel, refreshGuard } = environment;
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
  const log = createLogger(logLevel);
  const renderOptions = {
    manifest,
    catalog,
    artifacts,
    access,
    title: apiTitle,
    about,
    generated,
    allowEdited,
    schemas,
    engine,
    publicMaxAge,
    publish,
    guard,
  };
  return workerRenderer(renderOptions, (detail) => log.warn({ detail }, "dbt's files are of two builds"));
}

/**
 * Refreshes the service when the manifest or dbt's catalog changes, if the options enable it, and reads the results of the
 * same build then. Returns the function that stops this.
 */
export function followManifest(
  { watch, catalog }: ServeOptions,
  { manifest, artifacts, refreshEnabled, refreshIntervalSeconds: intervalSeconds, logLevel }: Environment,
  service: Pick<RunningService, "refresh">,
  results: Polling | null,
): () => Promise<void> {
  if (manifest === null || !(watch || refreshEnabled)) return () => Promise.resolve();
  createLogger(logLevel).info({ intervalSeconds }, "following the manifest");
  const sources = watchedLocations({ manifest, catalog, artifacts });
  const poll = async (): Promise<void> => {
    await service.refresh();
    await results?.now();
  };
  return startPolling({ sources, intervalSeconds, poll }).stop;
}

/** Where the results of each of dbt's files are stored for the next start. */
const STORE_FILES = {
  runResults: "builds.json",
  sources: "source-freshness.json",
  freshness: "model-freshness.json",
} as const;

/** What the log says of a file that cannot be read. */
const NOT_READ = {
  runResults: "run results not read",
  sources: "source freshness not read",
  freshness: "model freshness not read",
} as const;

/** dbt's results of builds, tests and checks of freshness; null where the environment names none. */
export async function runResultsOf(environment: Environment): Promise<RunResults | null> {
  const kinds = Object.keys(STORE_FILES) as (keyof typeof STORE_FILES)[];
  const opened = await Promise.all(kinds.map((kind) => resultsOf(kind, environment)));
  const files = opened.filter((file) => file !== null);
  if (files.length === 0) return null;
  return {
    follow: (onBuilds) => {
      const polled = files.map((file) => file.follow(onBuilds));
      const all = async (act: (each: Polling) => Promise<void>): Promise<void> => {
        await Promise.all(polled.map(act));
      };
      return { now: () => all(({ now }) => now()), stop: () => all(({ stop }) => stop()) };
    },
  };
}

async function resultsOf(
  kind: keyof typeof STORE_FILES,
  environment: Environment,
): Promise<RunResults | null> {
  const { artifacts, refreshIntervalSeconds: intervalSeconds, logLevel } = environment;
  const source = environment[kind];
  if (source === null) return null;
  const log = createLogger(logLevel);
  const onProblem = (detail: string): void => log.warn({ detail }, NOT_READ[kind]);
  const onSaveFailed = (detail: string): void => log.warn({ detail }, "builds not stored for the next start");
  return openRunResults({
    file: RESULTS_FILES[kind],
    source,
    isOptional: isOfArtifacts(source, artifacts, kind),
    access: accessOf(environment),
    intervalSeconds,
    onProblem,
    storeFile: join(DATA_DIR, STORE_FILES[kind]),
    onSaveFailed,
  });
}
