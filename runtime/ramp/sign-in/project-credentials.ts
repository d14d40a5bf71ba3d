import { type ProjectId, projectId } from "../database/id.js";
import { createHash, timingSafeEqual } from "node:crypto";
import type { RampDatabase } from "../database/ramp-database.js";

/** Client secrets are 32 random bytes: a plain hash is enough, because they cannot be guessed. */
export function secretHash(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

interface ProjectRow {
  readonly id: string;
  readonly organization_id: string;
  readonly name: string;
  readonly token_ttl_seconds: number;
  readonly max_token_seconds: number;
  readonly hashes: readonly Buffer[];
}

/** How long what was read of a project is used: a revoked secret is refused after this. */
const FRESH_MS = 5_000;
/** Client ids held at most. */
const MAX_HELD = 1_000;

/** Project credentials: HTTP Basic with client id and client secret. */
export class ProjectSignIn {
  readonly #database: RampDatabase;
  readonly #held = new Map<string, { readonly readAt: number; readonly row: ProjectRow }>();

  constructor(database: RampDatabase) {
    this.#database = database;
  }

  /** The project of an `Authorization: Basic` header; null when it is missing or wrong. */
  async projectOf(authorization: string | undefined): Promise<Project | null> {
    const credentials = credentialsOf(authorization);
    if (credentials === null) return null;
    const row = await this.#read(credentials.clientId);
    const given = secretHash(credentials.secret);
    // Compares every hash, for an unknown client too, so that the response time reveals nothing.
    const matches = (row?.hashes ?? [Buffer.alloc(32)]).filter((hash) => timingSafeEqual(hash, given));
    if (row === null || matches.length === 0) return null;
    return {
      id: projectId(row.id),
      organizationId: row.organization_id,
      name: row.name,
      tokenTtlSeconds: row.token_ttl_seconds,
      maxTokenSeconds: row.max_token_seconds,
    };
  }

  async #read(clientId: string): Promise<ProjectRow | null> {
    const held = this.#held.get(clientId);
    if (held && performance.now() - held.readAt < FRESH_MS) return held.row;
    this.#held.delete(clientId);
    const row = await this.#database.asOperator((tx) =>
      tx.row<ProjectRow>(
        `SELECT p.id, p.organization_id, p.name, p.token_ttl_seconds, p.max_token_seconds,
           ARRAY(SELECT hash FROM ramp.client_secrets s WHERE s.project_id = p.id AND s.revoked_at IS NULL) AS hashes
         FROM ramp.projects p WHERE p.client_id = $1`,
        [clientId],
      ),
    );
    if (row !== null && this.#held.size < MAX_HELD)
      this.#held.set(clientId, { readAt: performance.now(), row });
    return row;
  }
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
  readonly id: ProjectId;
  readonly organizationId: string;
  readonly name: string;
  /** Added to the expiry of a subject token, in seconds (runtime/ramp/docs/customers.md, Customer tokens). */
  readonly tokenTtlSeconds: number;
  /** Longest lifetime of a customer token, in seconds. */
  readonly maxTokenSeconds: number;
}
