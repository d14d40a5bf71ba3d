import { randomUUID } from "node:crypto";
import type { Page } from "../intent/read.js";
import type { ProjectTransaction } from "../store/database.js";
import type { Subject } from "../token/subject-token.js";

export interface CustomerRecord {
  /** The caller's own id. */
  readonly id: string;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

interface CustomerRow {
  readonly id: string;
  readonly metadata: Record<string, unknown> | null;
  readonly created_at: Date;
  readonly updated_at: Date;
}

const COLUMNS = "id, metadata, created_at, updated_at";

/** The customer with this id, made if there is none; metadata that is given replaces what was there. */
export async function createOrGet(
  tx: ProjectTransaction,
  id: string,
  metadata: Readonly<Record<string, unknown>> | null,
): Promise<CustomerRecord> {
  const now = new Date();
  const row = await tx.row<CustomerRow>(
    `INSERT INTO ramp.customers AS c (id, reference, metadata, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)
     ON CONFLICT (project_id, id) DO UPDATE SET metadata = COALESCE(excluded.metadata, c.metadata),
       updated_at = CASE WHEN excluded.metadata IS DISTINCT FROM c.metadata AND excluded.metadata IS NOT NULL THEN $4 ELSE c.updated_at END
     RETURNING ${COLUMNS}`,
    [id, randomUUID(), metadata === null ? null : JSON.stringify(metadata), now],
  );
  if (row === null) throw new Error("The customer was not stored.");
  return recordOf(row);
}

/** Binds a customer and an identity provider's user to each other; false when one of them is bound to another. */
export async function bind(
  tx: ProjectTransaction,
  customerId: string,
  { issuer, subject, isWallet }: Subject,
): Promise<boolean> {
  tx.write(
    "INSERT INTO ramp.customer_identities (customer_id, issuer, subject, is_wallet) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
    [customerId, issuer, subject, isWallet],
  );
  const bound = await tx.row(
    "SELECT FROM ramp.customer_identities WHERE customer_id = $1 AND issuer = $2 AND subject = $3",
    [customerId, issuer, subject],
  );
  return bound !== null;
}

export async function exists(tx: ProjectTransaction, id: string): Promise<boolean> {
  return (await tx.row("SELECT FROM ramp.customers WHERE id = $1", [id])) !== null;
}

/** Customers, newest first; one more than `limit` when there are more. Null: `startingAfter` names none. */
export async function listCustomers(
  tx: ProjectTransaction,
  { limit, startingAfter }: Page,
): Promise<readonly CustomerRecord[] | null> {
  if (startingAfter !== null && !(await exists(tx, startingAfter))) return null;
  const rows = await tx.rows<CustomerRow>(
    `SELECT ${COLUMNS} FROM ramp.customers WHERE $1::text IS NULL OR (created_at, id) <
       (SELECT a.created_at, a.id FROM ramp.customers a WHERE a.id = $1)
     ORDER BY created_at DESC, id DESC LIMIT $2`,
    [startingAfter, limit + 1],
  );
  return rows.map(recordOf);
}

function recordOf({ id, metadata, created_at, updated_at }: CustomerRow): CustomerRecord {
  return { id, metadata, createdAt: created_at, updatedAt: updated_at };
}
