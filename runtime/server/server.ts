import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Changelog, CHANGELOG_FILE, NO_CHANGELOG, parseChangelog } from "../core/model/changelog.js";
import type { RunInSession } from "../postgres/single-session.js";
import type { EmbeddedPostgres } from "../postgres/embedded/embedded-postgres.js";
import { type DataService, startDataService } from "./data-service.js";
import {
  BuildRecords,
  type FreshnessCheck,
  type NodeBuild,
  type TestRun,
} from "../core/warehouse/data-versions.js";
import type { MetricsSnapshot } from "../core/http/prometheus.js";
import type { Assignment, PrimaryFunctions } from "./operations/workers/messages.js";
import { keepsManifest, loadRelease, type Release, readGeneratedRelease } from "./release/release.js";
import { CoalescingRunner } from "../core/model/coalescing-runner.js";
import type { ActiveRelease, LoadedRelease } from "../core/handler/loaded-release.js";
import { folderDigest } from "./release/generated-folder.js";
import { noManifest, type RefreshResult } from "./release/activate.js";
import {
  FOLDER_CHANGED,
  localTarget,
  type ManifestRenderer,
  NOT_REFRESHED,
  NOT_RELOADED,
  Refresher,
  RefreshLog,
  reloadMessage,
} from "./release/refresh.js";
import type { Endpoint } from "../core/model/endpoint.js";
import { dataSettings, type Environment } from "./operations/environment.js";
import { readVariables, type Variables } from "../core/environment/variables.js";
import { type Logger, createLogger } from "../core/http/logger.js";
import type { HttpService } from "../core/http/listen.js";
export { openWarehouse } from "../core/handler/open-gateway.js";
export type { Warehouse } from "../core/warehouse/warehouse.js";
export { DatabaseUnreachable, QueryTimeout, reachedTimeLimit } from "../core/warehouse/query-errors.js";
export { readEnvironment, type Environment } from "./operations/environment.js";
export { loadMetrics } from "../core/warehouse/load-metrics.js";
export { loadedFilter, loadFilter } from "../core/request/resolve-query.js";
export { Projection } from "../core/model/projection.js";
export { hashOf, Keyring } from "../core/request/keyring.js";
export { createLogger, flushLog } from "../core/http/logger.js";
export type { RunningServer } from "../core/http/listen.js";
export {
  type FreshnessCheck,
  type NodeBuild,
  BuildRecords,
  type TestRun,
} from "../core/warehouse/data-versions.js";
export type { RenderResult, ManifestRenderer } from "./release/refresh.js";
export type { HeldBackEndpoint } from "../core/handler/loaded-release.js";
export {
  type Grouping,
  readRouteUsage,
  readUsage,
  type RecordedUsage,
  type RouteUsage,
  type ShapeUsage,
  type UsageLine,
  type UsageQuery,
} from "./operations/usage-report.js";
import { messageOf } from "../core/model/outcome.js";
export { openPrimary, type Primary } from "./operations/workers/messages.js";
export { ConnectionShare } from "./operations/workers/connection-share.js";
export { WorkerCluster } from "./operations/workers/worker-cluster.js";
export type { EmbeddedPostgres } from "../postgres/embedded/embedded-postgres.js";

/** Reads the variables of both services. Reports every invalid one, not only the first. */
export function readEnvironments<Ramp>(
  source: Readonly<Record<string, string | undefined>>,
  rampSettings: (variables: Variables) => Ramp,
) {
  return readVariables(source, (variables) => ({
    data: dataSettings(variables),
    ramp: rampSettings(variables),
  }));
}

/** As `startEmbeddedPostgres` of postgres/embedded/embedded-postgres.ts, which is loaded when it is called. */
export async function startEmbeddedPostgres(options: { dataDir: string }): Promise<EmbeddedPostgres> {
  const embedded = await import("../postgres/embedded/embedded-postgres.js");
  return embedded.startEmbeddedPostgres(options);
}

/** As `withServingSession` of postgres/single-session.ts, which is loaded when it is called. */
export async function withServingSession<Value>(
  url: string,
  timeoutMs: number,
  work: (run: RunInSession, lookUp: RunInSession) => Promise<Value>,
): Promise<Value> {
  const session = await import("../postgres/single-session.js");
  return session.withServingSession(url, timeoutMs, work);
}

interface ServiceOptions {
  readonly environment: Environment;
  /** The generated folder. */
  readonly generated: string;
  /** Where the embedded database is kept. */
  readonly dataDir: string;
  /** Whether modules may differ from what was generated. Default false. */
  readonly allowEdited?: boolean;
  /** Renders the manifest for a refresh; null where no manifest is configured. Closed with the service. */
  readonly renderer?: ManifestRenderer | null;
  /** Told how many of the steps of the start are done: the database, the folder, the listener. */
  readonly progress?: (done: number, total: number) => void;
  /**
   * Called with the public endpoints of which shared caches may have older rows: after a build, and after another release is
   * active, with those of the one before too. Each process says it of what it has served.
   */
  readonly onRowsChanged?: (endpoints: readonly Endpoint[]) => void;
  /** In a worker process: what it starts with, and what it asks of the primary. */
  readonly cluster?: Pick<Assignment, "release" | "builds" | "tests" | "checks"> &
    Pick<PrimaryFunctions, "share" | "refresh" | "metricsText">;
}

/** A running service. */
export interface RunningService extends HttpService {
  /** URL of the database, also of the embedded one. */
  readonly databaseUrl: string;
  /** Re-reads the manifest, activates what changed and logs the result. */
  refresh(): Promise<RefreshResult>;
  /**
   * Reads the key file and the generated folder again. A release that a manifest refresh activated stays, with the folder's plans. Never
   * rejects: what is invalid is logged and changes nothing.
   */
  reload(): Promise<void>;
  /** Records what dbt has built: responses of the endpoints made from it get a new version. */
  recordBuilds(
    builds: readonly NodeBuild[],
    tests?: readonly TestRun[],
    checks?: readonly FreshnessCheck[],
  ): void;
  /** Activates a release. Rejects when it does not load; the old one stays active. */
  activate(release: Release): Promise<RefreshResult>;
  metrics(): Promise<MetricsSnapshot>;
  /** For the log. */
  readonly facts: object;
}

/** Starts the service. Rejects with a clear message if it cannot start, after stopping what it had started. */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const log = createLogger(options.environment.logLevel);
  options.progress?.(0, START_STEPS);
  const database = await openDatabase(options);
  options.progress?.(1, START_STEPS);
  try {
    const service = await startDataApi(options, database.url, log);
    if (!options.cluster) log.info(service.facts, "listening");
    const stop = (): Promise<void> => service.stop().then(() => database.stop());
    return { ...service, databaseUrl: database.url, stop };
  } catch (error) {
    await database.stop();
    throw error;
  }
}

const START_STEPS = 3;

/** The changelog of a generated folder, which need not have one. */
function readChangelog(folder: string, log: Logger): Changelog {
  const file = join(folder, CHANGELOG_FILE);
  if (!existsSync(file)) return NO_CHANGELOG;
  const changelog = parseChangelog(readFileSync(file, "utf8"));
  if (changelog === null) log.warn({ file }, "the changelog is damaged: none is served");
  return changelog ?? NO_CHANGELOG;
}

async function openDatabase({ environment, dataDir }: ServiceOptions): Promise<EmbeddedPostgres> {
  const url = environment.clickhouseUrl ?? environment.databaseUrl;
  return url === null ? startEmbeddedPostgres({ dataDir }) : { url, stop: () => Promise.resolve() };
}

async function startDataApi(
  { environment, generated, allowEdited, renderer = null, progress, cluster, onRowsChanged }: ServiceOptions,
  databaseUrl: string,
  log: Logger,
): Promise<Omit<RunningService, "databaseUrl">> {
  const { apiTitle } = environment;
  const readFolder = () => readGeneratedRelease({ generated, apiTitle, allowEdited });
  const folder = await readFolder();
  const active = { current: loadRelease(folder.release, null) };
  let changelog = readChangelog(generated, log);
  progress?.(2, START_STEPS);
  if (cluster?.release && keepsManifest(cluster.release.manifest, folder))
    active.current = loadRelease({ ...cluster.release, plans: folder.release.plans }, active.current);
  const refreshLog = new RefreshLog(log);
  const activateHere = async (next: Release): Promise<RefreshResult> => {
    const before = active.current;
    const result = await service.activate(next);
    onRowsChanged?.(publicEndpoints(before, active.current));
    return result;
  };
  const activateInAll = async (next: Release): Promise<RefreshResult> => {
    if (next.manifest?.folder !== folderDigest(generated)) throw new Error(FOLDER_CHANGED);
    const result = await activateHere(next);
    await cluster?.share(next);
    return result;
  };
  const refresh = createRefresh(active, renderer, refreshLog, activateInAll);
  const builds = new BuildRecords();
  builds.record(cluster?.builds ?? [], cluster?.tests ?? [], cluster?.checks ?? []);
  const service: DataService = await startDataService({
    environment,
    databaseUrl,
    title: folder.title,
    about: folder.about,
    active,
    changelog: () => changelog,
    refresh: cluster?.refresh ?? refresh,
    refreshes: refreshLog,
    log,
    builds,
    ...(cluster && { metricsText: cluster.metricsText }),
  });
  const stop = async (): Promise<void> => {
    await service.stop();
    await renderer?.close();
  };
  const reloadFolder = async (): Promise<void> => {
    const fresh = await readFolder();
    const { manifest } = active.current;
    const isKept = keepsManifest(manifest, fresh);
    if (isKept) service.setPlans(fresh.release.plans);
    else await activateHere(fresh.release);
    changelog = readChangelog(generated, log);
    const isStale = manifest !== null && manifest.folder !== fresh.folder;
    const refreshed = isStale ? await refresh() : null;
    if (refreshed?.status === "error") log.error({ detail: refreshed.detail }, NOT_REFRESHED);
    else log.info(reloadMessage(isKept ? manifest : null));
  };
  const reloads = new CoalescingRunner(async () => {
    service.readKeys();
    await reloadFolder().catch((error: unknown) => log.error({ detail: messageOf(error) }, NOT_RELOADED));
  });
  return {
    url: service.url,
    connections: service.connections,
    facts: { url: service.url, endpoints: folder.release.modules.length, keys: environment.keys.size },
    stop,
    refresh,
    reload: () => reloads.run(),
    activate: activateHere,
    metrics: () => service.metrics.snapshot(),
    recordBuilds: (...results) => {
      builds.record(...results);
      onRowsChanged?.(publicEndpoints(active.current));
    },
  };
}

/** The endpoints of these releases whose rows shared caches may keep. */
function publicEndpoints(...releases: readonly LoadedRelease[]): readonly Endpoint[] {
  const specs = releases.flatMap(({ endpoints }) => [...endpoints.values()].map(({ spec }) => spec));
  return specs.filter(({ publicAge }) => publicAge !== undefined);
}

function createRefresh(
  active: ActiveRelease,
  renderer: ManifestRenderer | null,
  refreshLog: RefreshLog,
  activate: (release: Release) => Promise<RefreshResult>,
): () => Promise<RefreshResult> {
  const target = localTarget(active, activate);
  if (renderer === null) return () => Promise.resolve(noManifest(target.status));
  const refresher = new Refresher(target, renderer);
  return async () => refreshLog.record(await refresher.refresh());
}
