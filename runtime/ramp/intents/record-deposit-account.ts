import { OF_PROJECT, type ProjectTransaction, refusedWrite } from "../database/transaction.js";
import type { Deposit, DepositAccount } from "../providers/deposit-messages.js";
import { type ProviderReply, reasonOf } from "../providers/provider.js";
import { lockDepositAccount, moveDepositAccount, type StoredDepositAccount } from "./deposit-account.js";
import { type ProviderAnswer, recordAnswer } from "./provider-answers.js";
import { grownInterval, type IntentContext, type PollingPolicy } from "./lease.js";
import { readDeposit, recordDeposit } from "./record-deposit.js";

/** What a provider is asked about an account as it is. */
export function operationOf({
  status,
  orderBody,
  isCloseRequested,
}: StoredDepositAccount): ProviderAnswer["operation"] {
  if (isCloseRequested && status !== "CLOSED") return "closeDepositAccount";
  return status === "PENDING" && orderBody !== null ? "openDepositAccount" : "checkDepositAccount";
}

/** A payment as recorded: what it needs a person for, and whether it is a new intent. */
interface RecordedPayment {
  readonly id: string;
  readonly problem: string | null;
  readonly isNew: boolean;
}

/** What was heard of an account. */
interface Heard {
  readonly reply: ProviderReply<DepositAccount>;
  readonly payments: readonly RecordedPayment[];
  /** Why the database refuses to record it. */
  readonly refusal: string | null;
}

/**
 * Records an answer: each payment in a transaction of its own, so that one that the database refuses holds neither others nor the account
 * back; then the account. Returns whether it waits now: false, ask again.
 */
export async function recordDepositAccount(
  ramp: IntentContext,
  asked: StoredDepositAccount,
  reply: ProviderReply<DepositAccount>,
): Promise<boolean> {
  const listed = reply.kind === "answer" && reply.value.id === asked.id ? reply.value.deposits : [];
  const payments: RecordedPayment[] = [];
  for (const deposit of listed) payments.push(await recordPayment(ramp, asked, deposit));
  const recorded = (refusal: string | null): Promise<boolean> =>
    ramp.database.inProject(asked.projectId, async (tx) => {
      const account = await locked(tx, asked);
      return account === null || record(ramp, tx, { asked, account }, { reply, payments, refusal });
    });
  return recorded(null).catch((error: unknown) => {
    const refusal = refusedWrite(error);
    if (refusal === null) throw error;
    logRefusal(ramp, asked, { reason: refusal });
    return recorded(`the database refuses to record the answer (${refusal})`);
  });
}

async function recordPayment(
  ramp: IntentContext,
  asked: StoredDepositAccount,
  deposit: Deposit,
): Promise<RecordedPayment> {
  const { id } = deposit;
  const read = readDeposit(ramp, asked, deposit);
  if ("problem" in read) return { id, problem: read.problem, isNew: false };
  try {
    const isNew = await ramp.database.inProject(asked.projectId, async (tx) => {
      const account = await locked(tx, asked);
      return account !== null && recordDeposit(ramp, tx, account, read);
    });
    return { id, problem: null, isNew };
  } catch (error) {
    const refusal = refusedWrite(error);
    if (refusal === null) throw error;
    logRefusal(ramp, asked, { deposit: id, reason: refusal });
    return { id, problem: `deposit ${id}: the database refuses to record it (${refusal})`, isNew: false };
  }
}

function logRefusal({ log }: IntentContext, { id, connectionId }: StoredDepositAccount, what: object): void {
  log.error({ depositAccount: id, connection: connectionId, ...what }, "provider answer not recorded");
}

/** Its customer first, as an erasure locks them: it waits for the intents of these payments. */
function locked(
  tx: ProjectTransaction,
  { id, customerId }: StoredDepositAccount,
): Promise<StoredDepositAccount | null> {
  tx.write(`SELECT FROM ramp.customers WHERE ${OF_PROJECT} AND id = $1 FOR SHARE`, [customerId]);
  return lockDepositAccount(tx, id);
}

/** The account as it was when the provider was asked, and as it is. */
interface AskedAccount {
  readonly asked: StoredDepositAccount;
  readonly account: StoredDepositAccount;
}

/** Records an answer under the lock of the account. Returns whether the account waits now. */
function record(ramp: IntentContext, tx: ProjectTransaction, both: AskedAccount, heard: Heard): boolean {
  const { asked, account } = both;
  const { reply, refusal } = heard;
  if (account.orderBody !== null)
    recordAnswer(tx, ramp.vault, account, { operation: operationOf(asked), reply });
  if (refusal === null && reply.kind === "answer" && reply.value.id === account.id)
    return recordState(ramp, tx, both, { ...heard, state: reply.value });
  const { lastDeposit } = account;
  if (
    refusal === null &&
    reply.kind === "refused" &&
    account.status === "PENDING" &&
    !account.isCloseRequested
  ) {
    moveDepositAccount(tx, account, { status: "REFUSED", failureReason: reply.message });
    plan(tx, account, { attention: null, failedAttempts: 0, nextPollAt: null, lastDeposit });
    return true;
  }
  const failedAttempts = account.failedAttempts + 1;
  const reason = refusal ?? (reply.kind === "answer" ? "answer about another account" : reasonOf(reply));
  const isOfWeather = refusal === null && (reply.kind === "unavailable" || reply.kind === "refused");
  const attention =
    !isOfWeather || failedAttempts >= ramp.polling.attentionAfter ? reason : account.attention;
  const nextPollAt = pauseUntil(tx, failedAttempts, ramp.polling);
  plan(tx, account, { attention, failedAttempts, nextPollAt, lastDeposit });
  return true;
}

function recordState(
  ramp: IntentContext,
  tx: ProjectTransaction,
  { asked, account }: AskedAccount,
  { payments, state: { status, instructions } }: Heard & { readonly state: DepositAccount },
): boolean {
  const opened = status === "ACTIVE" || account.status === "PENDING" ? { status, instructions } : { status };
  const moved = moveDepositAccount(tx, account, opened);
  const first = payments.findIndex(({ problem }) => problem !== null);
  const attention = payments[first]?.problem ?? null;
  // What is not recorded is listed again: those after it are recorded meanwhile.
  const last = (first === -1 ? payments : payments.slice(0, first)).at(-1);
  const lastDeposit =
    last !== undefined && asked.lastDeposit === account.lastDeposit ? last.id : account.lastDeposit;
  const isAhead = lastDeposit !== account.lastDeposit;
  const isToClose = moved.isCloseRequested && moved.status === "ACTIVE" && !asked.isCloseRequested;
  const failedAttempts = attention === null ? 0 : account.failedAttempts + 1;
  const current = payments.some(({ isNew }) => isNew) ? { ...moved, updatedAt: tx.now } : moved;
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
