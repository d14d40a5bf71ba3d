import type { ProjectId } from "../database/id.js";
import { createHash, timingSafeEqual } from "node:crypto";
import type { RampDatabase } from "../database/ramp-database.js";
import { OF_PROJECT, type RequiredRow } from "../database/transaction.js";

/** Client secrets are 32 random bytes: a plain hash is enough, because they cannot be guessed. */
export function secretHash(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** The project of an `Authorization: Basic` header with client id and client secret; null when it is missing or wrong. */
export async function projectOf(
  database: RampDatabase,
  authorization: string | undefined,
): Promise<Project | null> {
  const credentials = credentialsOf(authorization);
  if (credentials === null) return null;
  const found = await database.operator.row<{
    readonly project: Omit<Project, "secretId">;
    readonly secretIds: readonly string[];
    readonly hashes: readonly Buffer[];
  }>(
    `SELECT json_build_object('projectId', p.id, 'organizationId', p.organization_id, 'name', p.name,
           'tokenTtlSeconds', p.token_ttl_seconds, 'maxTokenSeconds', p.max_token_seconds) AS project,
         ARRAY(SELECT id FROM ramp.client_secrets s WHERE ${VALID} ORDER BY id) AS "secretIds",
         ARRAY(SELECT hash FROM ramp.client_secrets s WHERE ${VALID} ORDER BY id) AS hashes
       FROM ramp.projects p WHERE p.client_id = $1`,
    [credentials.clientId],
  );
  const given = secretHash(credentials.secret);
  // Compares every hash, for an unknown client too, so that the response time reveals nothing.
  const matches = (found?.hashes ?? [Buffer.alloc(32)]).map((hash) => timingSafeEqual(hash, given));
  const secretId = found?.secretIds[matches.indexOf(true)];
  return found && secretId !== undefined ? { ...found.project, secretId } : null;
}

const VALID = "s.project_id = p.id AND s.revoked_at IS NULL";

/** Finds the client secret of a request where it is valid when the transaction writes. */
export function heldSecret({ secretId }: Project): RequiredRow {
  const text = `SELECT FROM ramp.client_secrets WHERE ${OF_PROJECT} AND id = $1 AND revoked_at IS NULL`;
  return { text, values: [secretId] };
}

function credentialsOf(authorization: string | undefined): { clientId: string; secret: string } | null {
  const encoded = /^basic +([A-Za-z0-9+/=_-]{1,1000})$/i.exec(authorization ?? "")?.[1];
  const text = encoded === undefined ? "" : Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  if (colon <= 0 || text.includes("\0")) return null;
  return { clientId: text.slice(0, colon), secret: text.slice(colon + 1) };
}

/** Who calls a project-level endpoint. */
export interface Project {
  readonly projectId: ProjectId;
  readonly organizationId: string;
  readonly name: string;
  /** The client secret of the request. */
  readonly secretId: string;
  /** Added to the expiry of a subject token, in seconds (runtime/ramp/docs/customers.md, Customer tokens). */
  readonly tokenTtlSeconds: number;
  /** Longest lifetime of a customer token, in seconds. */
  readonly maxTokenSeconds: number;
}
