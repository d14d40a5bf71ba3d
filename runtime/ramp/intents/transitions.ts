import { recordEvent } from "../webhooks/record-event.js";
import { OF_PROJECT, type ProjectTransaction } from "../database/ramp-database.js";
import { newId } from "../database/id.js";
import type { Intent, Requirement, Transaction, IntentStatus, RequirementStatus } from "./intent.js";

/** State changes. Each writes the row and its event with the transaction's commit and returns the changed intent. */

export function moveIntent(
  tx: ProjectTransaction,
  intent: Intent,
  status: IntentStatus,
  failureReason: string | null = null,
): Intent {
  const moved = { ...intent, status, failureReason, updatedAt: new Date() };
  writeIntent(tx, intent.id, { failure_reason: failureReason, updated_at: moved.updatedAt }, status);
  recordIntentEvent(tx, moved, intent.status);
  return moved;
}

/** `previous` is null for a new intent. */
export function recordIntentEvent(
  tx: ProjectTransaction,
  { id, customerId, type, status, failureReason }: Omit<Intent, "customerReference" | "wallets">,
  previous: IntentStatus | null,
): void {
  recordEvent(tx, "intent.status_changed", {
    intentId: id,
    customerId,
    type,
    status,
    previousStatus: previous,
    failureReason,
  });
}

export function addRequirement(tx: ProjectTransaction, intent: Intent, requirement: Requirement): Intent {
  const { code, status } = requirement;
  const position = intent.requirements.length;
  writeRequirement(tx, { intentId: intent.id, code }, status, { ...requirement, position });
  recordRequirementEvent(tx, intent, code, status);
  return { ...intent, requirements: [...intent.requirements, requirement] };
}

export function moveRequirement(
  tx: ProjectTransaction,
  intent: Intent,
  code: string,
  status: RequirementStatus,
): Intent {
  writeRequirement(tx, { intentId: intent.id, code }, status);
  recordRequirementEvent(tx, intent, code, status);
  const requirements = intent.requirements.map((item) => (item.code === code ? { ...item, status } : item));
  return { ...intent, requirements };
}

function recordRequirementEvent(
  tx: ProjectTransaction,
  { id, customerId }: Intent,
  requirementCode: string,
  status: RequirementStatus,
): void {
  recordEvent(tx, "compliance.updated", { intentId: id, customerId, requirementCode, status });
}

/** Creates the intent's only transaction. Fails in the database when it has one. */
export function createPayment(tx: ProjectTransaction, intent: Intent): Intent {
  const now = new Date();
  const transaction: Transaction = {
    id: newId(),
    status: "PENDING",
    providerReference: null,
    instructions: [],
    failureReason: null,
    receipt: null,
    refund: null,
    refusalReason: null,
    createdAt: now,
    updatedAt: now,
  };
  tx.write(
    "INSERT INTO ramp.transactions (id, intent_id, status, created_at, updated_at) VALUES ($1, $2, 'PENDING', $3, $3)",
    [transaction.id, intent.id, now],
  );
  recordTransactionEvent(tx, intent, transaction);
  return { ...intent, transaction };
}

/** The parts of a transaction that a provider's answer changes. */
export type TransactionChange = Partial<
  Pick<Transaction, "status" | "providerReference" | "instructions" | "failureReason" | "receipt" | "refund">
>;

/** Records that the provider refused the order, before anything is done about it: a crash must not lose the reason. */
export function recordRefusal(tx: ProjectTransaction, intent: Intent, reason: string): Intent {
  const { transaction } = intent;
  if (transaction === null) throw new Error("The intent has no transaction.");
  tx.write(`UPDATE ramp.transactions SET refusal_reason = $2 WHERE ${OF_PROJECT} AND id = $1`, [
    transaction.id,
    reason,
  ]);
  return { ...intent, transaction: { ...transaction, refusalReason: reason } };
}

export function updateTransaction(
  tx: ProjectTransaction,
  intent: Intent,
  before: Transaction,
  change: TransactionChange,
): Intent {
  const transaction: Transaction = { ...before, ...change, refusalReason: null, updatedAt: new Date() };
  const { id, status, providerReference, instructions, failureReason, receipt, refund, updatedAt } =
    transaction;
  tx.write(
    `UPDATE ramp.transactions SET status = $2, provider_reference = $3, instructions = $4, failure_reason = $5, updated_at = $6,
       receipt = $7, refund = $8, refusal_reason = NULL WHERE ${OF_PROJECT} AND id = $1`,
    [
      id,
      status,
      providerReference,
      JSON.stringify(instructions),
      failureReason,
      updatedAt,
      receipt && JSON.stringify(receipt),
      refund && JSON.stringify(refund),
    ],
  );
  recordTransactionEvent(tx, intent, transaction);
  return { ...intent, transaction };
}

function recordTransactionEvent(
  tx: ProjectTransaction,
  { id, customerId }: Intent,
  { id: transactionId, status, failureReason, refund }: Transaction,
): void {
  recordEvent(tx, "transaction.updated", {
    intentId: id,
    customerId,
    transactionId,
    status,
    failureReason,
    ...(refund ? { refund } : {}),
  });
}

/** Writes whether the intent needs the operator's attention, and why. */
export function recordAttention(tx: ProjectTransaction, { id, customerId, attentionReason }: Intent): void {
  tx.write(
    `UPDATE ramp.intents SET attention_reason = $2,
       attention_since = CASE WHEN $2::text IS NOT NULL THEN COALESCE(attention_since, now()) END WHERE ${OF_PROJECT} AND id = $1`,
    [id, attentionReason],
  );
  recordEvent(tx, "intent.attention", { intentId: id, customerId, reason: attentionReason });
}

/**
 * Changes of an intent and its requirements, written as one statement per row right before the commit: each version of a row
 * costs entries in all indexes and checks of all foreign keys.
 */
interface PendingWrites {
  readonly intents: Map<string, { readonly columns: Map<string, unknown>; readonly moves: IntentStatus[] }>;
  readonly requirements: Map<string, PendingRequirement>;
}

interface PendingRequirement {
  readonly intentId: string;
  readonly code: string;
  readonly moves: RequirementStatus[];
  /** Null: the row exists. */
  added: (Requirement & { readonly position: number }) | null;
}

const pending = new WeakMap<ProjectTransaction, PendingWrites>();

function writesOf(tx: ProjectTransaction): PendingWrites {
  const known = pending.get(tx);
  if (known) return known;
  const writes: PendingWrites = { intents: new Map(), requirements: new Map() };
  pending.set(tx, writes);
  tx.beforeCommit(() => flush(tx, writes));
  return writes;
}

/** A column's new value that depends on the row. */
export class ComputedValue {
  readonly value: unknown;
  /** The assigned expression, given the parameter of `value`. */
  readonly sql: (parameter: string) => string;

  constructor(value: unknown, sql: (parameter: string) => string) {
    this.value = value;
    this.sql = sql;
  }
}

/** Sets columns of an intent's row, by their names in the database; a later value of the transaction counts. */
export function writeIntent(
  tx: ProjectTransaction,
  id: string,
  columns: Readonly<Record<string, unknown>>,
  move: IntentStatus | null = null,
): void {
  const { intents } = writesOf(tx);
  const write = intents.get(id) ?? { columns: new Map<string, unknown>(), moves: [] };
  intents.set(id, write);
  for (const [name, value] of Object.entries(columns)) write.columns.set(name, value);
  if (move !== null) write.moves.push(move);
}

/** Moves a requirement; `added`: its row is new. */
function writeRequirement(
  tx: ProjectTransaction,
  { intentId, code }: Pick<PendingRequirement, "intentId" | "code">,
  status: RequirementStatus,
  added: PendingRequirement["added"] = null,
): void {
  const { requirements } = writesOf(tx);
  const key = `${intentId} ${code}`;
  const write = requirements.get(key) ?? { intentId, code, moves: [], added };
  requirements.set(key, write);
  write.moves.push(status);
}

function flush(tx: ProjectTransaction, { intents, requirements }: PendingWrites): void {
  for (const write of requirements.values()) flushRequirement(tx, write);
  for (const [id, { columns, moves }] of intents) {
    const status = moves.at(-1);
    if (status !== undefined) columns.set("status", status).set("moves", moves);
    const assignments = [...columns].map(([name, value], at) => {
      const parameter = `$${String(at + 2)}`;
      return `${name} = ${value instanceof ComputedValue ? value.sql(parameter) : parameter}`;
    });
    const values = [...columns.values()].map((value) =>
      value instanceof ComputedValue ? value.value : value,
    );
    tx.write(`UPDATE ramp.intents SET ${assignments.join(", ")} WHERE ${OF_PROJECT} AND id = $1`, [
      id,
      ...values,
    ]);
  }
}

function flushRequirement(
  tx: ProjectTransaction,
  { intentId, code, moves, added }: PendingRequirement,
): void {
  const key = [intentId, code, moves.at(-1), moves];
  if (added === null)
    return tx.write(
      `UPDATE ramp.requirements SET status = $3, moves = $4, updated_at = now() WHERE ${OF_PROJECT} AND intent_id = $1 AND code = $2`,
      key,
    );
  tx.write(
    "INSERT INTO ramp.requirements (intent_id, code, status, moves, position, title, form) VALUES ($1, $2, $3, $4, $5, $6, $7)",
    [...key, added.position, added.title, added.form],
  );
}
