import type { AccountSide } from "../accounts/account-details.js";
import type { ProjectId } from "../database/id.js";
import type { PageRequest } from "../database/ramp-database.js";
import { OF_PROJECT, ofProject, type ProjectTransaction } from "../database/transaction.js";
import type { Instruction, Rail } from "../providers/protocol.js";
import { recordEvent } from "../webhooks/events.js";
import type { Intent } from "./intent.js";

/**
 * A deposit account: standing instructions that a provider gives a customer. Each payment that arrives there becomes an intent of its own
 * (record-deposit.ts). What moves it (runtime/ramp/docs/deposit-accounts.md, States): the database refuses all other moves; tests compare this
 * table with the database's and with the page's.
 */
export const DEPOSIT_ACCOUNT_MOVES = {
  PENDING: {
    ACTIVE: "the provider gives the instructions",
    REFUSED: "the provider refuses it, such as for the customer's identity",
    CLOSED: "it is closed before the provider has answered",
  },
  ACTIVE: { CLOSED: "it is closed by the customer, the project or the provider" },
  REFUSED: {},
  CLOSED: {},
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;

export type DepositAccountStatus = keyof typeof DEPOSIT_ACCOUNT_MOVES;

export const DEPOSIT_ACCOUNT_STATUSES = Object.keys(DEPOSIT_ACCOUNT_MOVES) as readonly DepositAccountStatus[];

export interface StoredDepositAccount {
  readonly id: string;
  readonly projectId: ProjectId;
  readonly customerId: string;
  readonly connectionId: string;
  readonly connectionVersion: number;
  /** The provider's name, and its code. */
  readonly provider: string;
  readonly providerCode: string;
  readonly type: Intent["type"];
  readonly status: DepositAccountStatus;
  readonly src: AccountSide;
  readonly dest: AccountSide;
  readonly rail: Rail;
  readonly sandbox: boolean;
  /** The bytes of the order; null once the customer's data is deleted. */
  readonly orderBody: string | null;
  readonly instructions: readonly Instruction[];
  readonly failureReason: string | null;
  /** The provider's id of the last payment that was read. */
  readonly lastDeposit: string | null;
  readonly isCloseRequested: boolean;
  /** What is wrong with the provider's answers; null: nothing is. */
  readonly attention: string | null;
  readonly failedAttempts: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const SELECT = `SELECT a.id, a.project_id AS "projectId", a.customer_id AS "customerId", a.connection_id AS "connectionId",
    a.connection_version AS "connectionVersion", c.capabilities ->> 'name' AS provider, c.code AS "providerCode", a.type, a.status,
    json_build_object('currencyCode', a.src_currency, 'details', a.src_details) AS src,
    json_build_object('currencyCode', a.dest_currency, 'details', a.dest_details) AS dest, a.rail, a.sandbox, a.order_body AS "orderBody",
    a.instructions, a.failure_reason AS "failureReason", a.last_deposit AS "lastDeposit", a.close_requested_at IS NOT NULL AS "isCloseRequested",
    a.attention, a.failed_attempts AS "failedAttempts", a.created_at AS "createdAt", a.updated_at AS "updatedAt"
  FROM ramp.deposit_accounts a JOIN ramp.provider_connections c ON c.project_id = a.project_id AND c.id = a.connection_id`;

/** @param customerId another customer's account does not exist for this one; undefined: any customer's */
export async function readDepositAccount(
  tx: ProjectTransaction,
  id: string,
  customerId?: string,
): Promise<StoredDepositAccount | null> {
  const account = await tx.row<StoredDepositAccount>(`${SELECT} WHERE ${ofProject("a")} AND a.id = $1`, [id]);
  return account?.customerId === (customerId ?? account?.customerId) ? account : null;
}

/** Reads an account and keeps it from changing until the transaction ends; null: there is none. */
export async function lockDepositAccount(
  tx: ProjectTransaction,
  id: string,
  customerId?: string,
): Promise<StoredDepositAccount | null> {
  tx.write(`SELECT FROM ramp.deposit_accounts WHERE ${OF_PROJECT} AND id = $1 FOR NO KEY UPDATE`, [id]);
  return readDepositAccount(tx, id, customerId);
}

/** Accounts, newest first; one more than `limit` when there are more. Null: `startingAfter` names none. */
export async function listDepositAccounts(
  tx: ProjectTransaction,
  customerId: string | undefined,
  { limit, startingAfter }: PageRequest,
): Promise<readonly StoredDepositAccount[] | null> {
  if (startingAfter !== null && (await readDepositAccount(tx, startingAfter, customerId)) === null)
    return null;
  return tx.rows<StoredDepositAccount>(
    `${SELECT} WHERE ${ofProject("a")} AND ($1::text IS NULL OR a.customer_id = $1) AND ($2::uuid IS NULL OR (a.created_at, a.id) <
       (SELECT b.created_at, b.id FROM ramp.deposit_accounts b WHERE ${ofProject("b")} AND b.id = $2))
     ORDER BY a.created_at DESC, a.id DESC LIMIT $3`,
    [customerId ?? null, startingAfter, limit + 1],
  );
}

/** Open accounts of a customer, counted. */
export async function countOpenAccounts(tx: ProjectTransaction, customerId: string): Promise<number> {
  const row = await tx.row<{ readonly count: number }>(
    `SELECT count(*)::int AS count FROM ramp.deposit_accounts WHERE ${OF_PROJECT} AND customer_id = $1 AND status IN ('PENDING', 'ACTIVE')`,
    [customerId],
  );
  return row?.count ?? 0;
}

/** @param pollAt when a worker opens it, unless its creator has by then */
export function insertDepositAccount(
  tx: ProjectTransaction,
  account: StoredDepositAccount,
  pollAt: Date,
): void {
  const { id, customerId, connectionId, connectionVersion, type, status, src, dest, rail, sandbox } = account;
  tx.insert("deposit_accounts", {
    ...{ id, customerId, connectionId, connectionVersion, type, status, rail, sandbox },
    ...{ srcCurrency: src.currencyCode, srcDetails: src.details },
    ...{ destCurrency: dest.currencyCode, destDetails: dest.details },
    ...{ orderBody: account.orderBody, nextPollAt: pollAt, createdAt: tx.now, updatedAt: tx.now },
  });
  recordAccount(tx, account);
}

/** Records that the account is to be closed; the provider is asked at once. */
export function requestClose(tx: ProjectTransaction, account: StoredDepositAccount): StoredDepositAccount {
  tx.write(
    `UPDATE ramp.deposit_accounts SET close_requested_at = COALESCE(close_requested_at, now()), next_poll_at = now(), poll_requested = true
     WHERE ${OF_PROJECT} AND id = $1`,
    [account.id],
  );
  return { ...account, isCloseRequested: true };
}

/** Moves an account, with its event; what is no move changes nothing. */
export function moveDepositAccount(
  tx: ProjectTransaction,
  account: StoredDepositAccount,
  change: Pick<StoredDepositAccount, "status"> &
    Partial<Pick<StoredDepositAccount, "instructions" | "failureReason">>,
): StoredDepositAccount {
  if (!(change.status in DEPOSIT_ACCOUNT_MOVES[account.status])) return account;
  const moved = { ...account, ...change, updatedAt: tx.now };
  const { status, failureReason, updatedAt } = moved;
  tx.update("deposit_accounts", account.id, {
    ...{ status, failureReason, updatedAt },
    instructions: JSON.stringify(moved.instructions),
  });
  recordAccount(tx, moved);
  return moved;
}

/** Tells of an account, without its details. */
function recordAccount(tx: ProjectTransaction, account: StoredDepositAccount): void {
  const { id: depositAccountId, customerId, status, type, src, dest, rail, failureReason } = account;
  const { provider, providerCode, connectionId: providerId, sandbox } = account;
  const data = {
    ...{ depositAccountId, customerId, status, type, rail },
    ...{ srcCurrencyCode: src.currencyCode, destCurrencyCode: dest.currencyCode },
    ...{ provider, providerId, providerCode, livemode: !sandbox },
    ...(failureReason !== null && { failureReason }),
  };
  recordEvent(tx, { type: "deposit_account.updated", intentId: null, data });
}

/** For a provider's callback: plans a look-up of the account and of its open payments. False: there is no such account. */
export async function requestAccountPoll(
  tx: ProjectTransaction,
  id: string,
  connectionId: string,
  versions: readonly number[],
): Promise<boolean> {
  const found = await tx.row(
    `UPDATE ramp.deposit_accounts SET poll_requested = true, next_poll_at = now()
     WHERE ${OF_PROJECT} AND id = $1 AND connection_id = $2 AND connection_version = ANY($3::int[]) AND status <> 'REFUSED' RETURNING id`,
    [id, connectionId, versions],
  );
  if (found === null) return false;
  tx.write(
    `UPDATE ramp.intents SET poll_requested = true, next_poll_at = CASE WHEN lease_owner IS NULL THEN now() ELSE lease_expires_at END
     WHERE ${OF_PROJECT} AND deposit_account_id = $1 AND next_poll_at IS NOT NULL AND (NOT is_ended OR updated_at > now() - interval '7 days')`,
    [id],
  );
  return true;
}

/** The newest intent of the customer at a provider whose checks have been decided, if they are complete: the provider knows the customer by it. */
export async function completedOnboarding(
  tx: ProjectTransaction,
  customerId: string,
  connectionId: string,
): Promise<string | null> {
  const newest = await tx.row<{ readonly id: string; readonly isMet: boolean }>(
    `SELECT i.id, i.status <> 'COMPLIANCE_FAILED' AS "isMet" FROM ramp.intents i
     LEFT JOIN ramp.transactions t ON t.project_id = i.project_id AND t.intent_id = i.id
     WHERE ${ofProject("i")} AND i.customer_id = $1 AND i.connection_id = $2 AND i.deposit_account_id IS NULL
       AND (i.status IN ('PENDING_PAYMENT', 'COMPLIANCE_FAILED') OR t.id IS NOT NULL)
     ORDER BY i.created_at DESC, i.id DESC LIMIT 1`,
    [customerId, connectionId],
  );
  return newest?.isMet ? newest.id : null;
}
