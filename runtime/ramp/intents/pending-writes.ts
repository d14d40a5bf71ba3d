import { OF_PROJECT, type ProjectTransaction } from "../database/ramp-database.js";
import type { IntentStatus, Requirement, RequirementStatus } from "./intent.js";

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
export function writeRequirement(
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
    const names = [...columns.keys()].map((name, at) => `${name} = $${String(at + 2)}`);
    tx.write(`UPDATE ramp.intents SET ${names.join(", ")} WHERE ${OF_PROJECT} AND id = $1`, [
      id,
      ...columns.values(),
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
