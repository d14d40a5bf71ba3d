import { customerIdOf } from "../database/id.js";
import type { ProjectId } from "../database/id.js";
import { OF_PROJECT, type OperatorTransaction, type RampDatabase } from "../database/ramp-database.js";

/** A revocation reaches a running server after this. */
const FRESH_MS = 5_000;

/** A customer of a project. */
interface Owner {
  readonly projectId: ProjectId;
  readonly customerId: string;
}

/** Which customers' tokens were revoked, and when (runtime/ramp/docs/customers.md, Customer tokens). */
export class TokenRevocations {
  readonly #database: RampDatabase;
  /** Milliseconds since 1970, by project and customer. */
  #revokedAt: Promise<ReadonlyMap<string, number>> | null = null;
  #readAt = 0;

  constructor(database: RampDatabase) {
    this.#database = database;
  }

  /** @param issuedAt milliseconds since 1970 */
  async isRevoked({ projectId, customerId }: Owner, issuedAt: number): Promise<boolean> {
    const revokedAt = (await this.#read()).get(`${projectId} ${customerId}`);
    return revokedAt !== undefined && issuedAt <= revokedAt;
  }

  #read(): Promise<ReadonlyMap<string, number>> {
    if (this.#revokedAt && performance.now() - this.#readAt < FRESH_MS) return this.#revokedAt;
    this.#readAt = performance.now();
    const revokedAt = this.#database.asOperator(readRevocations);
    revokedAt.catch(() => (this.#revokedAt = null));
    return (this.#revokedAt = revokedAt);
  }
}

interface RevocationRow {
  readonly project_id: string;
  readonly customer_id: string;
  readonly revoked_at: Date;
}

async function readRevocations(tx: OperatorTransaction): Promise<ReadonlyMap<string, number>> {
  const rows = await tx.rows<RevocationRow>(
    "SELECT project_id, customer_id, revoked_at FROM ramp.token_revocations",
  );
  return new Map(rows.map((row) => [`${row.project_id} ${row.customer_id}`, row.revoked_at.getTime()]));
}

/** Revokes all tokens of a customer, by its id or the caller's own, that were issued until now. False: there is no such customer. */
export async function revokeTokens(
  database: RampDatabase,
  projectId: ProjectId,
  customer: string,
): Promise<boolean> {
  const rows = await database.inProject(projectId, (tx) =>
    tx.rows(
      `INSERT INTO ramp.token_revocations (customer_id, revoked_at) SELECT id, now() FROM ramp.customers WHERE ${OF_PROJECT} AND id = $1
       ON CONFLICT (project_id, customer_id) DO UPDATE SET revoked_at = excluded.revoked_at RETURNING customer_id`,
      [customerIdOf(projectId, customer)],
    ),
  );
  return rows.length > 0;
}
