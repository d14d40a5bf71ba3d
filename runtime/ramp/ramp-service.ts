/** The ramp, composed with environment, embedded database and documentation, for the command line and the worker processes. */
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { parseSecretsKey } from "@routewright/runtime/internal/core/environment/variables.js";
import { guideRoutes } from "./guide.js";
import { TITLE } from "./api/openapi.js";
import { Vault } from "./core/vault.js";
import type { RampDatabase } from "./database/ramp-database.js";
import { DEFAULT_POLLING_POLICY } from "./intents/lease.js";
import { openMigrated, startRamp } from "./start-ramp.js";
import type { Logger } from "@routewright/runtime/internal/core/http/logger.js";
import type { RunningServer } from "@routewright/runtime/internal/core/http/listen.js";

import type { RampEnvironment } from "./environment.js";
export { readRampEnvironment, type RampEnvironment } from "./environment.js";
export { createLogger } from "@routewright/runtime/internal/core/http/logger.js";
export { SANDBOX_PROVIDERS, startSandbox } from "./sandbox/sandbox-server.js";
export * from "./operator/identity-providers.js";
export * from "./operator/integrations.js";
export * from "./operator/projects.js";
export { compareOrders, diagnose, listRecords, showIntent } from "./operator/diagnostics.js";
export { listStuckIntents } from "./intents/attention.js";
export * from "./core/audit.js";
export { stringify } from "./core/exact-json.js";
export { testProvider } from "./providers/provider-test.js";
export { csvOf, listBalances, reconcile, reportPostings } from "./operator/finance.js";
export * from "./operator/intent-actions.js";
export * from "./webhooks/endpoints.js";
export { rotateSecret, rotateWebhookSecret } from "./webhooks/secret-rotation.js";
export { rotateVault } from "./core/vault.js";
export type { Outcome } from "@routewright/runtime/internal/core/model/outcome.js";

export interface RampServiceOptions {
  readonly environment: RampEnvironment;
  /** Folder of the embedded database and of its secrets key. */
  readonly dataDir: string;
  readonly log: Logger;
}

interface Storage {
  readonly databaseUrl: string;
  readonly secretsKey: Buffer;
  readonly close: () => Promise<void>;
}

/** The ramp's database and master key. An external database needs a key of its own, kept apart from it. */
async function openStorage(options: RampServiceOptions): Promise<Storage> {
  const { databaseUrl, secretsKey } = options.environment;
  if (databaseUrl !== null) {
    if (secretsKey === null)
      throw new Error(
        "Set RAMP_SECRETS_KEY, for example to the output of `openssl rand -hex 32`: it encrypts the ramp's secrets in the database.",
      );
    return { databaseUrl, secretsKey, close: () => Promise.resolve() };
  }
  const { startEmbeddedPostgres } =
    await import("@routewright/runtime/internal/postgres/embedded/embedded-postgres.js");
  const embedded = await startEmbeddedPostgres(options);
  const ownKey = secretsKey ?? ownMasterKey(options.dataDir);
  return { databaseUrl: embedded.url, secretsKey: ownKey, close: () => embedded.stop() };
}

/**
 * The ramp as `routewright serve` runs it. Rejects with a clear message when it cannot start, and leaves nothing running.
 */
export async function startRampService(options: RampServiceOptions): Promise<RunningServer> {
  const { close, ...storage } = await openStorage(options);
  const { environment, log } = options;
  try {
    const { documentRoute, documentRoutes } = await import("@routewright/runtime/internal/pages/pages.js");
    const server = await startRamp({
      ...environment,
      ...storage,
      log,
      polling: {
        ...DEFAULT_POLLING_POLICY,
        intentLifetimeMs: environment.intentLifetimeSeconds * 1_000,
        followUpMs: environment.followUpDays * 24 * 60 * 60_000,
      },
      docs: [...documentRoutes(TITLE), ...guideRoutes(documentRoute)],
    });
    return { url: server.url, stop: () => server.stop().then(close) };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The migrated database, opened for one admin command. */
export interface AdminSession {
  readonly database: RampDatabase;
  readonly vault: Vault;
  /** Migrations that this session applied. */
  readonly migrated: readonly string[];
  readonly close: () => Promise<void>;
}

/** @param eventsAfter a sequence number that is not below any that was sent before a restore */
export async function openAdminSession(
  options: RampServiceOptions,
  eventsAfter: bigint | null = null,
): Promise<AdminSession> {
  const { databaseUrl: url, secretsKey, close } = await openStorage(options);
  try {
    const { otherSecretsKeys, assetsFile } = options.environment;
    const vault = new Vault(secretsKey, otherSecretsKeys);
    const pool = { url, onIdleError: () => undefined, maxConnections: 2, assetsFile, eventsAfter };
    const { database, migrated } = await openMigrated(pool, vault);
    return { database, vault, migrated, close: () => database.close().then(close) };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The key of an embedded database: created in a file beside it at the first start, readable by its owner only. */
function ownMasterKey(dataDir: string): Buffer {
  const file = `${dataDir}/ramp_secrets_key`;
  mkdirSync(dataDir, { recursive: true });
  try {
    writeFileSync(file, `${randomBytes(32).toString("hex")}\n`, { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const key = parseSecretsKey(readFileSync(file, "utf8").trim());
  if (key === null) throw new Error(`${file} does not hold a key of 32 bytes.`);
  return key;
}
