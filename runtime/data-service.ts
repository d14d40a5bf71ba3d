import { BuildRecords } from "./warehouse/data-versions.js";
import type { ResultColumns, Warehouse } from "./warehouse/warehouse.js";
import { type Changelog, NO_CHANGELOG } from "./model/changelog.js";
import { missingColumnsOf, missingText, relationsOf } from "./model/column-names.js";
import type { Endpoint, Relation } from "./model/endpoint.js";
import type { ActiveRelease, LoadedRelease, Release } from "./release/release.js";
import { Metrics, type ServedRelease } from "./operations/metrics.js";
import { ExampleRows } from "./handler/example-rows.js";
import { openGateway, type Gateway, warnOfCursorKey } from "./handler/gateway.js";
import { activate, type RefreshResult } from "./release/activate.js";
import type { RefreshLog } from "./release/refresh.js";
import { Documents } from "./pages/documents.js";
import type { RequestRecord } from "./operations/request-record.js";
import { findAt } from "./response/content-negotiation.js";
import { pathOf, RouteTable } from "./http/route.js";
import type { Environment } from "./operations/environment.js";
import { KeyFileWatcher } from "./operations/key-file-watcher.js";
import { adapterProblem, clickhouseAddress } from "./model/clickhouse-address.js";
import type { Logger } from "./http/logger.js";
import { listen, type RunningServer, type EarlyErrorHeaders } from "./http/listen.js";
import { Usage } from "./operations/usage.js";
import type { RequestListener } from "node:http";
import { documentRoutes } from "./pages/pages.js";
import { callerHeaders, peek } from "./request/authorize.js";
import { routesOf, systemRoutes } from "./system/routes.js";
import type { Service } from "./system/context.js";
import type { McpSettings } from "./mcp/access.js";
import { mcpRoutes } from "./mcp/mcp-endpoint.js";
import { type DataPath, serveExchange } from "./handler/exchange.js";
import { COMMON_HEADERS } from "./http/headers.js";

interface DataServiceOptions {
  readonly environment: Environment;
  readonly databaseUrl: string;
  /** Of the API. */
  readonly title: string;
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
export interface DataService extends RunningServer {
  readonly builds: BuildRecords;
  readonly metrics: Metrics;
  /** Activates a release. Rejects when it does not load; the old one stays active. */
  activate(release: Release): Promise<RefreshResult>;
  /** Reads the key file if it has changed; this is also checked every 2 s. */
  readonly readKeys: () => void;
}

/** Serves the data API. When it cannot, it closes everything and rejects with a message that says why. */
export async function startDataService(options: DataServiceOptions): Promise<DataService> {
  const { environment, databaseUrl, title, active, refresh, log } = options;
  const { builds = new BuildRecords() } = options;
  requireAdapter(active.current, databaseUrl);
  const usage = openUsage(environment, databaseUrl, log);
  const served = (): ServedRelease => ({
    ...active.current,
    missingRelations: missingRelations(),
    load: gateway.warehouse.load,
    degraded: {
      rate_limits: gateway.rates.degraded !== null,
      database: gateway.warehouse.degraded !== null,
    },
    dataAges: dataAgesOf(active.current, builds),
  });
  const metrics = new Metrics(served, options.refreshes.counts);
  const gateway = openGateway({
    ...environment,
    databaseUrl,
    versionOf: (path) => builds.versionAt(path, active.current.upstreamNodes),
    log,
    onColumns: (relation, columns) => logMissingColumns(active.current, relation, columns, log),
    recordRequest(record) {
      metrics.record(record);
      usage?.counter.count(record);
      if (log.isLevelEnabled("info")) log.info(requestFields(record), "request");
    },
  });
  const missingRelations = (): readonly string[] => missingOf(active.current, gateway.warehouse);
  const { contentType } = metrics.registry;
  const visible = {
    lineageTier: environment.lineageTier,
    scope: environment.catalogue,
    acceptsTokens: environment.tokens !== null,
  };
  const documents = new Documents(title, active, builds, visible, new ExampleRows(gateway, active));
  const service = {
    title,
    documents,
    changelog: options.changelog ?? (() => NO_CHANGELOG),
    catalogueScope: environment.catalogue,
    tierOf: (path: string) => active.current.served.get(path)?.spec.tier ?? null,
    endpointAt: (path: string) => active.current.served.get(path)?.served ?? null,
    isPrivate: (path: string, column: string) => active.current.isPrivate(path, column),
    missingRelations,
    reasonMissing: (name: string) => gateway.warehouse.reasonMissing(name),
    missingColumns: () => lackedColumns(active.current, gateway.warehouse),
    refreshDegraded: () => options.refreshes.degraded,
    heldBack: () => active.current.manifest?.heldBack ?? [],
    metrics: { contentType, text: options.metricsText ?? (() => metrics.registry.metrics()) },
    metricsPublic: environment.metricsPublic,
    usageOf: (keyId: string) => usage?.daysOf(keyId) ?? Promise.resolve(null),
    refresh,
  };
  const listener = dataApiListener({ gateway, service, active, documents, mcp: environment });
  const server = await listen(listener, environment.host, environment.port, {
    earlyErrorHeaders: earlyErrorHeaders(gateway),
  }).catch(async (error: unknown) => {
    await usage?.close();
    await gateway.close();
    throw error;
  });
  // `/health` and the metrics know of missing relations from the start, not once they are called.
  void gateway.warehouse.checkRelations(
    [...active.current.endpoints.values()].flatMap(({ spec }) => relationsOf(spec)),
  );
  warnOfCursorKey(environment, active.current, log);
  const { keys, keysFile } = environment;
  const watcher = keysFile === null ? null : new KeyFileWatcher(keys, keysFile, log);
  const stop = async (): Promise<void> => {
    watcher?.close();
    await server.stop();
    await usage?.close();
    await gateway.close();
  };
  return {
    url: server.url,
    stop,
    builds,
    metrics,
    readKeys: () => watcher?.check(),
    activate: async (next) => {
      requireAdapter(next, databaseUrl);
      return activate(active, next, gateway.warehouse);
    },
  };
}

/** Another database would answer with errors, or with rows of the same names that mean something else. */
function requireAdapter({ adapter }: Pick<Release, "adapter">, databaseUrl: string): void {
  const problem = adapterProblem(adapter, clickhouseAddress(databaseUrl) !== null);
  if (problem !== null) throw new Error(problem);
}

/** The missing relations of a release: the warehouse still knows those of endpoints that a refresh has removed. */
function missingOf({ endpoints }: LoadedRelease, { missingRelations }: Warehouse): readonly string[] {
  if (missingRelations.length === 0) return [];
  const relations = [...endpoints.values()].flatMap(({ spec }) => relationsOf(spec));
  const served = new Set(relations.map((relation) => relation.join(".")));
  return missingRelations.filter((name) => served.has(name));
}

/** The columns that a release's relations lack, as far as they have been looked up, as `path: column`. */
function lackedColumns({ endpoints }: LoadedRelease, warehouse: Warehouse): readonly string[] {
  const missing = [...endpoints.values()].flatMap(({ spec }) =>
    relationsOf(spec).flatMap((relation) => {
      const columns = warehouse.knownColumns(relation);
      return columns === null
        ? []
        : missingTexts(spec, relation, columns).map((text) => `${spec.path}: ${text}`);
    }),
  );
  return [...new Set(missing)].sort();
}

function missingTexts(endpoint: Endpoint, relation: Relation, columns: ResultColumns): readonly string[] {
  return missingColumnsOf(endpoint, relation, columns).map(missingText);
}

function logMissingColumns(
  { endpoints }: LoadedRelease,
  relation: Relation,
  columns: ResultColumns,
  log: Logger,
): void {
  const name = relation.join(".");
  for (const { spec } of endpoints.values()) {
    if (!relationsOf(spec).some((each) => each.join(".") === name)) continue;
    const missing = missingTexts(spec, relation, columns);
    if (missing.length > 0) log.warn({ endpoint: spec.path, columns: missing }, LACKS_COLUMNS);
  }
}

const LACKS_COLUMNS =
  "the relation lacks columns of the endpoint: rows come without them, and requests that filter or sort by them fail";

/** By category: seconds since the oldest data of its endpoints was built. */
function dataAgesOf(
  { endpoints, upstreamNodes }: LoadedRelease,
  builds: BuildRecords,
): ReadonlyMap<string, number> {
  const ages = new Map<string, number>();
  if (builds.changes === 0) return ages;
  for (const path of endpoints.keys()) {
    const asOf = builds.dataAsOf(upstreamNodes.get(path) ?? []);
    if (asOf === null) continue;
    const [, , category = ""] = path.split("/");
    const seconds = (Date.now() - Date.parse(asOf)) / 1000;
    ages.set(category, Math.max(seconds, ages.get(category) ?? 0));
  }
  return ages;
}

/** Usage is stored in PostgreSQL. */
function openUsage(
  { usageEnabled, clickhouseUrl, ...named }: Environment,
  url: string,
  log: Logger,
): Usage | null {
  const databaseUrl = clickhouseUrl === null ? url : named.databaseUrl;
  if (usageEnabled && databaseUrl !== null) return new Usage({ databaseUrl, log });
  if (usageEnabled)
    log.info(
      "usage is not recorded: it is stored in PostgreSQL. Set DATABASE_URL to one, and CLICKHOUSE_URL to ClickHouse",
    );
  return null;
}

/**
 * The fields of a request's log line. Keys appear by id, callers without one by their network address; a refusal has the
 * error's code and the parameter's name, never its value; the trace fields have OpenTelemetry's names.
 */
export function requestFields(record: RequestRecord): object {
  const { requestId, method, route, status, rows, bytes, caller, trace, error, path } = record;
  const { milliseconds, databaseMs } = record;
  return {
    requestId,
    method,
    route,
    ...(path !== null && { path }),
    status,
    ...(error !== null && { error: error.code, parameter: error.parameter ?? undefined }),
    milliseconds: toMicroseconds(milliseconds),
    rows,
    bytes,
    databaseMs: databaseMs === null ? null : toMicroseconds(databaseMs),
    key: caller.key?.id ?? null,
    caller: caller.id,
    tier: caller.tier,
    ...(trace !== null && {
      trace_id: trace.traceId,
      span_id: trace.spanId,
      parent_id: trace.parentId || undefined,
    }),
  };
}

/** Rounds to microseconds: further digits of the clock are noise. */
function toMicroseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}

interface DataApi {
  readonly gateway: Gateway;
  readonly service: Service;
  readonly active: ActiveRelease;
  readonly documents: Documents;
  readonly mcp: McpSettings;
}

/** The data API as a listener. An endpoint runs the handler that its generated module exports. */
function dataApiListener({ gateway, service, active, documents, mcp }: DataApi): RequestListener {
  const { title, isPrivate } = service;
  const endpoints = () => active.current.endpoints;
  const routes = new RouteTable([
    ...routesOf(service, systemRoutes(documentRoutes(title, true))),
    ...mcpRoutes({ settings: mcp, documents, title, endpoints, isPrivate }),
  ]);
  const locals = { gateway };
  return (request, response) => {
    const path = pathOf(request.url ?? "/");
    const endpoint = findAt(active.current.served, path);
    if (endpoint === null) {
      const item = routes.find(path)?.item ?? UNKNOWN_PATH;
      return void serveExchange(gateway, item, request, response);
    }
    const handler = (request.method === "POST" ? endpoint.post : endpoint.get) as unknown as RequestListener;
    (response as { locals?: object }).locals = locals;
    return handler(request, response);
  };
}

const UNKNOWN_PATH: DataPath = { path: "", allowed: null, routes: [], endpoint: null };

/** Headers of an error on a connection without a parsed request: only the client's address is known. */
function earlyErrorHeaders(gateway: Gateway): EarlyErrorHeaders {
  return async (socket) => {
    const context = await peek(gateway, { socket, headers: {} }, () => !socket.destroyed);
    return [...callerHeaders(context), ...COMMON_HEADERS];
  };
}
