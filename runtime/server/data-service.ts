import { qualityOf } from "../core/warehouse/data-quality.js";
import { BuildRecords } from "../core/warehouse/data-versions.js";
import type { ResultColumns } from "../core/warehouse/warehouse.js";
import type { Endpoint, Relation } from "../core/model/endpoint.js";
import type { ApiAbout } from "../core/model/about.js";
import { type Changelog, NO_CHANGELOG } from "../core/model/changelog.js";
import type { Plans } from "../core/model/organization-plan.js";
import { relationsOf } from "../core/model/missing-columns.js";
import { CopyWatcher } from "./release/copy-watcher.js";
import {
  missingColumnsByPath,
  missingRelations,
  warnOfMissingColumns,
} from "./release/missing-in-database.js";
import type { Release } from "./release/release.js";
import { rollUpVersions } from "./release/roll-up-version.js";
import type { ActiveRelease, LoadedRelease } from "../core/handler/loaded-release.js";
import { METRICS_CONTENT_TYPE } from "../core/http/service-metrics.js";
import { recent } from "../core/model/timer.js";
import { DueTimes } from "./operations/due-times.js";
import { EndpointDays } from "./operations/endpoint-days.js";
import { FailingEndpoints } from "./operations/failing-endpoints.js";
import { LastLoads } from "./operations/last-loads.js";
import { Metrics, type ServedRelease } from "./operations/metrics.js";
import { PerBuild } from "./operations/per-build.js";
import { earlyErrors } from "../core/handler/early-errors.js";
import { ExampleRows, FIGURE } from "../core/handler/example-rows.js";
import { createGateway, type Gateway, type GatewayParts, warnOfCursorKey } from "../core/handler/gateway.js";
import { loadParts } from "../core/handler/open-gateway.js";
import { activate, type RefreshResult } from "./release/activate.js";
import type { RefreshLog } from "./release/refresh.js";
import { Documents } from "../pages/documents.js";
import type { RequestRecord } from "../core/handler/request-record.js";
import { logRequest } from "./operations/request-log.js";
import type { Environment } from "./operations/environment.js";
import type { Accounts } from "./accounts/accounts.js";
import { openAccounts, openPush } from "./open-accounts.js";
import { KeyFileWatcher } from "./operations/key-file-watcher.js";
import { adapterProblem, clickhouseAddress } from "../core/model/clickhouse-address.js";
import type { Logger } from "../core/http/logger.js";
import { type HttpService, listen } from "../core/http/listen.js";
import { Usage } from "./operations/usage.js";
import type { EventService, loadEvents } from "./events/event-service.js";
import { dataApiListener } from "./data-listener.js";
import type { Service } from "./system/context.js";

interface DataServiceOptions {
  readonly environment: Environment;
  readonly databaseUrl: string;
  /** Of the API. */
  readonly title: string;
  readonly about: ApiAbout;
  readonly active: ActiveRelease;
  /** What changed for consumers; nothing by default. */
  readonly changelog?: () => Changelog;
  /** Reads the manifest again. */
  readonly refresh: () => Promise<RefreshResult>;
  /** Results of refreshes, for the metrics and `/health`. */
  readonly refreshes: Pick<RefreshLog, "counts" | "degraded">;
  readonly log: Logger;
  /** What dbt has built so far. */
  readonly builds?: BuildRecords;
  /** Text of `/metrics`; by default, of this process only. */
  readonly metricsText?: () => Promise<string>;
}

/** The data API of one process. */
export interface DataService extends HttpService {
  readonly builds: BuildRecords;
  readonly metrics: Metrics;
  /** Activates a release. Rejects when it does not load; the old one stays active. */
  activate(release: Release): Promise<RefreshResult>;
  /** Gives the active release other plans. */
  setPlans(plans: Plans): void;
  /** Reads the key file if it has changed, and what has changed in the database of the keys; both are also checked every 2 s. */
  readonly readKeys: () => void;
}

/** Serves the data API. When it cannot, it closes everything and rejects with a message that says why. */
export async function startDataService(options: DataServiceOptions): Promise<DataService> {
  const { environment, databaseUrl, active, log } = options;
  const { builds = new BuildRecords() } = options;
  requireAdapter(active.current, databaseUrl);
  // All that a stop needs is loaded now: a stop loads nothing.
  const { loadEvents } = await import("./events/event-service.js");
  const openEvents = await loadEvents(environment);
  const loaded = await loadParts({ ...environment, databaseUrl, log });
  const usage = await openUsage(environment, databaseUrl, log);
  const accounts = await openAccounts(options, usage).catch((error: unknown) => {
    loaded.rates.close();
    throw error;
  });
  const storedKeys = accounts?.storedKeys;
  const parts = openParts({ ...options, builds }, loaded, { usage, accounts, openEvents });
  const { gateway, metrics } = parts;
  const listener = dataApiListener({ ...parts, ...options }, serviceOf({ ...options, builds }, parts));
  const server = await listen(listener, environment.host, environment.port, {
    earlyErrors: earlyErrors(gateway),
  }).catch(async (error: unknown) => {
    await parts.close();
    throw error;
  });
  // `/health` and the metrics know of missing relations from the start, not once they are called.
  void gateway.warehouse.checkRelations(
    [...active.current.endpoints.values()].flatMap(({ spec }) => relationsOf(spec)),
  );
  warnOfCursorKey(environment, active.current, log);
  const push = await openPush(environment, log);
  const { keys, keysFile } = environment;
  const watcher = keysFile === null ? null : new KeyFileWatcher(keys, keysFile, log);
  const stop = async (): Promise<void> => {
    watcher?.close();
    parts.events.end();
    await server.stop();
    await push?.close();
    await parts.close();
  };
  return {
    url: server.url,
    connections: server.connections,
    stop,
    builds,
    metrics,
    readKeys: () => [watcher, storedKeys].forEach((source) => void source?.check()),
    activate: async (next) => {
      requireAdapter(next, databaseUrl);
      const result = activate(active, next, gateway.warehouse);
      parts.copies.releaseChanged();
      storedKeys?.setPlans(active.current.plans);
      return await result;
    },
    setPlans: (plans) => {
      active.current = { ...active.current, plans };
      storedKeys?.setPlans(plans);
    },
  };
}

/** What serves requests, in the order in which it is opened. */
interface ServiceParts {
  readonly usage: Usage | null;
  /** Null without KEYS_DATABASE_URL. */
  readonly accounts: Accounts | null;
  readonly gateway: Gateway;
  readonly metrics: Metrics;
  readonly failing: FailingEndpoints;
  readonly dueTimes: DueTimes;
  readonly documents: Documents;
  readonly copies: CopyWatcher;
  readonly events: EventService;
  close(): Promise<void>;
}

/** What is loaded before the others are made. */
interface LoadedParts extends Pick<ServiceParts, "usage" | "accounts"> {
  readonly openEvents: Awaited<ReturnType<typeof loadEvents>>;
}

function openParts(
  options: DataServiceOptions & { readonly builds: BuildRecords },
  loaded: GatewayParts,
  { usage, accounts, openEvents }: LoadedParts,
): ServiceParts {
  const { environment, databaseUrl, title, about, active, builds, log } = options;
  const failing = new FailingEndpoints();
  const dueTimes = new DueTimes(active, builds);
  const qualities = new PerBuild(active, builds, (path, { tests, upstreamNodes }) =>
    qualityOf(builds, path, tests.get(path) ?? [], upstreamNodes.get(path) ?? []),
  );
  const gatewayOptions = {
    ...environment,
    databaseUrl,
    dueOf: (endpoint: Endpoint) => dueTimes.of(endpoint),
    qualityOf: (endpoint: Endpoint) => qualities.at(endpoint.path),
    tierOf: (path: string) => active.current.served.get(path)?.served.spec.tier ?? null,
    versionOf: (path: string) => builds.versionAt(path, active.current.upstreamNodes),
    log,
    onColumns: (relation: Relation, columns: ResultColumns) =>
      warnOfMissingColumns(active.current, relation, columns, log),
    ...rollUpVersions(environment, builds, active),
    recordRequest: (record: RequestRecord): void => {
      failing.record(record);
      usage?.counter.count(record);
      logRequest(log, record);
      metrics.record(record);
    },
  };
  const gateway = createGateway(gatewayOptions, loaded);
  const metrics = new Metrics(
    () => servedRelease(active.current, { gateway, failing, dueTimes, accounts }, builds),
    options.refreshes.counts,
  );
  const visible = {
    lineageTier: environment.lineageTier,
    scope: environment.catalogue,
    acceptsTokens: environment.tokens !== null,
    ...(accounts && { paths: accounts.paths }),
  };
  const daysUrl = usage === null ? null : usageUrl(environment, databaseUrl);
  const days =
    daysUrl === null ? null : new EndpointDays({ ...gatewayOptions, active, databaseUrl: daysUrl });
  const documents = new Documents(
    {
      title,
      about,
      base: gateway.publicAddressOf.base,
      changelog: options.changelog ?? (() => NO_CHANGELOG),
      history: days === null ? undefined : () => days.history(),
    },
    active,
    builds,
    visible,
    {
      rows: new ExampleRows(gateway, active),
      figuresOf: (paths) => new ExampleRows(gateway, active, FIGURE, paths),
    },
  );
  const { warehouse } = gateway;
  const copies = new CopyWatcher({ active, warehouse, builds });
  const lastLoads = new LastLoads({ active, warehouse, builds, log });
  const events = openEvents({
    ...environment,
    ...{ title, active, builds, log },
    databaseUrl: environment.keysDatabaseUrl ?? (usage === null ? null : usageUrl(environment, databaseUrl)),
    dueOf: gateway.dueOf,
    qualityOf: gateway.qualityOf,
  });
  const close = async (): Promise<void> => {
    copies.close();
    await lastLoads.close();
    await days?.close();
    await events.close();
    await usage?.close();
    await accounts?.close();
    await gateway.close();
  };
  return { usage, accounts, gateway, metrics, failing, dueTimes, documents, copies, events, close };
}

type ObservedParts = Pick<ServiceParts, "gateway" | "failing" | "dueTimes" | "accounts">;

/** The release, with what the metrics know of it. */
function servedRelease(
  release: LoadedRelease,
  { gateway, failing, dueTimes, accounts }: ObservedParts,
  builds: BuildRecords,
): ServedRelease {
  const { warehouse, rates } = gateway;
  return {
    ...release,
    missingRelations: missingRelations(release, warehouse),
    load: warehouse.load,
    degraded: {
      rate_limits: rates.degraded !== null,
      database: warehouse.degraded !== null,
      ...(accounts && { keys: accounts.storedKeys.degraded !== null }),
    },
    failingEndpoints: failing.among(release.endpoints),
    staleCopies: builds.staleCopies,
    lateEndpoints: dueTimes.late(),
    dataAges: dataAgesOf(release, builds),
  };
}

/** What the system endpoints report. */
function serviceOf(
  options: DataServiceOptions & { readonly builds: BuildRecords },
  { gateway, metrics, failing, dueTimes, documents, usage, accounts, events }: ServiceParts,
): Service {
  const { environment, title, active, builds, refreshes, refresh } = options;
  const { warehouse } = gateway;
  const text = options.metricsText ?? (() => metrics.scrape());
  return {
    title,
    documents,
    endpointAt: (path) => active.current.served.get(path)?.served ?? null,
    isPrivate: (path, column) => active.current.isPrivate(path, column),
    missingRelations: () => missingRelations(active.current, warehouse),
    reasonMissing: (name) => warehouse.reasonMissing(name),
    missingColumns: () => missingColumnsByPath(active.current, warehouse),
    degraded: () => [refreshes.degraded, accounts?.storedKeys.degraded ?? null],
    heldBack: () => active.current.manifest?.heldBack ?? [],
    failingEndpoints: () => failing.among(active.current.endpoints),
    staleCopies: () => builds.staleCopies,
    lateEndpoints: () => dueTimes.late(),
    lateNodes: () => dueTimes.lateNodes(),
    metrics: { contentType: METRICS_CONTENT_TYPE, text, recentText: recent(text) },
    metricsPublic: environment.metricsPublic,
    origins: environment,
    events,
    usageOf: (keyId) => usage?.daysOf(keyId) ?? Promise.resolve(null),
    refresh,
  };
}

/** Another database would answer with errors, or with rows of the same names that mean something else. */
function requireAdapter({ adapter }: Pick<Release, "adapter">, databaseUrl: string): void {
  const problem = adapterProblem(adapter, clickhouseAddress(databaseUrl) !== null);
  if (problem !== null) throw new Error(problem);
}

/** By category: seconds since the oldest data of its endpoints was built. */
function dataAgesOf(
  { endpoints, upstreamNodes }: LoadedRelease,
  builds: BuildRecords,
): ReadonlyMap<string, number> {
  const ages = new Map<string, number>();
  if (builds.changes === 0) return ages;
  for (const path of endpoints.keys()) {
    const asOf = builds.dataAsOf(path, upstreamNodes.get(path) ?? []);
    if (asOf === null) continue;
    const [, , category = ""] = path.split("/");
    const seconds = (Date.now() - Date.parse(asOf)) / 1000;
    ages.set(category, Math.max(seconds, ages.get(category) ?? 0));
  }
  return ages;
}

/** Usage is stored in PostgreSQL. */
async function openUsage(environment: Environment, url: string, log: Logger): Promise<Usage | null> {
  const databaseUrl = usageUrl(environment, url);
  if (environment.usageEnabled && databaseUrl !== null) return Usage.open({ databaseUrl, log });
  if (environment.usageEnabled)
    log.info(
      "usage is not recorded: it is stored in PostgreSQL. Set DATABASE_URL to one, and CLICKHOUSE_URL to ClickHouse",
    );
  return null;
}

/** Null: there is no PostgreSQL. */
function usageUrl({ clickhouseUrl, databaseUrl }: Environment, url: string): string | null {
  return clickhouseUrl === null ? url : databaseUrl;
}
