import { customerIdOf } from "../database/id.js";
import type { ProjectId } from "../database/id.js";
import {
  OF_PROJECT,
  type OperatorTransaction,
  type ProjectTransaction,
  type RampDatabase,
} from "../database/ramp-database.js";

/** A revocation reaches a running server after this. */
const FRESH_MS = 5_000;

/** A customer of a project. */
interface Owner {
  readonly projectId: ProjectId;
  readonly customerId: string;
}

/** How often each customer's tokens were revoked (runtime/ramp/docs/customers.md, Customer tokens). */
export class TokenRevocations {
  readonly #database: RampDatabase;
  /** Of customers whose earlier tokens may live still, by project and customer. */
  #generations: Promise<ReadonlyMap<string, number>> | null = null;
  #readAt = 0;

  constructor(database: RampDatabase) {
    this.#database = database;
  }

  /** @param generation revocations of the customer's tokens before this one was issued */
  async isRevoked({ projectId, customerId }: Owner, generation: number): Promise<boolean> {
    const current = (await this.#read()).get(`${projectId} ${customerId}`) ?? 0;
    return generation < current;
  }

  #read(): Promise<ReadonlyMap<string, number>> {
    if (this.#generations && performance.now() - this.#readAt < FRESH_MS) return this.#generations;
    this.#readAt = performance.now();
    const generations = this.#database.asOperator(readGenerations);
    generations.catch(() => (this.#generations = null));
    return (this.#generations = generations);
  }
}

interface GenerationRow {
  readonly project_id: string;
  readonly customer_id: string;
  readonly generation: number;
}

/** A token lives for at most 30 days (`max_token_seconds`). */
async function readGenerations(tx: OperatorTransaction): Promise<ReadonlyMap<string, number>> {
  const rows = await tx.rows<GenerationRow>(
    "SELECT project_id, customer_id, generation FROM ramp.token_revocations WHERE revoked_at > now() - interval '31 days'",
  );
  return new Map(rows.map((row) => [`${row.project_id} ${row.customer_id}`, row.generation]));
}

/** The generation of a token that is issued now. */
export async function tokenGeneration(tx: ProjectTransaction, customerId: string): Promise<number> {
  const revoked = await tx.row<GenerationRow>(
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
