import { createHash } from "node:crypto";
import type { Vault } from "../core/vault.js";
import type { ProjectId } from "../database/id.js";
import type { DatabaseRow, OperatorTransaction, ProjectTransaction } from "../database/transaction.js";
import type { ProviderReply } from "../providers/provider.js";
import type { Step } from "./intent.js";

/** A step of an intent at its provider. */
export type ProviderStep = Exclude<Step, "wait" | "prepareRefund">;

/** What a provider answered about an intent, or about a deposit account. */
export interface ProviderAnswer {
  readonly operation: ProviderStep | "openDepositAccount" | "checkDepositAccount" | "closeDepositAccount";
  readonly reply: ProviderReply<unknown>;
}

/**
 * Records what a provider answered, for the history of the intent or of the deposit account, whose id is in `intent_id` too; a repeated answer
 * is counted.
 */
export function recordAnswer(
  tx: ProjectTransaction,
  vault: Vault,
  { id, projectId }: { readonly id: string; readonly projectId: ProjectId },
  { operation, reply }: ProviderAnswer,
): void {
  const text = JSON.stringify(reply);
  const sealed = vault.seal(`provider-answer:${projectId}:${id}`, text);
  tx.write(
    `INSERT INTO ramp.provider_answers AS a (intent_id, operation, digest, answer) VALUES ($1, $2, $3, $4)
     ON CONFLICT (project_id, intent_id, operation, digest) DO UPDATE SET count = a.count + 1, last_at = now()`,
    [id, operation, createHash("sha256").update(text).digest(), sealed],
  );
}

/** The answers about an intent and, where it is a payment to a deposit account, about the account, oldest first. */
export async function readAnswers(
  tx: OperatorTransaction,
  vault: Vault,
  { projectId, intentId }: { readonly projectId: ProjectId | string; readonly intentId: string },
): Promise<readonly DatabaseRow[]> {
  const rows = await tx.rows<DatabaseRow & { readonly about: string; readonly sealed: Buffer }>(
    `SELECT intent_id AS about, operation, answer AS sealed, count, first_at AS "firstAt", last_at AS "lastAt" FROM ramp.provider_answers
     WHERE project_id = $1 AND intent_id IN ($2, (SELECT deposit_account_id FROM ramp.intents WHERE project_id = $1 AND id = $2))
     ORDER BY first_at, operation`,
    [projectId, intentId],
  );
  return rows.map(({ about, sealed, ...row }) => ({
    ...row,
    answer: JSON.parse(vault.open(`provider-answer:${projectId}:${about}`, sealed)) as unknown,
  }));
}
