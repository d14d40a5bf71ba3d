/** The ramp, composed with environment, embedded database and documentation, for the command line and the worker processes. */
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { startEmbeddedPostgres } from "./embedded/embedded-postgres.js";
import type { Environment } from "./operations/environment.js";
import { secretsKey } from "./operations/variables.js";
import { documentRoutes } from "./pages/pages.js";
import { TITLE } from "./ramp/api/openapi.js";
import { Vault } from "./ramp/core/vault.js";
import type { RampDatabase } from "./ramp/database/ramp-database.js";
import { DEFAULT_POLLING_POLICY } from "./ramp/intents/lease.js";
import { openMigrated, startRamp } from "./ramp/start-ramp.js";
import type { Logger } from "./http/logger.js";
import type { RunningServer } from "./http/listen.js";

export { readEnvironment } from "./operations/environment.js";
export { createLogger } from "./http/logger.js";
export { SANDBOX_PROVIDERS, startSandbox } from "./ramp/sandbox/sandbox-server.js";
export * from "./ramp/operator/identity-providers.js";
export * from "./ramp/operator/integrations.js";
export * from "./ramp/operator/projects.js";
export { compareOrders, diagnose, listRecords, showIntent } from "./ramp/operator/diagnostics.js";
export { listStuckIntents } from "./ramp/intents/attention.js";
export * from "./ramp/core/audit.js";
export { stringify } from "./ramp/core/exact-json.js";
export { testProvider } from "./ramp/providers/provider-test.js";
export { csvOf, listBalances, reconcile, reportPostings } from "./ramp/operator/finance.js";
export * from "./ramp/operator/intent-actions.js";
export * from "./ramp/webhooks/endpoints.js";
export { rotateVault } from "./ramp/core/vault.js";
export type { Outcome } from "./model/outcome.js";

export interface RampServiceOptions {
  readonly environment: Environment;
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
  const { rampDatabaseUrl, databaseUrl: dataUrl, rampSecretsKey } = options.environment;
  const url = rampDatabaseUrl ?? dataUrl;
  if (url !== null) {
    if (rampSecretsKey === null)
      throw new Error(
        "Set RAMP_SECRETS_KEY, for example to the output of `openssl rand -hex 32`: it encrypts the ramp's secrets in the database.",
      );
    return { databaseUrl: url, secretsKey: rampSecretsKey, close: () => Promise.resolve() };
  }
  const embedded = await startEmbeddedPostgres(options);
  const secretsKey = rampSecretsKey ?? ownMasterKey(options.dataDir);
  return { databaseUrl: embedded.url, secretsKey, close: () => embedded.stop() };
}

/**
 * The ramp as `routewright serve` runs it. Rejects with a clear message when it cannot start, and leaves nothing running.
 */
export async function startRampService(options: RampServiceOptions): Promise<RunningServer> {
  const { databaseUrl, secretsKey, close } = await openStorage(options);
  const { environment, log } = options;
  const { host, addressOf, redisUrl, metricsPublic } = environment;
  try {
    const server = await startRamp({
      databaseUrl,
      secretsKey,
      otherSecretsKeys: environment.rampOtherSecretsKeys,
      host,
      port: environment.rampPort,
      publicUrl: environment.rampPublicUrl,
      addressOf,
      redisUrl,
      metricsPublic,
      log,
      limits: environment.rampLimits,
      assetsFile: environment.rampAssetsFile,
      retentionDays: environment.rampRetentionDays,
      polling: {
        ...DEFAULT_POLLING_POLICY,
        intentLifetimeMs: environment.rampIntentLifetimeSeconds * 1_000,
        followUpMs: environment.rampFollowUpDays * 24 * 60 * 60_000,
      },
      docs: documentRoutes(TITLE),
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

export async function openAdminSession(options: RampServiceOptions): Promise<AdminSession> {
  const { databaseUrl: url, secretsKey, close } = await openStorage(options);
  try {
    const vault = new Vault(secretsKey, options.environment.rampOtherSecretsKeys);
    const assetsFile = options.environment.rampAssetsFile;
    const pool = { url, onIdleError: () => undefined, maxConnections: 2, assetsFile };
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
  const key = secretsKey(readFileSync(file, "utf8").trim());
  if (key === null) throw new Error(`${file} does not hold a key of 32 bytes.`);
  return key;
}
