import { randomBytes } from "node:crypto";
import type { AccessControl } from "../request/authorize.js";
import type { TokenIssuer, TokenSettings } from "../request/bearer-tokens.js";
import { Cursors } from "../response/cursors.js";
import { Keyring } from "../request/keyring.js";
import type { Endpoint } from "../model/endpoint.js";
import { SERVER_DEFAULTS } from "../model/limits.js";
import type { ResolvedQuery } from "../model/query.js";
import { type PerTier, RATE_LIMITS, type Tier } from "../model/tier.js";
import { ResponseMemory } from "../response/buffered-result.js";
import { ResultCache } from "../response/result-cache.js";
import { ResultService } from "../response/result-service.js";
import { valuesCache, type ValuesCache } from "../response/values-cache.js";
import { WholeResults } from "../response/whole-results.js";
import type { RequestRecord } from "./request-record.js";
import type { Warehouse } from "../warehouse/warehouse.js";
import type { DataQuality } from "../warehouse/data-quality.js";
import type { Due } from "../warehouse/freshness-checks.js";
import type { DataVersion } from "../warehouse/data-versions.js";
import { type ClientAddress, socketAddress } from "../http/headers.js";
import { type PublicAddressOf, publicAddressReader } from "../http/public-address.js";
import type { Logger } from "../http/logger.js";
import type { RateLimitStore } from "../request/rate-limit/memory-store.js";
import type { EngineOptions, OpenEngine } from "../warehouse/base-engine.js";

type VersionOf = (path: string) => DataVersion | null;
type DueOf = (endpoint: Endpoint) => Due | null;
type QualityOf = (endpoint: Endpoint) => DataQuality | null;

/** Everything that the handlers of a process share: keys, rate limits, the database. */
export interface Gateway extends AccessControl {
  readonly warehouse: Warehouse;
  /** The database's name in traces. */
  readonly databaseSystem: string;
  readonly results: ResultService;
  /** Results of which clients read parts. */
  readonly wholeResults: WholeResults;
  readonly cursors: Cursors;
  /** Values of columns. */
  readonly values: ValuesCache;
  /** Where clients reach this server: links begin with it. */
  readonly publicAddressOf: PublicAddressOf;
  /** The latest builds of the nodes whose builds change an endpoint's rows; null if unknown. */
  readonly versionOf: VersionOf;
  /** Until when an endpoint's rows are as fresh as promised; null where nothing is known or promised. */
  readonly dueOf: DueOf;
  /** What dbt's tests say of an endpoint's rows; null where nothing is known of tests. */
  readonly qualityOf: QualityOf;
  /** The tier of the endpoint at a path; null where there is none. */
  readonly tierOf: (path: string) => Tier | null;
  /** Limits of a query by tier: callers with the same ones share its rows, or its refusal. */
  readonly queryLimits: Readonly<PerTier<QueryLimits>>;
  /** Time limit of a stream by tier, in milliseconds; 0: no limit. */
  readonly streamTimeouts: Readonly<PerTier<number>>;
  readonly responseMemory: ResponseMemory;
  /** Whether every caller gets `Server-Timing`, not only those of this machine and of tier3. */
  readonly serverTiming: boolean;
  /** Whether records of requests have their shapes. */
  readonly usageShapes: boolean;
  /** Exact CSV, or CSV whose cells cannot be formulas (`CSV_ESCAPE_FORMULAS`). */
  readonly csvFormat: "csv" | "spreadsheet";
  /** Whether callers see every endpoint, or only those that they may call. */
  readonly catalogue: "public" | "allowed";
  readonly log: Logger;
  /** Called after each response. */
  readonly recordRequest: (record: RequestRecord) => void;
}

type QueryLimits = Required<Pick<ResolvedQuery, "timeoutMs" | "maxRowsRead">>;

export interface GatewayOptions extends Pick<
  EngineOptions,
  | "databasePoolSize"
  | "databaseStreamPoolSize"
  | "streamsPerCaller"
  | "streamSpoolMegabytes"
  | "maxRowsRead"
  | "onColumns"
  | "rollUpVersion"
> {
  /** A `postgres://`, `clickhouse://` or `clickhouses://` address. */
  readonly databaseUrl: string;
  /** Engines beside these, by the scheme of their addresses. */
  readonly engines?: Readonly<Record<string, OpenEngine>>;
  /** A `redis://` or `rediss://` address for rate limits that all processes share. By default each process has its own. */
  readonly redisUrl?: string | null;
  /** Without keys only tier0 endpoints can be called. */
  readonly keys?: Keyring;
  /** The issuer of JWTs that are accepted like keys; none by default. */
  readonly tokens?: TokenSettings | null;
  readonly addressOf?: ClientAddress;
  /** Public address, with the path below which a proxy serves it. By default links begin at the root. */
  readonly publicUrl?: string | null;
  /** Origins whose pages may read responses. By default all. */
  readonly corsOrigins?: ReadonlySet<string> | null;
  /** Requests per minute by the caller's tier. Default 100, 500, 1,000 and 10,000. */
  readonly rateLimits?: Readonly<PerTier<number>>;
  /** Documents and pages per minute and address. Default 300. */
  readonly documentRateLimit?: number;
  /** Time limit of a query, after which it is cancelled; one number, or one per tier. 0: no limit. Default 30,000. */
  readonly statementTimeoutMs?: number | Readonly<PerTier<number>>;
  /** Time limit of a stream; one number, or one per tier. 0: no limit. Default 600,000, 1,200,000, 1,800,000 and 3,600,000. */
  readonly streamTimeoutMs?: number | Readonly<PerTier<number>>;
  /** Memory for responses that clients have not read yet. Default 256. */
  readonly answerMemoryMegabytes?: number;
  /** Lifetime of cached results. Default 0: none. Those of endpoints with `changes: on_build` are kept until the next build. */
  readonly cacheTtlSeconds?: number;
  /** Memory for cached results. Default 64. */
  readonly cacheMaxMegabytes?: number;
  /** The latest builds of an endpoint's nodes, by its path. Unknown by default. */
  readonly versionOf?: VersionOf;
  /** Until when an endpoint's rows are as fresh as promised. Unknown by default. */
  readonly dueOf?: DueOf;
  /** What dbt's tests say of an endpoint's rows; nothing by default. */
  readonly qualityOf?: QualityOf;
  /** The tier of the endpoint at a path. Unknown by default. */
  readonly tierOf?: (path: string) => Tier | null;
  /** Whether every caller gets `Server-Timing`. Default false. */
  readonly serverTiming?: boolean;
  /** Whether records of requests have their shapes. Default false. */
  readonly usageShapes?: boolean;
  /** Whether CSV cells that look like a formula get an apostrophe. Default false: exact data. */
  readonly csvEscapeFormulas?: boolean;
  /** The key that signs cursors, the same on all servers: at least 32 bytes. By default a random one of this process. */
  readonly cursorKey?: Buffer | null;
  /** Whether callers see every endpoint, or only those that they may call. Default `public`. */
  readonly catalogue?: "public" | "allowed";
  readonly log?: Logger;
  readonly recordRequest?: (record: RequestRecord) => void;
}

/** What is loaded where the options of a gateway ask for it. */
export interface GatewayParts {
  readonly openEngine: OpenEngine;
  readonly rates: RateLimitStore;
  readonly tokens: TokenIssuer | null;
  readonly log: Logger;
}

/** A gateway to a database. Its connections open on demand. It closes the store of rate limits. */
export function createGateway(
  options: Omit<GatewayOptions, "engines" | "log">,
  { openEngine, rates, tokens, log }: GatewayParts,
): Gateway & { close(): Promise<void> } {
  const addressOf = options.addressOf ?? socketAddress;
  const timeouts = timeoutsOf(options.statementTimeoutMs ?? SERVER_DEFAULTS.statementTimeoutMs);
  const responseMemory = new ResponseMemory(
    options.answerMemoryMegabytes ?? SERVER_DEFAULTS.answerMemoryMegabytes,
  );
  const streamTimeouts = timeoutsOf(options.streamTimeoutMs ?? SERVER_DEFAULTS.streamTimeoutMs);
  const warehouse = openEngine({
    ...options,
    url: options.databaseUrl,
    statementTimeoutMs: longestOf(timeouts),
    streamTimeoutMs: streamTimeouts,
    memory: responseMemory.shares,
    warn: (error, message) => log.warn({ err: error }, message),
  });
  const cursors = new Cursors(options.cursorKey ?? randomBytes(32));
  return {
    keys: options.keys ?? new Keyring(new Map()),
    tokens,
    addressOf,
    publicAddressOf: publicAddressReader(options.publicUrl ?? null, addressOf),
    corsOrigins: options.corsOrigins ?? null,
    rates,
    rateLimits: options.rateLimits ?? RATE_LIMITS,
    documentRateLimit: options.documentRateLimit ?? SERVER_DEFAULTS.documentRateLimit,
    warehouse,
    databaseSystem: systemOf(options.databaseUrl),
    queryLimits: queryLimitsOf(timeouts, options.maxRowsRead),
    streamTimeouts,
    responseMemory,
    results: new ResultService(warehouse, openCache(options), cursors),
    cursors,
    values: valuesCache(),
    wholeResults: new WholeResults(),
    versionOf: options.versionOf ?? (() => null),
    dueOf: options.dueOf ?? (() => null),
    qualityOf: options.qualityOf ?? (() => null),
    tierOf: options.tierOf ?? (() => null),
    serverTiming: options.serverTiming === true,
    usageShapes: options.usageShapes === true,
    csvFormat: options.csvEscapeFormulas === true ? "spreadsheet" : "csv",
    catalogue: options.catalogue ?? "public",
    log,
    recordRequest: options.recordRequest ?? (() => undefined),
    async close() {
      rates.close();
      await warehouse.close();
    },
  };
}

function systemOf(databaseUrl: string): string {
  const [scheme = ""] = databaseUrl.split(":");
  return scheme.startsWith("postgres") ? "postgresql" : scheme.replace(/s$/, "");
}

/** Without a key of the installation cursors are refused by its other servers, and by this one after a restart. */
export function warnOfCursorKey(
  { cursorKey }: { readonly cursorKey: Buffer | null },
  { endpoints }: { readonly endpoints: ReadonlyMap<string, { readonly spec: Pick<Endpoint, "cursor"> }> },
  log: Logger,
): void {
  const hasCursors = [...endpoints.values()].some(({ spec }) => spec.cursor !== undefined);
  if (cursorKey === null && hasCursors) log.warn(NO_CURSOR_KEY);
}

const NO_CURSOR_KEY =
  "CURSOR_KEY is not set: cursors are valid on this server only, until it stops; set it to the same 32 bytes on all servers";

function openCache({
  cacheTtlSeconds = SERVER_DEFAULTS.cacheTtlSeconds,
  cacheMaxMegabytes = SERVER_DEFAULTS.cacheMaxMegabytes,
  versionOf,
}: GatewayOptions): ResultCache {
  return new ResultCache({
    ttlSeconds: cacheTtlSeconds,
    maxBytes: cacheMaxMegabytes * 1024 * 1024,
    isLatest: (build, route) => versionOf?.(route)?.id === build,
  });
}

function timeoutsOf(given: number | Readonly<PerTier<number>>): Readonly<PerTier<number>> {
  return typeof given === "number" ? { tier0: given, tier1: given, tier2: given, tier3: given } : given;
}

function queryLimitsOf(
  timeouts: Readonly<PerTier<number>>,
  maxRowsRead: Readonly<PerTier<number>> | undefined,
): Readonly<PerTier<QueryLimits>> {
  const of = (tier: Tier): QueryLimits => ({
    timeoutMs: timeouts[tier],
    maxRowsRead: maxRowsRead?.[tier] ?? 0,
  });
  return { tier0: of("tier0"), tier1: of("tier1"), tier2: of("tier2"), tier3: of("tier3") };
}

/** 0 where a tier has no limit. */
function longestOf(timeouts: Readonly<PerTier<number>>): number {
  const all = Object.values(timeouts);
  return all.includes(0) ? 0 : Math.max(...all);
}

/** The gateway of a response. Generated handlers take what Express gives them: `response.locals` is its place for it. */
export function gatewayOf({ locals }: { readonly locals?: Record<string, unknown> }): Gateway {
  const gateway = locals?.["gateway"] as Gateway | undefined;
  if (gateway) return gateway;
  throw new Error(
    "No gateway for this request: put `app.use(withGateway(gateway))` before the generated handlers.",
  );
}
