import { customerIdOf } from "../database/id.js";
import type { ProjectId } from "../database/id.js";
import { OF_PROJECT, type ProjectTransaction, type RampDatabase } from "../database/ramp-database.js";

/** How often the customer's tokens were revoked: a token of an earlier generation is refused (runtime/ramp/docs/customers.md, Customer tokens). */
export async function tokenGeneration(tx: ProjectTransaction, customerId: string): Promise<number> {
  const revoked = await tx.row<{ readonly generation: number }>(
    `SELECT generation FROM ramp.token_revocations WHERE ${OF_PROJECT} AND customer_id = $1`,
    [customerId],
  );
  return revoked?.generation ?? 0;
}

/** Revokes all tokens that the customer `$1` has; returns nothing where there is no such customer. */
export const REVOKE_TOKENS = `INSERT INTO ramp.token_revocations AS r (customer_id, revoked_at)
  SELECT id, now() FROM ramp.customers WHERE ${OF_PROJECT} AND id = $1
  ON CONFLICT (project_id, customer_id) DO UPDATE SET revoked_at = now(), generation = r.generation + 1 RETURNING customer_id`;

/** Revokes all tokens of a customer, by its id or the caller's own, that were issued until now. False: there is no such customer. */
export async function revokeTokens(
  database: RampDatabase,
  projectId: ProjectId,
  customer: string,
): Promise<boolean> {
  const rows = await database.inProject(projectId, (tx) =>
    tx.rows(REVOKE_TOKENS, [customerIdOf(projectId, customer)]),
  );
  return rows.length > 0;
}
