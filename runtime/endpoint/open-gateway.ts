import { Keyring } from "../auth/keyring.js";
import { clientAddress, type ClientAddress } from "../http/client-address.js";
import { openLog, type Logger } from "../http/logger.js";
import { MemoryStore } from "../rate-limit/memory-store.js";
import { openPostgres } from "../warehouse/postgres.js";
import type { Gateway, Observation } from "./gateway.js";

export interface GatewayOptions {
  /** A `postgres://` address. */
  readonly databaseUrl: string;
  /** Without keys only tier0 endpoints can be called. */
  readonly keys?: Keyring;
  readonly addressOf?: ClientAddress;
  /** A statement that runs longer is cancelled; 30 s when left out. */
  readonly statementTimeoutMs?: number;
  readonly log?: Logger;
  readonly observe?: (observation: Observation) => void;
}

/** Opens what all handlers of a process share. Connections are made when the first request needs one. */
export function openGateway(options: GatewayOptions): Gateway & { close(): Promise<void> } {
  const log = options.log ?? openLog("info");
  const rates = new MemoryStore();
  const warehouse = openPostgres({
    url: options.databaseUrl,
    statementTimeoutMs: options.statementTimeoutMs ?? 30_000,
    onIdleError: (error) => log.warn({ err: error }, "database connection lost"),
  });
  return {
    keys: options.keys ?? new Keyring(new Map()),
    addressOf: options.addressOf ?? clientAddress("false"),
    rates,
    warehouse,
    log,
    observe: options.observe ?? (() => undefined),
    async close() {
      rates.close();
      await warehouse.close();
    },
  };
}
