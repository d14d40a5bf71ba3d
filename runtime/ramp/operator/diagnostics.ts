import { isUuid, orderIdOf, type ProjectId, projectId } from "../database/id.js";
import type { RampDatabase } from "../database/ramp-database.js";
import type { DatabaseRow, OperatorTransaction } from "../database/transaction.js";
import { recentJumps, secondsAhead } from "../core/clock-jumps.js";
import type { Backlog } from "../core/ramp-metrics.js";
import { readBacklog } from "../intents/attention.js";
import { Providers, type ProviderConnection } from "../providers/provider-connections.js";
import { reasonOf } from "../providers/provider.js";
import { type Vault, unreadableSecrets } from "../core/vault.js";
import { readAnswers } from "../intents/provider-answers.js";
import { listAudit } from "../core/audit.js";
import { JsonText } from "../core/exact-json.js";
import { failed, type Outcome, succeeded } from "@routewright/runtime/internal/core/model/outcome.js";
import { readIntent } from "../intents/intent-rows.js";
import type { Intent } from "../intents/intent.js";
import { listWebhooks, MOST_COUNTED } from "../webhooks/endpoints.js";

/** One check of `routewright ramp doctor` (runtime/ramp/docs/operations.md). */
interface DoctorCheck {
  readonly check:
    | "database"
    | "master-key"
    | "clock"
    | "provider"
    | "queue"
    | "webhooks"
    | "intents"
    | "deposit-accounts"
    | "order";
  readonly ok: boolean;
  /** What was found, and what to do where it is not ok. */
  readonly detail: string;
}

/** A finding with one of two details; an empty problem is none, and so is false. */
function finding(check: DoctorCheck["check"], problem: string | false, good: string): DoctorCheck {
  return { check, ok: !problem, detail: problem || good };
}

/** Checks the installation: keys, providers, queues, and what needs the operator. */
export async function diagnose(database: RampDatabase, vault: Vault): Promise<readonly DoctorCheck[]> {
  const key = await checkMasterKey(database, vault);
  const providers = key.ok ? await checkProviders(database, vault) : [];
  const backlog = await database.asOperator(readBacklog);
  const webhooks = await checkWebhooks(database);
  const accounts = await checkDepositAccounts(database);
  const { problem } = await database.reach();
  const ready = finding(
    "database",
    problem !== null && `Requests cannot use the database: ${problem}. Run \`routewright ramp migrate\`.`,
    "Requests can read and write what they need.",
  );
  return [
    ready,
    key,
    await checkClock(database),
    ...providers,
    ...checkBacklog(backlog),
    accounts,
    ...webhooks,
  ];
}

/** The last result of each endpoint, and what waits for it. */
async function checkWebhooks(database: RampDatabase): Promise<readonly DoctorCheck[]> {
  const webhooks = await listWebhooks(database, null);
  return webhooks.map(({ webhookId, url, undeliverable, lastResult, lastResultAt, pending }) => {
    const name = `webhook ${webhookId} (${new URL(url).host})`;
    const at = lastResultAt === null ? "" : `, last tried at ${lastResultAt.toISOString()}`;
    const count = pending >= MOST_COUNTED ? `${String(pending)} or more` : String(pending);
    const waiting = `${count} deliveries wait for it`;
    return finding(
      "webhooks",
      undeliverable !== null &&
        `Nothing is delivered to ${name}: ${undeliverable}${at}. ${waiting}. Repair the receiver, change the address with \`routewright ramp webhook set\`, or delete the webhook.`,
      `The last delivery to ${name} ${lastResult === null ? "is still to come" : `was answered with ${lastResult}${at}`}. ${waiting}.`,
    );
  });
}

/** Accounts whose payments cannot be read: each with what is wrong. */
async function checkDepositAccounts(database: RampDatabase): Promise<DoctorCheck> {
  const wrong = await database.operator.rows<{ id: string; attention: string }>(
    "SELECT id, attention FROM ramp.deposit_accounts WHERE attention IS NOT NULL ORDER BY created_at, id LIMIT 20",
  );
  const named = wrong.map(({ id, attention }) => `${id} (${attention})`).join(", ");
  return finding(
    "deposit-accounts",
    named &&
      `Payments to deposit accounts cannot be read: ${named}. They are read again; send the provider what is named.`,
    "The payments to all deposit accounts can be read.",
  );
}

async function checkMasterKey(database: RampDatabase, vault: Vault): Promise<DoctorCheck> {
  const unreadable = await unreadableSecrets(database, vault);
  const where = unreadable.map(({ column, rows }) => `${column} (${String(rows)})`).join(", ");
  return finding(
    "master-key",
    where &&
      `The keys do not open: ${where}. Set RAMP_SECRETS_KEY to the key of this database, or name the key of before in RAMP_OTHER_SECRETS_KEYS.`,
    "The keys open every secret in the database.",
  );
}

async function checkProviders(database: RampDatabase, vault: Vault): Promise<readonly DoctorCheck[]> {
  const providers = new Providers({ database, vault, publicUrl: "" });
  const projects = await database.operator.rows<{ id: string }>("SELECT id FROM ramp.projects ORDER BY id");
  const findings: DoctorCheck[] = [];
  for (const { id } of projects)
    for (const { code, provider, attention } of await providers.list(projectId(id))) {
      const startedAt = performance.now();
      const reply = await provider.capabilities();
      const took = `${String(Math.round(performance.now() - startedAt))} ms`;
      const problems = [
        reply.kind !== "answer" &&
          `${code} of project ${id} gives no valid answer: ${reasonOf(reply)}. Check address and credentials.`,
        attention !== null && `${code} of project ${id} makes offers that are refused: ${attention}.`,
      ].filter(Boolean);
      findings.push(finding("provider", problems.join(" "), `${code} of project ${id} answered in ${took}.`));
    }
  return findings;
}

async function checkClock(database: RampDatabase): Promise<DoctorCheck> {
  const jumps = await database.asOperator(recentJumps);
  const ahead = secondsAhead(database);
  const jumped = jumps.map(({ at, seconds }) => `by ${String(seconds)} s at ${at.toISOString()}`).join(", ");
  const details = [
    jumped && `The database's clock jumped ${jumped}; deadlines moved with it. Check it.`,
    ahead !== 0 &&
      `The clock of this machine is ${String(ahead)} s ahead of the database's: providers refuse its signatures.`,
  ].filter(Boolean);
  return finding(
    "clock",
    details.join(" "),
    "The clocks agree, and the database's has not jumped in the last 7 days.",
  );
}

/** A due row that waits for this long, in seconds, means that no server runs or that all are stuck. */
const OVERDUE_SECONDS = 60;

function checkBacklog({ queues, exhausted, attention }: Backlog): readonly DoctorCheck[] {
  const late = queues
    .filter(({ age }) => age > OVERDUE_SECONDS)
    .map(({ queue, due }) => `${String(due)} ${queue}`);
  return [
    finding(
      "queue",
      late.length > 0 &&
        `Due, some for more than a minute: ${late.join(", ")}. Check that a ramp server runs on this database.`,
      "No intent and no delivery is overdue.",
    ),
    finding(
      "webhooks",
      exhausted > 0 &&
        `${String(exhausted)} deliveries were given up in the last 7 days. Repair the receiver, then run \`routewright ramp webhook replay\`.`,
      "No delivery was given up in the last 7 days.",
    ),
    finding(
      "intents",
      attention > 0 &&
        `${String(attention)} intents need attention: see \`routewright ramp intents --stuck\`.`,
      "No intent needs attention.",
    ),
  ];
}

const SUMMARY = `SELECT i.id AS "intentId", i.project_id AS "projectId", i.customer_id AS "customerId", i.status, i.type,
    i.src_amount::text AS "srcAmount", i.src_currency AS "srcCurrency", i.dest_currency AS "destCurrency", c.code AS provider,
    i.created_at AS "createdAt", i.updated_at AS "updatedAt", i.attention
  FROM ramp.intents i JOIN ramp.provider_connections c ON c.project_id = i.project_id AND c.id = i.connection_id`;

/** One intent and its history. */
export async function showIntent(
  database: RampDatabase,
  vault: Vault,
  id: string,
): Promise<Outcome<DatabaseRow>> {
  const found = isUuid(id)
    ? await database.operator.row<IntentIds>(`${SUMMARY} WHERE i.id = $1`, [id])
    : null;
  if (found === null) return failed(`There is no intent ${id}.`);
  return succeeded({
    ...found,
    history: await database.asOperator((tx) => historyOf(tx, found)),
    answers: await database.asOperator((tx) => readAnswers(tx, vault, found)),
    actions: (await listAudit(database, { intentId: found.intentId, limit: 100 })).filter(
      ({ action }) => action !== "intent show",
    ),
  });
}

interface IntentIds {
  readonly intentId: string;
  readonly projectId: string;
}

/**
 * What happened to an intent, oldest first: its events as receivers got them, with the number of deliveries by status. Metadata keep the digits
 * that the caller sent.
 */
async function historyOf(
  tx: OperatorTransaction,
  { projectId, intentId }: IntentIds,
): Promise<readonly DatabaseRow[]> {
  const rows = await tx.rows<{ readonly data: IntentEventData; readonly metadata: string | null }>(
    `SELECT e.created_at AS at, e.type AS event, e.body::json -> 'data' AS data, (e.body::json #> '{data,intent,metadata}')::text AS metadata,
       COALESCE((SELECT json_object_agg(d.status, d.count) FROM (SELECT status, count(*) FROM ramp.webhook_deliveries
         WHERE project_id = e.project_id AND event_id = e.id GROUP BY status) d), '{}') AS deliveries
     FROM ramp.events e WHERE e.project_id = $1 AND e.intent_id = $2 ORDER BY e.sequence`,
    [projectId, intentId],
  );
  return rows.map(({ metadata, data, ...row }) => ({
    ...row,
    data:
      metadata === null ? data : { ...data, intent: { ...data.intent, metadata: new JsonText(metadata) } },
  }));
}

interface IntentEventData {
  readonly intent: object;
}

/** Intents that can have an order that the database has lost: open ones, and those that ended in the time that providers are followed up. */
const CANDIDATES = `SELECT i.project_id AS "projectId", i.id FROM ramp.intents i
  WHERE NOT i.is_ended OR i.updated_at > now() - interval '60 days' ORDER BY i.created_at`;

/**
 * Compares open and recent orders with their providers after a restore (runtime/ramp/docs/operations.md, Backups). The id of an order is derived from
 * its intent, so an order that the database has lost is found by it. Changes nothing.
 */
export async function compareOrders(
  database: RampDatabase,
  vault: Vault,
  progress: (done: number, total: number) => void = () => undefined,
): Promise<readonly DoctorCheck[]> {
  const providers = new Providers({ database, vault, publicUrl: "" });
  const intents = await database.operator.rows<{ readonly projectId: string; readonly id: string }>(
    CANDIDATES,
  );
  const found: DoctorCheck[] = [];
  for (const [i, { projectId: project, id }] of intents.entries()) {
    progress(i, intents.length);
    const intent = await database.inProject(projectId(project), (tx) => readIntent(tx, id));
    if (intent === null) continue;
    const detail = await difference(intent, await providers.get(intent));
    if (detail !== null)
      found.push({ check: "order", ok: false, detail: `Order ${orderIdOf(id)} of intent ${id}: ${detail}` });
  }
  const good = `${String(intents.length)} orders are at their providers as in the database.`;
  return found.length > 0 ? found : [finding("order", false, good)];
}

/** What only one side knows; null: nothing. */
export async function difference(
  intent: Intent,
  { code, provider }: Pick<ProviderConnection, "code" | "provider">,
): Promise<string | null> {
  const { transaction } = intent;
  const reply = await provider.execution(intent.depositId ?? orderIdOf(intent.id));
  if (reply.kind === "refused" || reply.kind === "invalid" || reply.kind === "unavailable")
    return `${code} does not answer: compare again.`;
  const recorded = transaction?.status ?? null;
  if (reply.kind === "unknown") {
    const isExpected =
      recorded === null || recorded === "PENDING" || recorded === "FAILED" || recorded === "CANCELLED";
    return isExpected ? null : `Recorded as ${recorded}; ${code} knows no such order.`;
  }
  const { status } = reply.value;
  if (recorded === null)
    return `Only ${code} knows the order: it is ${status} there. Do not order it again at another provider.`;
  return recorded === "PENDING"
    ? `Not recorded as sent; it is ${status} at ${code}. The next look-up records it.`
    : null;
}

/** What `routewright ramp … list` shows, oldest first; `$1` is the project. */
const LISTS = {
  organizations: `SELECT id AS "organizationId", name FROM ramp.organizations ORDER BY created_at, id`,
  projects: `SELECT id AS "projectId", organization_id AS "organizationId", name, client_id AS "clientId", token_ttl_seconds AS "tokenTtlSeconds",
      max_token_seconds AS "maxTokenSeconds", page_origins AS "pageOrigins", redirect_origins AS "redirectOrigins",
      wallet_domains AS "walletDomains", amount_tolerance AS "amountTolerance"
    FROM ramp.projects ORDER BY created_at, id`,
  secrets: `SELECT id AS "secretId", created_at AS "createdAt", revoked_at AS "revokedAt" FROM ramp.client_secrets
    WHERE project_id = $1 ORDER BY created_at, id`,
  keys: `SELECT kid, created_at AS "createdAt", retired_at AS "retiredAt", revoked_at AS "revokedAt" FROM ramp.signing_keys ORDER BY created_at, kid`,
  connections: `SELECT c.id AS "providerId", c.code, v.url, v.key_id AS "keyId", c.enabled, c.attention FROM ramp.provider_connections c
    JOIN ramp.provider_credentials v ON v.project_id = c.project_id AND v.connection_id = c.id AND v.version = c.version
    WHERE c.project_id = $1 ORDER BY c.code`,
  identityProviders: `SELECT id AS "identityProviderId", issuer, audiences, clock_skew_seconds AS "clockSkewSeconds", jwks_url AS "jwksUrl", allow_http AS "allowHttp"
    FROM ramp.identity_providers WHERE project_id = $1 ORDER BY created_at, id`,
} as const;

export function listRecords(
  database: RampDatabase,
  name: keyof typeof LISTS,
  projectId?: ProjectId,
): Promise<DatabaseRow[]> {
  return database.operator.rows(LISTS[name], projectId === undefined ? [] : [projectId]);
}
