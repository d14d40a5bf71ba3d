import { createLocalJWKSet, exportJWK, type JWTVerifyGetKey } from "jose";
import type { ClientAddress } from "../http/client-address.js";
import type { Logger } from "../http/logger.js";
import { type ConnectionSource, listen, listening, type RunningServer } from "../http/server.js";
import { openRates } from "../access/rate-limit/open.js";
import { type RampLimits, RAMP_LIMITS } from "./api/access.js";
import { rampApp } from "./api/app.js";
import { RampMetrics } from "./api/metrics.js";
import { readCurrencies } from "./currency/currency.js";
import { type Rhythm, RHYTHM } from "./intent/attention.js";
import { ProjectSignIn } from "./project/sign-in.js";
import { Providers } from "./provider/connections.js";
import type { Ramp } from "./ramp.js";
import { Vault } from "./secrets/vault.js";
import { openDatabase, type RampDatabase } from "./store/database.js";
import { migrate } from "./store/migrate.js";
import { CustomerTokens } from "./token/customer-token.js";
import { ensureSigningKey, SigningKeys } from "./token/signing-keys.js";
import { SubjectTokens } from "./token/subject-token.js";
import { walletIssuer } from "./token/wallet.js";
import { startQueue } from "./work/queue.js";
import { startSweep } from "./work/sweep.js";
import { tasksOf } from "./work/tasks.js";

export interface RampOptions {
  readonly databaseUrl: string;
  /** The 32 bytes of `RAMP_SECRETS_KEY`. */
  readonly secretsKey: Buffer;
  readonly host: string;
  readonly port: number;
  /** Null: the address that the server listens on. */
  readonly publicUrl: string | null;
  readonly addressOf: ClientAddress;
  /** Where callers are counted for all processes together; null: in this one. */
  readonly redisUrl: string | null;
  readonly metricsPublic: boolean;
  readonly log: Logger;
  readonly limits?: RampLimits;
  readonly rhythm?: Rhythm;
  /** Where connections come from; from the port when left out. */
  readonly intake?: ConnectionSource;
}

/** Brings the ramp up: migrates, serves, works in the background. Rejects when it cannot; then nothing is left running. */
export async function startRamp(options: RampOptions): Promise<RunningServer> {
  const { databaseUrl, log } = options;
  await migrate(databaseUrl);
  const onIdleError = (error: Error): void => log.warn({ err: error }, "database connection lost");
  const database = await openDatabase({ url: databaseUrl, onIdleError });
  try {
    return await serve(options, database);
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function serve(options: RampOptions, database: RampDatabase): Promise<RunningServer> {
  const { host, port, addressOf, log, metricsPublic, databaseUrl, intake = listening } = options;
  const rates = openRates(options.redisUrl, log);
  // The address is part of what is set up, and known for certain only once the port is had.
  let handler: ReturnType<typeof rampApp> | null = null;
  const server = await listen(
    (request, response) => {
      if (handler) handler(request, response);
      else response.writeHead(503, { "Retry-After": "1" }).end();
    },
    host,
    port,
    undefined,
    intake,
  );
  try {
    const ramp = await openRamp(options, database, options.publicUrl ?? server.url);
    const gate = {
      signIn: new ProjectSignIn(database),
      customerTokens: ramp.customerTokens,
      rates,
      addressOf,
      limits: options.limits ?? RAMP_LIMITS,
    };
    handler = rampApp({ ramp, gate, metrics: new RampMetrics(), metricsPublic });
    const queue = startQueue(databaseUrl, tasksOf(ramp), log);
    const sweep = startSweep(ramp);
    log.info({ url: server.url }, "ramp listening");
    return {
      url: server.url,
      async stop() {
        await server.stop();
        await sweep.stop();
        await queue.stop();
        rates.close();
        await database.close();
      },
    };
  } catch (error) {
    rates.close();
    await server.stop();
    throw error;
  }
}

/** What all parts share, opened on a migrated database. */
export async function openRamp(
  { secretsKey, log, rhythm = RHYTHM }: Pick<RampOptions, "secretsKey" | "log" | "rhythm">,
  database: RampDatabase,
  publicUrl: string,
): Promise<Ramp> {
  const vault = new Vault(secretsKey);
  await ensureSigningKey(database, vault);
  const keys = new SigningKeys(database, vault);
  const issuer = walletIssuer(publicUrl);
  return {
    database,
    currencies: await database.asOperator(readCurrencies),
    providers: new Providers(database, vault, publicUrl),
    customerTokens: new CustomerTokens(keys, publicUrl),
    subjectTokens: new SubjectTokens(database, { issuer, keys: ownKeys(keys) }),
    walletTokens: { database, keys, issuer },
    vault,
    log,
    rhythm,
    publicUrl,
    now: () => new Date(),
  };
}

/** Our own signing keys in the form in which others publish theirs. */
function ownKeys(keys: SigningKeys): JWTVerifyGetKey {
  return async (header, token) => {
    const key = header.kid === undefined ? null : await keys.find(header.kid);
    const jwks = key === null ? [] : [{ ...(await exportJWK(key.publicKey)), kid: key.kid }];
    return createLocalJWKSet({ keys: jwks })(header, token);
  };
}
