import { DEFAULT_DELIVERY_POLICY, type DeliveryPolicy, startDeliveryWorker } from "./webhooks/deliveries.js";
import { RAMP_DEFAULTS, type RampEnvironment } from "./environment.js";
import type { Logger } from "@routewright/runtime/internal/core/http/logger.js";
import { listen, type RunningServer } from "@routewright/runtime/internal/core/http/listen.js";
import { PublicNames } from "@routewright/runtime/internal/webhooks/public-names.js";
import { openRateLimitStore } from "@routewright/runtime/internal/core/request/rate-limit/open-store.js";
import { type Reply, send } from "@routewright/runtime/internal/core/http/send.js";
import { recent } from "@routewright/runtime/internal/core/model/timer.js";
import { rampListener } from "./api/app.js";
import type { RequestListener } from "node:http";
import type { PageRoute } from "@routewright/runtime/internal/core/http/route.js";
import { EventEmitter } from "node:events";
import { errorBody, rampError } from "./core/ramp-errors.js";
import { RampMetrics } from "./core/ramp-metrics.js";
import { readCurrencies } from "./accounts/currency.js";
import { type PollingPolicy, DEFAULT_POLLING_POLICY } from "./intents/lease.js";
import { Providers, startCapabilityRefresh } from "./providers/provider-connections.js";
import type { CallPolicy } from "./providers/call-policy.js";
import type { RampContext } from "./api/route.js";
import { assertMasterKey, Vault } from "./core/vault.js";
import { type DatabaseOptions, openDatabase, type RampDatabase } from "./database/ramp-database.js";
import type { RestoreOptions } from "./database/continue-events.js";
import { migrate } from "./database/migrate.js";
import { CustomerTokens, ensureSigningKey, SigningKeys } from "./sign-in/customer-token.js";
import { SubjectTokens } from "./sign-in/subject-token.js";
import { storedIssuer, walletIssuer } from "./sign-in/issuer.js";
import { IntervalJob } from "@routewright/runtime/internal/core/http/claim-worker.js";
import { watchClock } from "./core/clock-jumps.js";
import { readBacklog } from "./intents/attention.js";
import { startDepositAccountWorker } from "./intents/process-deposit-account.js";
import { startIntentWorker } from "./intents/process-intent.js";

/** The ramp's settings, with what the service or a test adds. */
export interface RampOptions
  extends
    Pick<RampEnvironment, "host" | "port" | "publicUrl" | "addressOf" | "redisUrl" | "metricsPublic">,
    Partial<
      Pick<RampEnvironment, "otherSecretsKeys" | "limits" | "assetsFile" | "retentionDays" | "nameServers">
    > {
  readonly databaseUrl: string;
  /** The 32 bytes of `RAMP_SECRETS_KEY`. */
  readonly secretsKey: Buffer;
  readonly log: Logger;
  readonly polling?: PollingPolicy;
  readonly deliveries?: DeliveryPolicy;
  readonly providerCalls?: CallPolicy;
  /** How long work waits for a connection to the database. Default: ten seconds. */
  readonly connectTimeoutMs?: number;
  /** How long a statement waits for the database's answer. Default: a minute. */
  readonly queryTimeoutMs?: number;
  /** Schemas in which functions of the database are looked up. Default: PostgreSQL's own. */
  readonly searchPath?: string;
  /** The pages of the documentation; without them there is none. */
  readonly docs?: readonly PageRoute[];
}

/** Starts the ramp: migrates, serves, processes intents in the background. Rejects when it cannot start, and leaves nothing running. */
export async function startRamp(options: RampOptions): Promise<RunningServer> {
  const { databaseUrl, log } = options;
  const vault = new Vault(options.secretsKey, options.otherSecretsKeys);
  const onIdleError = (error: Error): void => log.warn({ err: error }, "database connection lost");
  const { assetsFile = null, searchPath, connectTimeoutMs, queryTimeoutMs } = options;
  const limits = { connectTimeoutMs, queryTimeoutMs };
  const opened = { url: databaseUrl, onIdleError, assetsFile, searchPath, ...limits };
  const { database } = await openMigrated(opened, vault);
  try {
    return await serve(options, database, vault);
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Opens a database and brings it to the newest schema. With the master key of another one nothing is written. */
export async function openMigrated(
  options: DatabaseOptions & Pick<RestoreOptions, "eventsAfter"> & { readonly assetsFile: string | null },
  vault: Vault,
): Promise<{ readonly database: RampDatabase; readonly migrated: readonly string[] }> {
  const { url, assetsFile, eventsAfter } = options;
  const migrated = await migrate(url, (rows) => assertMasterKey(rows, vault), assetsFile, { eventsAfter });
  const database = await openDatabase(options);
  try {
    await ensureSigningKey(database, vault);
    // Of two first servers with different keys one has created the signing key.
    await database.asOperator((tx) => assertMasterKey((text) => tx.rows(text), vault));
    return { database, migrated };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** While the parts behind the port are opened. */
const STARTING: Reply = {
  status: 503,
  body: errorBody(rampError("SERVICE_UNAVAILABLE")),
  headers: { "Retry-After": "1" },
};

async function serve(options: RampOptions, database: RampDatabase, vault: Vault): Promise<RunningServer> {
  const { host, port, addressOf, log, metricsPublic } = options;
  const rates = await openRateLimitStore(options.redisUrl, log);
  // The handler needs the server's address, which is known once the port is bound.
  let handler: RequestListener | null = null;
  const server = await listen(
    (request, response) => {
      if (handler) handler(request, response);
      else send(response, STARTING, []);
    },
    host,
    port,
  ).catch((error: unknown) => {
    rates.close();
    throw error;
  });
  try {
    const ramp = await openRamp(options, { database, vault, publicUrl: options.publicUrl ?? server.url });
    const { limits = RAMP_DEFAULTS.limits, retentionDays = RAMP_DEFAULTS.retentionDays } = options;
    const { docs: pages = [] } = options;
    const text = async (): Promise<string> => ramp.metrics.text(await ramp.database.asOperator(readBacklog));
    const metrics = { isPublic: metricsPublic, text, recentText: recent(text) };
    handler = rampListener({ ramp, rates, addressOf, limits, metrics, pages });
    const intents = startIntentWorker(ramp);
    const depositAccounts = startDepositAccountWorker(ramp);
    ramp.signals.on("due", () => [intents, depositAccounts].forEach((worker) => worker.wake()));
    const deliveries = startDeliveryWorker(ramp, options.deliveries ?? DEFAULT_DELIVERY_POLICY);
    const housekeeping = new IntervalJob("housekeeping failed", HOUSEKEEPING_MS, log, () =>
      deleteExpired(ramp, retentionDays),
    ).wake();
    const capabilities = startCapabilityRefresh(ramp);
    const clock = watchClock(ramp);
    log.info({ url: server.url }, "ramp listening");
    return {
      url: server.url,
      async stop() {
        await server.stop();
        await Promise.all(
          [intents, depositAccounts, deliveries, housekeeping, capabilities, clock].map((worker) =>
            worker.stop(),
          ),
        );
        await Promise.all(ramp.continued);
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
async function openRamp(
  {
    log,
    providerCalls,
    nameServers = RAMP_DEFAULTS.nameServers,
    polling = DEFAULT_POLLING_POLICY,
  }: RampOptions,
  { database, vault, publicUrl }: Pick<RampContext, "database" | "vault" | "publicUrl">,
): Promise<RampContext> {
  const keys = new SigningKeys(database, vault);
  const issuer = await storedIssuer(database, publicUrl);
  const wallets = walletIssuer(issuer);
  const metrics = new RampMetrics();
  const now = (): Date => database.clock.now();
  return {
    database,
    currencies: await database.asOperator(readCurrencies),
    providers: new Providers({ database, vault, publicUrl, calls: providerCalls, metrics }),
    customerTokens: new CustomerTokens(keys, issuer),
    subjectTokens: new SubjectTokens(database, { issuer: wallets, keys }),
    walletTokens: { database, keys, vault, issuer: wallets, now },
    vault,
    log,
    metrics,
    names: new PublicNames(nameServers),
    polling,
    publicUrl,
    now,
    signals: new EventEmitter(),
    continued: new Set(),
  };
}

/** Interval of housekeeping. Each process does it; no row is deleted twice. */
const HOUSEKEEPING_MS = 60_000;

/** Rows deleted in one transaction: a large backlog must not hold locks or fill the write-ahead log at once. */
const DELETE_BATCH = 1_000;

/** Tables with rows that expire. */
const EXPIRED = [
  { table: "idempotency_claims", where: "expires_at < now()" },
  // Longer than a signature is accepted.
  { table: "provider_callbacks", where: "received_at < now() - interval '1 hour'" },
  { table: "webhook_secrets", where: "signs_until < now()" },
  { table: "wallet_nonces", where: "expires_at < now()" },
  // For a day an expired quote has another error than an unknown one.
  { table: "quotes", where: "expires_at < now() - interval '1 day'" },
  {
    table: "webhook_deliveries",
    where: "status <> 'PENDING' AND updated_at < now() - make_interval(days => $days)",
  },
  // Written by a transaction that had found the endpoint before it was deleted (`dropWebhook`).
  {
    table: "webhook_deliveries",
    where: `status = 'PENDING' AND EXISTS (SELECT FROM ramp.webhook_endpoints e WHERE e.project_id = webhook_deliveries.project_id
      AND e.id = webhook_deliveries.endpoint_id AND e.deleted_at < now() - interval '1 hour')`,
  },
  {
    table: "events",
    where: `created_at < now() - make_interval(days => $days) AND NOT EXISTS (SELECT FROM ramp.webhook_deliveries d
      WHERE d.project_id = events.project_id AND d.event_id = events.id)`,
  },
  { table: "provider_answers", where: "last_at < now() - make_interval(days => $days)" },
  { table: "travel_rules", where: "created_at < now() - make_interval(days => $days)" },
] as const;

/** A clock that jumped makes rows look old: none is deleted while `routewright ramp doctor` shows the jump. */
const AFTER_JUMP = "EXISTS (SELECT FROM ramp.clock_jumps WHERE at > now() - interval '7 days')";

/** Deletes expired rows in batches. A table that refuses keeps its own rows only. */
export async function deleteExpired(
  { database, log }: Pick<RampContext, "database" | "log">,
  retentionDays: number,
  batch = DELETE_BATCH,
): Promise<void> {
  for (const { table, where } of EXPIRED) {
    // As a parameter they would hide from the planner how few rows are old: it read the whole table, not the index.
    const isExpired = where.replace("$days", String(retentionDays));
    const text = `DELETE FROM ramp.${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ramp.${table} WHERE ${isExpired} AND NOT ${AFTER_JUMP} LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING 1`;
    try {
      while ((await database.operator.rows(text, [batch])).length === batch);
    } catch (error) {
      log.warn({ err: error, table }, "expired rows not deleted: the next run tries again");
    }
  }
}
