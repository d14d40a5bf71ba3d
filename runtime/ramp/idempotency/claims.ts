import { OF_PROJECT, type ProjectTransaction } from "../database/ramp-database.js";
import { createHash } from "node:crypto";

/** How long a stored answer is replayed, in seconds (runtime/ramp/README.md, Limits). */
const LIFETIME_SECONDS = 24 * 60 * 60;

/** After this a claim without an answer is taken to be a crashed owner's, in seconds (runtime/ramp/README.md, Limits). */
export const TAKE_OVER_SECONDS = 90;

/** A key as a request brings it. */
export interface IdempotencyKey {
  readonly key: string;
  /** SHA-256 over method, path, canonical body and customer. */
  readonly fingerprint: Buffer;
}

/** A stored claim of a key. */
export interface IdempotencyClaim {
  readonly fingerprint: Buffer;
  readonly resourceId: string;
  readonly isAbandoned: boolean;
  /** The stored answer, sealed; null while the owner is at work. */
  readonly response: { readonly status: number; readonly body: Buffer } | null;
}

/** Claims a key for an owner, with what the request is about to create; fails the transaction when the key is claimed already. */
export function claimKey(
  tx: ProjectTransaction,
  { key, fingerprint }: IdempotencyKey,
  owner: string,
  resourceId: string,
): void {
  tx.requireRow(
    `INSERT INTO ramp.idempotency_claims AS c (key, fingerprint, resource_id, owner, owned_until, expires_at)
     VALUES ($1, $2, $3, $4, now() + interval '${String(TAKE_OVER_SECONDS)} s', now() + interval '${String(LIFETIME_SECONDS)} s')
     ON CONFLICT (project_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, resource_id = excluded.resource_id,
       owner = excluded.owner, owned_until = excluded.owned_until, expires_at = excluded.expires_at,
       response_status = NULL, response_body = NULL
     WHERE c.expires_at <= now()
     RETURNING key`,
    [key, fingerprint, resourceId, owner],
  );
}

interface ClaimRow {
  readonly fingerprint: Buffer;
  readonly resource_id: string;
  readonly is_abandoned: boolean;
  readonly response_status: number | null;
  readonly response_body: Buffer | null;
}

export async function readClaim(tx: ProjectTransaction, key: string): Promise<IdempotencyClaim | null> {
  const row = await tx.row<ClaimRow>(
    `SELECT fingerprint, resource_id, owned_until <= now() AS is_abandoned, response_status, response_body
     FROM ramp.idempotency_claims WHERE ${OF_PROJECT} AND key = $1 AND expires_at > now()`,
    [key],
  );
  if (row === null) return null;
  const { response_status: status, response_body: body } = row;
  return {
    fingerprint: row.fingerprint,
    resourceId: row.resource_id,
    isAbandoned: row.is_abandoned,
    response: status === null || body === null ? null : { status, body },
  };
}

/** Takes an abandoned claim over; false when another request did. */
export async function takeOver(tx: ProjectTransaction, key: string, owner: string): Promise<boolean> {
  const taken = await tx.row(
    `UPDATE ramp.idempotency_claims SET owner = $2, owned_until = now() + interval '${String(TAKE_OVER_SECONDS)} s'
     WHERE ${OF_PROJECT} AND key = $1 AND response_status IS NULL AND owned_until <= now() AND expires_at > now() RETURNING key`,
    [key, owner],
  );
  return taken !== null;
}

/** Stores the answer of a claim that is still the owner's; whether it was. */
export async function storeResponse(
  tx: ProjectTransaction,
  key: string,
  owner: string,
  response: { readonly status: number; readonly body: Buffer },
): Promise<boolean> {
  const stored = await tx.row(
    `UPDATE ramp.idempotency_claims SET response_status = $3, response_body = $4
     WHERE ${OF_PROJECT} AND key = $1 AND owner = $2 AND response_status IS NULL RETURNING key`,
    [key, owner, response.status, response.body],
  );
  return stored !== null;
}

/** Releases a claim after a fault, so that a repeated request continues at once. */
export async function releaseClaim(tx: ProjectTransaction, key: string, owner: string): Promise<void> {
  await tx.rows(
    `UPDATE ramp.idempotency_claims SET owned_until = now() WHERE ${OF_PROJECT} AND key = $1 AND owner = $2 AND response_status IS NULL`,
    [key, owner],
  );
}

interface Fingerprinted {
  readonly method: string;
  readonly path: string;
  /** The parsed body, or the text of one that is not JSON. */
  readonly body: unknown;
  /** Null on project-level endpoints. */
  readonly customerId: string | null;
}

/** SHA-256 over a request; white space and the order of keys make no other request. */
export function fingerprintOf({ method, path, body, customerId }: Fingerprinted): Buffer {
  return createHash("sha256")
    .update(JSON.stringify([method, path, customerId, canonical(body)]))
    .digest();
}

function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== "object" || value === null) return value ?? null;
  // Pairs and not an object: there, keys that look like numbers would not keep their place.
  return Object.entries(value)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, item]) => [key, canonical(item)]);
}
