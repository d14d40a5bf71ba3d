import { ClaimWorker } from "@routewright/runtime/internal/core/http/claim-worker.js";
import { failpoint } from "../core/failpoints.js";
import { type ProjectId, projectId } from "../database/id.js";
import { OF_PROJECT, type OperatorTransaction, type ProjectTransaction } from "../database/transaction.js";
import type { DepositAccount } from "../providers/deposit-messages.js";
import { type ProviderReply, reasonOf } from "../providers/provider.js";
import type { ProviderConnection } from "../providers/provider-connections.js";
import {
  lockDepositAccount,
  moveDepositAccount,
  readDepositAccount,
  type StoredDepositAccount,
} from "./deposit-account.js";
import { type ProviderAnswer, recordAnswer } from "./provider-answers.js";
import { grownInterval, type IntentContext, type PollingPolicy } from "./lease.js";
import { readDeposit, recordDeposit } from "./record-deposit.js";

/**
 * Opens a deposit account at its provider, closes it, or reads the payments that have arrived: calls the provider with no transaction open and
 * records the answer. Requests, callbacks, the worker and recovery after a crash all use this function; two at once record the same.
 */
export async function processDepositAccount(
  ramp: IntentContext,
  project: ProjectId,
  id: string,
): Promise<void> {
  const { database, log } = ramp;
  for (;;) {
    const account = await database.inProject(project, (tx) => readDepositAccount(tx, id));
    if (account === null || account.status === "REFUSED") return;
    const reply = await ask(account, await ramp.providers.get(account));
    await failpoint("deposits.answered");
    if (reply.kind !== "answer")
      log.warn(
        { depositAccount: id, connection: account.connectionId, reason: reasonOf(reply) },
        "deposit account not answered",
      );
    const isDone = await database.inProject(project, (tx) => record(ramp, tx, account, reply));
    await failpoint("deposits.recorded");
    if (isDone) return;
  }
}

function operationOf({
  status,
  orderBody,
  isCloseRequested,
}: StoredDepositAccount): ProviderAnswer["operation"] {
  if (isCloseRequested && status !== "CLOSED") return "closeDepositAccount";
  return status === "PENDING" && orderBody !== null ? "openDepositAccount" : "checkDepositAccount";
}

/** What the provider is asked. An order that it refuses is looked up, as an onboarding is. */
async function ask(
  account: StoredDepositAccount,
  { provider }: ProviderConnection,
): Promise<ProviderReply<DepositAccount>> {
  const { id, orderBody, lastDeposit } = account;
  const operation = operationOf(account);
  if (operation === "closeDepositAccount") return provider.closeDepositAccount(id);
  if (operation !== "openDepositAccount" || orderBody === null)
    return provider.depositAccount(id, lastDeposit);
  const opened = await provider.openDepositAccount(id, orderBody);
  if (opened.kind !== "refused") return opened;
  const found = await provider.depositAccount(id, null);
  if (found.kind === "unknown") return opened;
  return found.kind === "answer" ? found : { kind: "unavailable", reason: reasonOf(found), isOutage: false };
}

/** Records an answer under the lock of the account. Returns whether the account waits now: false, ask again. */
async function record(
  ramp: IntentContext,
  tx: ProjectTransaction,
  asked: StoredDepositAccount,
  reply: ProviderReply<DepositAccount>,
): Promise<boolean> {
  // Before the account, as an erasure locks them: it waits for the intents of these payments.
  tx.write(`SELECT FROM ramp.customers WHERE ${OF_PROJECT} AND id = $1 FOR SHARE`, [asked.customerId]);
  const account = await lockDepositAccount(tx, asked.id);
  if (account === null) return true;
  if (account.orderBody !== null)
    recordAnswer(tx, ramp.vault, account, { operation: operationOf(asked), reply });
  if (reply.kind === "refused" && account.status === "PENDING" && !account.isCloseRequested) {
    moveDepositAccount(tx, account, { status: "REFUSED", failureReason: reply.message });
    plan(tx, account, {
      attention: null,
      failedAttempts: 0,
      nextPollAt: null,
      lastDeposit: account.lastDeposit,
    });
    return true;
  }
  if (reply.kind !== "answer" || reply.value.id !== account.id) {
    const failedAttempts = account.failedAttempts + 1;
    const reason = reply.kind === "answer" ? "answer about another account" : reasonOf(reply);
    const isClear = reply.kind === "answer" || reply.kind === "invalid" || reply.kind === "unknown";
    const attention = isClear || failedAttempts >= ramp.polling.attentionAfter ? reason : account.attention;
    plan(tx, account, {
      attention,
      failedAttempts,
      nextPollAt: pauseUntil(tx, failedAttempts, ramp.polling),
      lastDeposit: account.lastDeposit,
    });
    return true;
  }
  return recordState(ramp, tx, { asked, account }, reply.value);
}

async function recordState(
  ramp: IntentContext,
  tx: ProjectTransaction,
  { asked, account }: { readonly asked: StoredDepositAccount; readonly account: StoredDepositAccount },
  { status, instructions, deposits }: DepositAccount,
): Promise<boolean> {
  const opened = status === "ACTIVE" || account.status === "PENDING" ? { status, instructions } : { status };
  const moved = moveDepositAccount(tx, account, opened);
  let [attention, lastDeposit, isNew]: [string | null, string | null, boolean] = [
    null,
    account.lastDeposit,
    false,
  ];
  for (const deposit of deposits) {
    const read = readDeposit(ramp, account, deposit);
    if ("problem" in read) attention ??= read.problem;
    else if (await recordDeposit(ramp, tx, account, read)) isNew = true;
    // What cannot be read is read again: those after it are recorded meanwhile.
    if (attention === null && asked.lastDeposit === account.lastDeposit) lastDeposit = deposit.id;
  }
  const isAhead = lastDeposit !== account.lastDeposit;
  const isToClose = moved.isCloseRequested && moved.status === "ACTIVE" && !asked.isCloseRequested;
  const failedAttempts = attention === null ? 0 : account.failedAttempts + 1;
  const current = isNew ? { ...moved, updatedAt: tx.now } : moved;
  const nextPollAt =
    attention === null ? nextLookUp(tx, current, ramp.polling) : pauseUntil(tx, failedAttempts, ramp.polling);
  plan(tx, current, { attention, failedAttempts, nextPollAt, lastDeposit });
  return !isAhead && !isToClose;
}

interface PollPlan {
  readonly attention: string | null;
  readonly failedAttempts: number;
  readonly nextPollAt: Date | null;
  readonly lastDeposit: string | null;
}

/** At once where a look-up was requested meanwhile. */
function plan(
  tx: ProjectTransaction,
  { id, updatedAt }: StoredDepositAccount,
  { attention, failedAttempts, nextPollAt, lastDeposit }: PollPlan,
): void {
  tx.write(
    `UPDATE ramp.deposit_accounts SET attention = $2, failed_attempts = $3, next_poll_at = CASE WHEN poll_requested THEN now() ELSE $4::timestamptz END,
       poll_requested = false, last_deposit = $5, updated_at = $6 WHERE ${OF_PROJECT} AND id = $1`,
    [id, attention?.slice(0, 500) ?? null, failedAttempts, nextPollAt, lastDeposit, updatedAt],
  );
}

function pauseUntil(
  { now }: ProjectTransaction,
  failedAttempts: number,
  { firstBackoffMs, maxBackoffMs }: PollingPolicy,
): Date {
  return new Date(
    now.getTime() + Math.min(firstBackoffMs * 2 ** Math.min(failedAttempts - 1, 20), maxBackoffMs),
  );
}

/** A closed account is looked up for as long as an ended order is: money can still arrive. */
function nextLookUp(
  { now }: ProjectTransaction,
  { status, updatedAt, isCloseRequested }: StoredDepositAccount,
  policy: PollingPolicy,
): Date | null {
  const time = now.getTime();
  if (status === "CLOSED") {
    if (time >= updatedAt.getTime() + policy.followUpMs) return null;
    return new Date(time + grownInterval(time, updatedAt, policy.followUpPollMs, policy.maxFollowUpPollMs));
  }
  const first = isCloseRequested ? policy.executionPollMs : policy.compliancePollMs;
  return new Date(time + grownInterval(time, updatedAt, first, policy.maxPollMs));
}

/** How often due accounts are looked for. A callback to this process starts a look-up at once. */
const POLL_MS = 500;
/** Accounts of a process at a time, and of one connection: a slow provider delays its own. */
const MAX_IN_FLIGHT = 50;
const PER_CONNECTION = 5;

interface DueAccount {
  readonly projectId: string;
  readonly id: string;
  readonly connectionId: string;
}

export function startDepositAccountWorker(ramp: IntentContext): ClaimWorker<DueAccount> {
  return new ClaimWorker<DueAccount>(
    {
      name: "deposit accounts",
      pollMs: POLL_MS,
      maxInFlight: MAX_IN_FLIGHT,
      claim: (capacity, inUse) =>
        ramp.database.asOperator((tx) => claimDue(tx, inUse, capacity, ramp.polling)),
      holderOf: ({ connectionId }) => connectionId,
      run: ({ projectId: project, id }) => processDepositAccount(ramp, projectId(project), id),
    },
    ramp.log,
  );
}

/** Until the lease ends nobody else asks: after a crash the account is due again. */
function claimDue(
  tx: OperatorTransaction,
  inUse: ReadonlyMap<string, number>,
  capacity: number,
  { leaseMs }: PollingPolicy,
): Promise<DueAccount[]> {
  return tx.rows<DueAccount>(
    `WITH ranked AS (
       SELECT project_id, id, next_poll_at, row_number() OVER (PARTITION BY project_id, connection_id ORDER BY next_poll_at) AS place
       FROM ramp.deposit_accounts WHERE next_poll_at <= $2),
     due AS (
       SELECT a.project_id, a.id FROM ramp.deposit_accounts a JOIN ranked r USING (project_id, id)
       LEFT JOIN unnest($4::uuid[], $5::int[]) AS busy (id, used) ON busy.id = a.connection_id
       WHERE r.place <= ${String(PER_CONNECTION)} - COALESCE(busy.used, 0) AND a.next_poll_at <= $2 ORDER BY a.next_poll_at LIMIT $1 FOR NO KEY UPDATE OF a SKIP LOCKED)
     UPDATE ramp.deposit_accounts a SET poll_requested = false, next_poll_at = $2::timestamptz + make_interval(secs => $3)
     FROM due WHERE a.project_id = due.project_id AND a.id = due.id RETURNING a.project_id AS "projectId", a.id, a.connection_id AS "connectionId"`,
    [capacity, tx.now, leaseMs / 1_000, [...inUse.keys()], [...inUse.values()]],
  );
}
