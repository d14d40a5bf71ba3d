import { isUuid, newId, type ProjectId } from "../database/id.js";
import type { RampDatabase } from "../database/ramp-database.js";
import { OF_PROJECT, type ProjectTransaction } from "../database/transaction.js";
import { PublicNames } from "@routewright/runtime/internal/webhooks/public-names.js";
import type { Vault } from "../core/vault.js";
import { EVENT_TYPES, recordEvent } from "./events.js";
import { giveUpDeliveries } from "./deliveries.js";
import { failed, type Outcome, succeeded } from "@routewright/runtime/internal/core/model/outcome.js";
import { urlProblem } from "../core/json-schema.js";
import { RAMP_ERRORS } from "../core/ramp-errors.js";
import { problemOf } from "@routewright/runtime/internal/webhooks/last-result.js";
import { newSecret } from "@routewright/runtime/internal/webhooks/signed-event.js";
import { type NewWebhook, noWebhook } from "./secret-rotation.js";

/** Receivers of a project's events, and the deliveries to them: for the commands and for the API. */

export interface WebhookAddress {
  readonly url: string;
  readonly allowPrivate: boolean;
  /** Deliveries at a time, over all processes, 1 to 100. Default: 10, or as before. */
  readonly concurrency?: number | undefined;
  /** Types of the events that it gets. Default: all, or as before. */
  readonly eventTypes?: readonly string[] | undefined;
}

/** Why nothing can be sent to an address of a project, or null. Waits for name servers: no transaction is open. */
export async function addressProblem(
  { url, allowPrivate, eventTypes = [] }: Pick<WebhookAddress, "url" | "allowPrivate" | "eventTypes">,
  projectId: ProjectId,
  names: PublicNames = new PublicNames(),
): Promise<string | null> {
  const problem = urlProblem(url);
  if (problem !== null) return problem;
  // RFC 6761: the name never resolves.
  if (/(^|\.)invalid\.?$/i.test(new URL(url).hostname))
    return "The URL has a name under .invalid, which cannot exist.";
  const unknown = eventTypes.find((type) => !EVENT_TYPES.some((known) => known === type));
  if (unknown !== undefined) return `${unknown} is no event type: ${EVENT_TYPES.join(", ")}.`;
  // A name that does not resolve here and now may do so for the server.
  return !allowPrivate && (await names.leadsToPrivate(new URL(url), projectId))
    ? "The URL leads to a private address. Use --allow-private to allow it."
    : null;
}

/** An endpoint, as `routewright ramp webhook list` shows it. */
export interface ListedWebhook {
  readonly webhookId: string;
  readonly url: string;
  readonly concurrency: number;
  /** Null: all. */
  readonly eventTypes: readonly string[] | null;
  readonly createdAt: Date;
  readonly allowPrivate: boolean;
  readonly enabled: boolean;
  /** When its receiver answered 410, which switched it off. */
  readonly goneAt: Date | null;
  /** HTTP status of the last attempt at it, or why there was none; null: there was none since it has this address. */
  readonly lastResult: string | null;
  readonly lastResultAt: Date | null;
  /** Deliveries that wait for it, counted up to `MOST_COUNTED`. */
  readonly pending: number;
}

/** A receiver that is down for days has many: more are not counted. */
export const MOST_COUNTED = 1_000;

const SELECT = `SELECT id AS "webhookId", project_id AS "projectId", url, concurrency, event_types AS "eventTypes", allow_private AS "allowPrivate",
    enabled, gone_at AS "goneAt", created_at AS "createdAt", last_result AS "lastResult", last_result_at AS "lastResultAt",
    (SELECT count(*)::int FROM (SELECT FROM ramp.webhook_deliveries d
     WHERE d.project_id = e.project_id AND d.endpoint_id = e.id AND d.status = 'PENDING' LIMIT ${String(MOST_COUNTED)}) d) AS pending
  FROM ramp.webhook_endpoints e`;

/** A project's endpoints, oldest first; with an id that one alone. */
export function readWebhooks(tx: ProjectTransaction, id: string | null): Promise<readonly ListedWebhook[]> {
  return tx.rows<ListedWebhook>(
    `${SELECT} WHERE ${OF_PROJECT} AND ($1::text IS NULL OR id::text = lower($1)) AND deleted_at IS NULL ORDER BY created_at, id`,
    [id],
  );
}

/** The endpoints, oldest first, each with why nothing is delivered to it, if so. Null: those of all projects. */
export async function listWebhooks(database: RampDatabase, projectId: ProjectId | null) {
  const webhooks = await database.operator.rows<ListedWebhook>(
    `${SELECT} WHERE ($1::uuid IS NULL OR project_id = $1) AND deleted_at IS NULL ORDER BY created_at, id`,
    [projectId],
  );
  return webhooks.map((webhook) => ({ ...webhook, undeliverable: undeliverable(webhook) }));
}

/** Why nothing is delivered to an endpoint, as the last attempt found it, or null. */
export function undeliverable({ enabled, goneAt, lastResult }: ListedWebhook): string | null {
  if (goneAt !== null) return `its receiver answered 410 at ${goneAt.toISOString()}, which switched it off`;
  if (!enabled) return "it is switched off";
  return lastResult === null ? null : problemOf(lastResult);
}

/** Changes an endpoint that is not deleted: `$1` of the assignments is its id. */
async function changeWebhook(
  tx: ProjectTransaction,
  webhookId: string,
  assignments: string,
  values: readonly unknown[] = [],
): Promise<Outcome<{ webhookId: string }>> {
  const row = await tx.row<{ webhookId: string }>(
    `UPDATE ramp.webhook_endpoints SET ${assignments} WHERE id::text = $1 AND deleted_at IS NULL RETURNING id AS "webhookId"`,
    [webhookId.toLowerCase(), ...values],
  );
  return row === null ? failed(noWebhook(webhookId)) : succeeded(row);
}

/** Adds an endpoint; a project may have several. The secret is shown once. */
export async function addWebhook(
  database: RampDatabase,
  vault: Vault,
  projectId: ProjectId,
  address: WebhookAddress,
): Promise<Outcome<NewWebhook>> {
  const problem = await addressProblem(address, projectId);
  if (problem !== null) return failed(problem);
  const webhookId = newId();
  return database.inProject(projectId, async (tx) =>
    (await hasRoom(tx))
      ? succeeded(insertWebhook(tx, vault, { ...address, webhookId }))
      : failed(RAMP_ERRORS.TOO_MANY_WEBHOOKS.message),
  );
}

/** Each event has a delivery per webhook. Whoever has more keeps them. */
const MOST_WEBHOOKS = 100;

/** Whether the project may have one more; of two at once the second counts the first. */
export async function hasRoom(tx: ProjectTransaction): Promise<boolean> {
  tx.write("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [
    `ramp.webhook_endpoints ${tx.projectId}`,
  ]);
  const found = await tx.row<{ count: number }>(
    `SELECT count(*)::int AS count FROM ramp.webhook_endpoints WHERE ${OF_PROJECT} AND deleted_at IS NULL`,
  );
  return (found?.count ?? 0) < MOST_WEBHOOKS;
}

/** @param address one that `addressProblem` has nothing against */
export function insertWebhook(
  tx: ProjectTransaction,
  vault: Vault,
  address: WebhookAddress & Pick<NewWebhook, "webhookId">,
): NewWebhook {
  const { webhookId: id, url, allowPrivate, concurrency = 10, eventTypes = null } = address;
  const secret = newSecret();
  const sealed = vault.seal(`webhook:${tx.projectId}:${id}`, secret);
  tx.insert("webhook_endpoints", { id, url, secret: sealed, allowPrivate, concurrency, eventTypes });
  return { webhookId: id, secret };
}

/** What was found of another address says nothing. `$2`: the new one, or null. */
const FORGET_RESULT = `last_result = CASE WHEN url = COALESCE($2, url) THEN last_result END,
  last_result_at = CASE WHEN url = COALESCE($2, url) THEN last_result_at END`;

/** What a project changes of an endpoint; what is left out stays. */
export interface WebhookChange {
  readonly url?: string;
  readonly concurrency?: number;
  /** Null: all. */
  readonly eventTypes?: readonly string[] | null;
  readonly enabled?: boolean;
}

/** Another address must be public, whatever the operator allowed of the one before. */
export async function updateWebhook(
  tx: ProjectTransaction,
  webhookId: string,
  change: WebhookChange,
): Promise<Outcome<{ webhookId: string }>> {
  const { url = null, concurrency = null, eventTypes, enabled = null } = change;
  const changed = await changeWebhook(
    tx,
    webhookId,
    `${FORGET_RESULT}, url = COALESCE($2, url), allow_private = allow_private AND COALESCE($2 = url, true), concurrency = COALESCE($3, concurrency),
     event_types = CASE WHEN $4 THEN $5::text[] ELSE event_types END, enabled = COALESCE($6, enabled),
     gone_at = CASE WHEN $6 THEN NULL ELSE gone_at END`,
    [url, concurrency, eventTypes !== undefined, eventTypes ?? null, enabled],
  );
  if (changed.ok && enabled === false)
    giveUpDeliveries(tx, tx.projectId, changed.value.webhookId, "endpoint switched off");
  return changed;
}

/** Switches an endpoint off, which drops what waits for it, or on. */
export function switchWebhook(
  database: RampDatabase,
  projectId: ProjectId,
  webhookId: string,
  enabled: boolean,
): Promise<Outcome<{ webhookId: string }>> {
  return database.inProject(projectId, (tx) => updateWebhook(tx, webhookId, { enabled }));
}

/** Sends an event of the type `webhook.test` to an endpoint. */
export function pingWebhook(
  database: RampDatabase,
  projectId: ProjectId,
  webhookId: string,
): Promise<Outcome<{ eventId: string }>> {
  return database.inProject(projectId, async (tx) => {
    const [webhook] = await readWebhooks(tx, webhookId);
    if (webhook === undefined) return failed(noWebhook(webhookId));
    if (!webhook.enabled) return failed("The webhook is switched off: `webhook enable` switches it on.");
    return succeeded({ eventId: recordTest(tx, webhook) });
  });
}

/** An event for this endpoint alone, whatever its types are. Returns its id. */
export function recordTest(tx: ProjectTransaction, { webhookId }: Pick<ListedWebhook, "webhookId">): string {
  return recordEvent(tx, { type: "webhook.test", intentId: null, data: { webhookId }, only: webhookId });
}

/** Changes the address of an endpoint, and switches it on; pending deliveries go to the new one, and the secret stays. */
export async function setWebhook(
  database: RampDatabase,
  projectId: ProjectId,
  { webhookId, ...address }: WebhookAddress & { readonly webhookId: string },
): Promise<Outcome<{ webhookId: string }>> {
  const problem = await addressProblem(address, projectId);
  if (problem !== null) return failed(problem);
  const { url, allowPrivate, concurrency = null, eventTypes = null } = address;
  return database.inProject(projectId, (tx) =>
    changeWebhook(
      tx,
      webhookId,
      `${FORGET_RESULT}, url = $2, allow_private = $3, enabled = true, gone_at = NULL, concurrency = COALESCE($4, concurrency), event_types = COALESCE($5, event_types)`,
      [url, allowPrivate, concurrency, eventTypes],
    ),
  );
}

/** Deletes an endpoint: it gets nothing more, and what waits for it is dropped. */
export function deleteWebhook(
  database: RampDatabase,
  projectId: ProjectId,
  webhookId: string,
): Promise<Outcome<{ webhookId: string }>> {
  return database.inProject(projectId, (tx) => dropWebhook(tx, webhookId));
}

export async function dropWebhook(
  tx: ProjectTransaction,
  webhookId: string,
): Promise<Outcome<{ webhookId: string }>> {
  const deleted = await changeWebhook(tx, webhookId, "deleted_at = now(), enabled = false");
  if (deleted.ok) giveUpDeliveries(tx, tx.projectId, deleted.value.webhookId, "endpoint deleted");
  return deleted;
}

/** Which deliveries are repeated: those that match all fields. */
export interface ReplayFilter {
  readonly event?: string;
  /** When the event happened. */
  readonly since?: string;
  readonly until?: string;
  /** Status of the delivery. Default: EXHAUSTED if no other field is given, else any. */
  readonly status?: string;
}

const STATUSES: ReadonlySet<string> = new Set(["PENDING", "DELIVERED", "EXHAUSTED"]);

/** Makes the deliveries that match the filter due again. Returns how many. */
export async function replayWebhooks(
  database: RampDatabase,
  projectId: ProjectId,
  { event, since, until, status }: ReplayFilter,
): Promise<Outcome<{ replayed: number }>> {
  if (event !== undefined && !isUuid(event)) return failed(`${event} is not an event id.`);
  const invalid = [since, until].find((time) => time !== undefined && Number.isNaN(Date.parse(time)));
  if (invalid !== undefined) return failed(`${invalid} is not a time such as 2026-01-31T12:00:00Z.`);
  if (status !== undefined && !STATUSES.has(status))
    return failed(`The status must be one of ${[...STATUSES].join(", ")}.`);
  const replayedStatus =
    status ?? (event === undefined && since === undefined && until === undefined ? "EXHAUSTED" : null);
  const values = [event ?? null, since ?? null, until ?? null, replayedStatus];
  const rows = await database.of(projectId).rows(REPLAY, values);
  return succeeded({ replayed: rows.length });
}

const REPLAY = `UPDATE ramp.webhook_deliveries d SET status = 'PENDING', attempts = 0, attempt_at = now(), attempted_until = NULL, updated_at = now()
  FROM ramp.webhook_endpoints e, ramp.events v
  WHERE e.project_id = d.project_id AND e.id = d.endpoint_id AND e.enabled AND v.project_id = d.project_id AND v.id = d.event_id
    AND ($1::uuid IS NULL OR v.id = $1) AND ($2::timestamptz IS NULL OR v.created_at >= $2)
    AND ($3::timestamptz IS NULL OR v.created_at <= $3) AND ($4::text IS NULL OR d.status = $4) RETURNING d.id`;

/** Makes all deliveries of an event due again. Returns how many. */
export async function replayEvent(tx: ProjectTransaction, event: string): Promise<number> {
  return (await tx.rows(REPLAY, [event, null, null, null])).length;
}
