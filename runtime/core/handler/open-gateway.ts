import type { RequestHandler } from "express";
import { SERVER_DEFAULTS } from "../model/limits.js";
import type { TokenIssuer, TokenSettings } from "../request/bearer-tokens.js";
import { openRateLimitStore } from "../request/rate-limit/open-store.js";
import type { EngineOptions, OpenEngine } from "../warehouse/base-engine.js";
import type { Warehouse } from "../warehouse/warehouse.js";
import { createGateway, type Gateway, type GatewayOptions, type GatewayParts } from "./gateway.js";

const loadPostgres = async (): Promise<OpenEngine> => (await import("../../postgres/engine.js")).openPostgres;
const loadClickhouse = async (): Promise<OpenEngine> =>
  (await import("../../clickhouse/engine.js")).openClickhouse;

/** The engines, by the scheme of their addresses. A process loads the one that it serves from. */
const ENGINES: ReadonlyMap<string, () => Promise<OpenEngine>> = new Map([
  ["postgres", loadPostgres],
  ["postgresql", loadPostgres],
  ["clickhouse", loadClickhouse],
  ["clickhouses", loadClickhouse],
]);

/**
 * Loads the engine of an address.
 *
 * @throws at once when no engine serves its scheme
 */
function loadEngine({
  databaseUrl,
  engines = {},
}: Pick<GatewayOptions, "databaseUrl" | "engines">): Promise<OpenEngine> {
  const [scheme = ""] = databaseUrl.split(":");
  const own = Object.hasOwn(engines, scheme) ? engines[scheme] : undefined;
  if (own !== undefined) return Promise.resolve(own);
  const load = ENGINES.get(scheme);
  if (load === undefined) throw new Error(`No engine serves addresses of the scheme ${scheme}:.`);
  return load();
}

/**
 * Loads what the options of a gateway ask for. Rejects where the packages for Redis are not installed.
 *
 * @throws at once when no engine serves the address
 */
export function loadParts(
  options: Pick<GatewayOptions, "databaseUrl" | "engines" | "redisUrl" | "tokens" | "log">,
): Promise<GatewayParts> {
  const engine = loadEngine(options);
  const load = async (): Promise<GatewayParts> => {
    const openEngine = await engine;
    const tokens = options.tokens ? await issuerOf(options.tokens) : null;
    const log = options.log ?? (await import("../http/logger.js")).createLogger("info");
    // Last: it connects.
    const rates = await openRateLimitStore(options.redisUrl ?? null, log);
    return { openEngine, tokens, log, rates };
  };
  return load();
}

async function issuerOf(settings: TokenSettings): Promise<TokenIssuer> {
  const { TokenIssuer } = await import("../request/bearer-tokens.js");
  return new TokenIssuer(settings);
}

/** The database of a server without the server: `verify` explains by it what the server sends. */
export async function openWarehouse(
  databaseUrl: string,
  options: Pick<EngineOptions, "rollUpVersion"> = {},
): Promise<Warehouse> {
  const openEngine = await loadEngine({ databaseUrl });
  return openEngine({
    ...options,
    url: databaseUrl,
    statementTimeoutMs: SERVER_DEFAULTS.statementTimeoutMs,
    warn: () => undefined,
  });
}

/** A gateway whose engine is being loaded. */
export interface OpenGateway {
  /** Rejects when the engine cannot be loaded. */
  readonly opened: Promise<Gateway>;
  /** Ends the database connections after the running queries. */
  close(): Promise<void>;
}

/**
 * Opens a gateway for `withGateway`. It loads the engine of the address, and the log where `log` is not given; the first requests wait for them. Database connections
 * open on demand.
 *
 * @throws when no engine serves the address
 */
export function openGateway(options: GatewayOptions): OpenGateway {
  const opened = loadParts(options).then((parts) => createGateway(options, parts));
  // Each request reports it.
  opened.catch(() => undefined);
  const close = (): Promise<void> =>
    opened.then(
      (gateway) => gateway.close(),
      () => undefined,
    );
  return { opened, close };
}

/** Express middleware: the generated handlers after it use this gateway. */
export function withGateway({ opened }: OpenGateway): RequestHandler {
  return async (_request, response, next) => {
    response.locals["gateway"] = await opened;
    next();
  };
}
