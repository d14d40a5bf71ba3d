import { Keyring } from "../access/keyring.js";
import { type PerTier, RATE_LIMITS } from "../model/tier.js";
import { AnswerMemory } from "../results/buffered-result.js";
import { ResultService } from "../results/result-service.js";
import type { RequestRecord } from "../observability/request-log.js";
import type { Warehouse } from "../query/warehouse.js";
import type { AccessControl } from "../access/authorize.js";
import { Versions, BuildTimes } from "./data-versions.js";
import type { RequestHandler } from "express";
import type { IncomingMessage } from "node:http";
import { ResultCache } from "../results/result-cache.js";
import { clientAddress, type ClientAddress } from "../http/client-address.js";
import { openLog, type Logger } from "../http/logger.js";
import { openRateLimitStore } from "../access/rate-limit/open.js";
import { openPostgres, POOL_DEFAULTS } from "../postgres/postgres-warehouse.js";
import { routeToReplicas } from "../postgres/replica-router.js";

/** What the handlers of a process share: keys, rate limits and the database. */
export interface Gateway extends AccessControl {
  readonly warehouse: Warehouse;
  readonly results: ResultService;
  readonly versions: Versions;
  /** How long a query may run for a caller of each tier, in milliseconds; 0: no limit. */
  readonly timeouts: Readonly<PerTier<number>>;
  /** How long a stream may take for a caller of each tier, in milliseconds; 0: no limit. */
  readonly streamTimeouts: Readonly<PerTier<number>>;
  readonly answerMemory: AnswerMemory;
  /** How CSV is written: exact, or with cells that cannot be formulas (`CSV_ESCAPE_FORMULAS`). */
  readonly csvFormat: "csv" | "spreadsheet";
  readonly log: Logger;
  /** Called after each response. */
  readonly recordRequest: (record: RequestRecord) => void;
}

const GATEWAY = Symbol("gateway");

/** A request whose gateway is known. */
interface GatewayRequest {
  [GATEWAY]?: Gateway;
}

/** Express middleware: the generated handlers behind it use this gateway. */
export function withGateway(gateway: Gateway): RequestHandler {
  return (request, _response, next) => {
    setGateway(request, gateway);
    next();
  };
}

export function setGateway(request: IncomingMessage, gateway: Gateway): void {
  (request as GatewayRequest)[GATEWAY] = gateway;
}

/** The gateway of a request. */
export function gatewayOf(request: IncomingMessage): Gateway {
  const gateway = (request as GatewayRequest)[GATEWAY];
  if (gateway) return gateway;
  throw new Error(
    "No gateway for this request: put `app.use(withGateway(gateway))` before the generated handlers.",
  );
}

export interface GatewayOptions {
  /** A `postgres://` address. */
  readonly databaseUrl: string;
  /** Addresses of its read replicas; none by default. */
  readonly replicaUrls?: readonly string[];
  /** A `redis://` or `rediss://` address: rate limits are counted there, for all processes. By default each process counts its own. */
  readonly redisUrl?: string | null;
  /** Without keys only tier0 endpoints can be called. */
  readonly keys?: Keyring;
  readonly addressOf?: ClientAddress;
  /** Requests per minute by the caller's tier. Default 100, 500, 1,000 and 10,000. */
  readonly rateLimits?: Readonly<PerTier<number>>;
  /** A query that runs longer is cancelled; one number, or one per tier. 0: no limit. Default 30,000. */
  readonly statementTimeoutMs?: number | Readonly<PerTier<number>>;
  /** Connections for small answers. Default 10. */
  readonly databasePoolSize?: number;
  /** Connections for streams. Default 4. */
  readonly databaseStreamPoolSize?: number;
  /** Streams that one caller may read at a time. Default 2. */
  readonly streamsPerCaller?: number;
  /** The longest that a stream may take; one number, or one per tier. 0: no limit. Default 3,600,000. */
  readonly streamTimeoutMs?: number | Readonly<PerTier<number>>;
  /** Disk for what streams have read ahead of their clients. Default 1024. */
  readonly streamSpoolMegabytes?: number;
  /** Memory for answers that clients have not taken yet. Default 256. */
  readonly answerMemoryMegabytes?: number;
  /** How long a response without a data version is cached. Default 0: no caching. */
  readonly cacheTtlSeconds?: number;
  /** Memory for cached responses. Default 64. */
  readonly cacheMaxMegabytes?: number;
  /** Build times of dbt nodes: responses of models that they cover have a version. */
  readonly builds?: BuildTimes;
  /** Whether CSV cells that a spreadsheet would run as a formula get an apostrophe. Default false: data are exact. */
  readonly csvEscapeFormulas?: boolean;
  readonly log?: Logger;
  readonly recordRequest?: (record: RequestRecord) => void;
}

/** Opens a gateway. Database connections are made when requests need them. */
export function openGateway(options: GatewayOptions): Gateway & { close(): Promise<void> } {
  const log = options.log ?? openLog("info");
  const rates = openRateLimitStore(options.redisUrl ?? null, log);
  const timeouts = timeoutsOf(options.statementTimeoutMs ?? 30_000);
  const answerMemory = new AnswerMemory(options.answerMemoryMegabytes ?? 256);
  const warehouse = openWarehouse(options, longestOf(timeouts), answerMemory, log);
  const hasReplicas = (options.replicaUrls ?? []).length > 0;
  return {
    keys: options.keys ?? new Keyring(new Map()),
    addressOf: options.addressOf ?? clientAddress("false"),
    rates,
    rateLimits: options.rateLimits ?? RATE_LIMITS,
    warehouse,
    timeouts,
    streamTimeouts: timeoutsOf(options.streamTimeoutMs ?? 3_600_000),
    answerMemory,
    results: new ResultService(warehouse, openCache(options)),
    versions: new Versions(options.builds ?? new BuildTimes(), hasReplicas),
    csvFormat: options.csvEscapeFormulas === true ? "spreadsheet" : "csv",
    log,
    recordRequest: options.recordRequest ?? (() => undefined),
    async close() {
      rates.close();
      await warehouse.close();
    },
  };
}

function openCache({ cacheTtlSeconds = 0, cacheMaxMegabytes = 64 }: GatewayOptions): ResultCache | null {
  if (cacheTtlSeconds === 0) return null;
  return new ResultCache({ ttlSeconds: cacheTtlSeconds, maxBytes: cacheMaxMegabytes * 1024 * 1024 });
}

function timeoutsOf(given: number | Readonly<PerTier<number>>): Readonly<PerTier<number>> {
  return typeof given === "number" ? { tier0: given, tier1: given, tier2: given, tier3: given } : given;
}

/** 0 where a tier has no limit. */
function longestOf(timeouts: Readonly<PerTier<number>>): number {
  const all = Object.values(timeouts);
  return all.includes(0) ? 0 : Math.max(...all);
}

function openWarehouse(
  options: GatewayOptions,
  statementTimeoutMs: number,
  { hasRoom }: AnswerMemory,
  log: Logger,
): Warehouse {
  const { databaseUrl, replicaUrls = [] } = options;
  const shared = {
    statementTimeoutMs,
    poolSize: options.databasePoolSize ?? POOL_DEFAULTS.poolSize,
    streamPoolSize: options.databaseStreamPoolSize ?? POOL_DEFAULTS.streamPoolSize,
    streamsPerCaller: options.streamsPerCaller ?? POOL_DEFAULTS.streamsPerCaller,
    spoolMegabytes: options.streamSpoolMegabytes ?? POOL_DEFAULTS.spoolMegabytes,
    hasMemory: hasRoom,
  };
  const primary = openPostgres({
    ...shared,
    url: databaseUrl,
    onIdleError: (error) => log.warn({ err: error }, "database connection lost"),
  });
  const replicas = replicaUrls.map((url) => {
    // The router logs a lost replica once, not once per connection.
    const warehouse = openPostgres({ ...shared, url, isReplica: true, onIdleError: () => undefined });
    return { address: addressIn(url), warehouse };
  });
  return routeToReplicas(primary, replicas, ({ address, isInService, why }) => {
    if (isInService) log.info({ replica: address }, "replica in service");
    else log.warn({ replica: address, why }, "replica out of service");
  });
}

/** Host and port only: the rest of the address is secret. */
function addressIn(url: string): string {
  const { hostname, port } = new URL(url);
  return `${hostname || "localhost"}:${port || "5432"}`;
}
