import { createHash } from "node:crypto";
import type { ProjectId } from "../database/id.js";
import type { DatabaseRow, OperatorTransaction, ProjectTransaction } from "../database/ramp-database.js";
import type { Vault } from "../core/vault.js";

function purposeOf(projectId: string, intentId: string): string {
  return `provider-answer:${projectId}:${intentId}`;
}

/** Records what a provider answered, for the history of the intent; a repeated answer is counted. */
export function recordAnswer(
  tx: ProjectTransaction,
  vault: Vault,
  {
    intentId,
    operation,
    answer,
  }: { readonly intentId: string; readonly operation: string; readonly answer: unknown },
): void {
  const text = JSON.stringify(answer);
  tx.write(
    `INSERT INTO ramp.provider_answers AS a (intent_id, operation, digest, answer) VALUES ($1, $2, $3, $4)
     ON CONFLICT (project_id, intent_id, operation, digest) DO UPDATE SET count = a.count + 1, last_at = now()`,
    [
      intentId,
      operation,
      createHash("sha256").update(text).digest(),
      vault.seal(purposeOf(tx.projectId, intentId), text),
    ],
  );
}

/** The answers about an intent, oldest first. */
export async function readAnswers(
  tx: OperatorTransaction,
  vault: Vault,
  { projectId, intentId }: { readonly projectId: ProjectId | string; readonly intentId: string },
): Promise<readonly DatabaseRow[]> {
  const rows = await tx.rows<DatabaseRow & { readonly sealed: Buffer }>(
    `SELECT operation, answer AS sealed, count, first_at AS "firstAt", last_at AS "lastAt" FROM ramp.provider_answers
     WHERE project_id = $1 AND intent_id = $2 ORDER BY first_at, operation`,
    [projectId, intentId],
  );
  return rows.map(({ sealed, ...row }) => ({
    ...row,
    answer: JSON.parse(vault.open(purposeOf(projectId, intentId), sealed)) as unknown,
  }));
}
