import type { Environment } from "../environment/environment.js";
import type { Logger } from "../http/logger.js";
import type { ConnectionSource, RunningServer } from "../http/server.js";
import { startEmbeddedPostgres } from "../embedded/embedded-postgres.js";
import { ownMasterKey } from "./secrets/master-key.js";
import { Vault } from "./secrets/vault.js";
import { startRamp } from "./start.js";
import { openDatabase, type RampDatabase } from "./store/database.js";
import { migrate } from "./store/migrate.js";
import { ensureSigningKey } from "./token/signing-keys.js";

export interface RampServiceOptions {
  readonly environment: Environment;
  /** Folder of the embedded database, and of the secrets key beside it. */
  readonly dataDir: string;
  readonly log: Logger;
}

interface Place {
  readonly databaseUrl: string;
  readonly secretsKey: Buffer;
  leave(): Promise<void>;
}

/** Where the ramp's data is, and the key to it. A database that was named needs a named key, kept apart from it. */
async function findPlace({ environment, dataDir, log }: RampServiceOptions): Promise<Place> {
  const { rampDatabaseUrl, databaseUrl: dataUrl, rampSecretsKey } = environment;
  const named = rampDatabaseUrl ?? dataUrl;
  if (named !== null) {
    if (rampSecretsKey === null)
      throw new Error(
        "Set RAMP_SECRETS_KEY, for example to the output of `openssl rand -hex 32`: it encrypts the ramp's secrets in the database.",
      );
    return { databaseUrl: named, secretsKey: rampSecretsKey, leave: () => Promise.resolve() };
  }
  const embedded = await startEmbeddedPostgres({
    dataDir,
    log: (line) => log.info(line),
    warn: (line) => log.warn(line),
  });
  const secretsKey = rampSecretsKey ?? ownMasterKey(`${dataDir}/ramp_secrets_key`);
  return { databaseUrl: embedded.url, secretsKey, leave: () => embedded.stop() };
}

/**
 * The ramp as `routewright serve` runs it. Rejects with a clear line when it cannot start; then nothing is left running.
 * `intake`: where connections come from; from the port of the environment when left out.
 */
export async function startRampService(
  options: RampServiceOptions,
  intake?: ConnectionSource,
): Promise<RunningServer> {
  const place = await findPlace(options);
  const { host, rampPort: port, rampPublicUrl: publicUrl } = options.environment;
  const { addressOf, redisUrl, metricsPublic } = options.environment;
  try {
    const server = await startRamp({
      ...place,
      host,
      port,
      publicUrl,
      addressOf,
      redisUrl,
      metricsPublic,
      log: options.log,
      ...(intake && { intake }),
    });
    return { url: server.url, stop: () => server.stop().then(() => place.leave()) };
  } catch (error) {
    await place.leave();
    throw error;
  }
}

/** The ramp's database for the set-up commands, migrated. */
export interface SetUpDesk {
  readonly database: RampDatabase;
  readonly vault: Vault;
  /** Migrations that ran just now. */
  readonly migrated: readonly string[];
  close(): Promise<void>;
}

export async function openSetUp(options: RampServiceOptions): Promise<SetUpDesk> {
  const place = await findPlace(options);
  try {
    const migrated = await migrate(place.databaseUrl);
    const database = await openDatabase({
      url: place.databaseUrl,
      onIdleError: () => undefined,
      maxConnections: 2,
    });
    const vault = new Vault(place.secretsKey);
    await ensureSigningKey(database, vault);
    return { database, vault, migrated, close: () => database.close().then(() => place.leave()) };
  } catch (error) {
    await place.leave();
    throw error;
  }
}
