import { newId } from "../database/id.js";
import type { RampDatabase } from "../database/ramp-database.js";
import type { ProjectTransaction } from "../database/transaction.js";

/** A change, for the audit log (runtime/ramp/docs/operations.md). */
export interface AuditedAction {
  /** Who. */
  readonly actor: string;
  /** What, such as `intent resolve`. */
  readonly action: string;
  readonly projectId: string | null;
  readonly intentId: string | null;
  /** Why. */
  readonly note: string | null;
  /** What was given, without secrets. */
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** Records an action before it runs, and its outcome after it: one that ends with a crash is recorded too. */
export async function audited<T>(
  database: RampDatabase,
  action: AuditedAction,
  run: () => Promise<T>,
  outcomeOf: (result: T) => string,
): Promise<T> {
  const id = newId();
  await database.asOperator((tx) => Promise.resolve(tx.insert("audit_log", { id, ...action })));
  const end = (outcome: string): Promise<unknown> =>
    database.operator.rows("UPDATE ramp.audit_log SET outcome = $2 WHERE id = $1", [id, outcome]);
  const result = await run().catch(async (error: unknown) => {
    await end("failed").catch(() => undefined);
    throw error;
  });
  // Where this fails the action has no outcome: it may not be recorded as one that failed.
  await end(outcomeOf(result));
  return result;
}

/** Records an action in the transaction that carries it out: both are there, or neither. */
export function recordAudited(tx: ProjectTransaction, action: AuditedAction, outcome: string): void {
  tx.insert("audit_log", { id: newId(), ...action, outcome });
}

const COLUMNS = `at, actor, action, project_id AS "projectId", intent_id AS "intentId", note, arguments, outcome`;

/** The newest actions first; null: of all intents. Without an outcome one is under way, or a crash ended it. */
export function listAudit(
  database: RampDatabase,
  { intentId, limit }: { readonly intentId: string | null; readonly limit: number },
): Promise<(AuditedAction & { readonly at: Date; readonly outcome: string | null })[]> {
  return database.operator.rows(
    `SELECT ${COLUMNS} FROM ramp.audit_log WHERE $1::uuid IS NULL OR intent_id = $1 ORDER BY at DESC, id DESC LIMIT $2`,
    [intentId, limit],
  );
}
