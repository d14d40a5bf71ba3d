import { ResultService } from "../results/result-service.js";
import { ResultCache } from "../results/result-cache.js";
import { Keyring } from "../access/keyring.js";
import type { PerTier } from "../model/tier.js";
import { clientAddress, type ClientAddress } from "../http/client-address.js";
import { openLog, type Logger } from "../http/logger.js";
import { openRates } from "../access/rate-limit/open.js";
import { openPostgres } from "../postgres/postgres-warehouse.js";
import { routeToReplicas } from "../postgres/replica-router.js";
import type { Warehouse } from "../query/warehouse.js";
import { BuildTimes } from "./build-times.js";
import type { Gateway, RequestRecord } from "./gateway.js";
import { Versions } from "./data-versions.js";

export interface GatewayOptions {
  /** A `postgres://` address. */
  readonly databaseUrl: string;
  /** Addresses of databases that follow it and take its questions as long as they can; none when left out. */
  readonly replicaUrls?: readonly string[];
  /** A `redis://` or `rediss://` address, where rate limits are counted for all processes together; null, or left out: in each by itself. */
  readonly redisUrl?: string | null;
  /** Without keys only tier0 endpoints can be called. */
  readonly keys?: Keyring;
  readonly addressOf?: ClientAddress;
  /** A query that runs longer is cancelled, for all tiers or by the caller's; 0: no limit, 30 s when left out. */
  readonly statementTimeoutMs?: number | Readonly<PerTier<number>>;
  /** How long an answer is kept whose version is not known; 0, or left out: no answer is kept at all. */
  readonly cacheTtlSeconds?: number;
  /** Memory for answers that are kept; 64 when left out. */
  readonly cacheMaxMegabytes?: number;
  /** What dbt has built, where somebody follows that. */
  readonly builds?: BuildTimes;
  readonly log?: Logger;
  readonly recordRequest?: (observation: RequestRecord) => void;
}

/** Opens what all handlers of a process share. The first request that needs a database connection makes it. */
export function openGateway(options: GatewayOptions): Gateway & { close(): Promise<void> } {
  const log = options.log ?? openLog("info");
  const rates = openRates(options.redisUrl ?? null, log);
  const timeouts = timeoutsOf(options.statementTimeoutMs ?? 30_000);
  const warehouse = openWarehouse(options, longestOf(timeouts), log);
  const hasReplicas = (options.replicaUrls ?? []).length > 0;
  return {
    keys: options.keys ?? new Keyring(new Map()),
    addressOf: options.addressOf ?? clientAddress("false"),
    rates,
    warehouse,
    timeouts,
    results: new ResultService(warehouse, openCache(options)),
    versions: new Versions(options.builds ?? new BuildTimes(), hasReplicas),
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

/** The longest of them; 0 where one has no limit. */
function longestOf(timeouts: Readonly<PerTier<number>>): number {
  const all = Object.values(timeouts);
  return all.includes(0) ? 0 : Math.max(...all);
}

function openWarehouse(options: GatewayOptions, statementTimeoutMs: number, log: Logger): Warehouse {
  const { databaseUrl, replicaUrls = [] } = options;
  const primary = openPostgres({
    url: databaseUrl,
    statementTimeoutMs,
    onIdleError: (error) => log.warn({ err: error }, "database connection lost"),
  });
  const replicas = replicaUrls.map((url) => {
    // Of a replica that is gone one line tells, and not one for each connection.
    const warehouse = openPostgres({ url, statementTimeoutMs, onIdleError: () => undefined });
    return { address: addressIn(url), warehouse };
  });
  return routeToReplicas(primary, replicas, ({ address, isInService, why }) => {
    if (isInService) log.info({ replica: address }, "replica in service");
    else log.warn({ replica: address, why }, "replica out of service");
  });
}

/** Host and port alone: the rest of the address is secret. */
function addressIn(url: string): string {
  const { hostname, port } = new URL(url);
  return `${hostname || "localhost"}:${port || "5432"}`;
}
