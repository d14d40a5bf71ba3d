import type { RampDatabase } from "../database/ramp-database.js";

/** Rows deleted in one transaction: a large backlog must not hold locks or fill the write-ahead log at once. */
const BATCH = 1_000;

/** Rows that have had their time. Revocations are kept for as long as a token can live, 30 days (`max_token_seconds`). */
const EXPIRED = [
  { table: "idempotency_claims", where: "expires_at < now()" },
  { table: "wallet_nonces", where: "expires_at < now()" },
  // For a day an expired quote gets another error than an unknown one.
  { table: "quotes", where: "expires_at < now() - interval '1 day'" },
  { table: "token_revocations", where: "revoked_at < now() - interval '31 days'" },
] as const;

/** Deletes expired rows in batches. */
export async function deleteExpired(database: RampDatabase, batch = BATCH): Promise<void> {
  for (const { table, where } of EXPIRED)
    for (;;) {
      const deleted = await database.asOperator((tx) =>
        tx.rows(
          `DELETE FROM ramp.${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ramp.${table} WHERE ${where} LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING 1`,
          [batch],
        ),
      );
      if (deleted.length < batch) break;
    }
}
