import { createHash } from "node:crypto";
import type pg from "pg";
import { isUuid, uuidOf } from "./id.js";

/**
 * The id of a project's customer: the caller's own id where that is a UUID, in lower case, else the UUIDv5 of it under the
 * project's id (runtime/ramp/README.md, Customers).
 */
export function customerIdOf(projectId: string, externalId: string): string {
  if (isUuid(externalId)) return externalId.toLowerCase();
  const namespace = Buffer.from(projectId.replaceAll("-", ""), "hex");
  const bytes = createHash("sha1").update(namespace).update(externalId, "utf8").digest().subarray(0, 16);
  // Version 5 and the variant of RFC 9562.
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return uuidOf(bytes);
}

const BATCH = 1_000;

/** Gives customers of databases before 0023_customer_ids.sql their uuids; SQL has no UUIDv5. */
export async function assignCustomerIds(client: pg.Client): Promise<void> {
  await client.query("SET ramp.operator = 'on'");
  for (;;) {
    const { rows } = await client.query<{ project_id: string; id: string }>(
      "SELECT project_id, id FROM ramp.customers WHERE id !~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' LIMIT $1",
      [BATCH],
    );
    if (rows.length === 0) break;
    const values = [
      rows.map((row) => row.project_id),
      rows.map(({ id }) => id),
      rows.map((row) => customerIdOf(row.project_id, row.id)),
    ];
    const renamed = "unnest($1::uuid[], $2::text[], $3::text[]) AS r (project_id, old, new)";
    await client.query(
      `WITH renamed AS (SELECT * FROM ${renamed}),
       revoked AS (UPDATE ramp.token_revocations t SET customer_id = r.new FROM renamed r
         WHERE t.project_id = r.project_id AND t.customer_id = r.old)
       UPDATE ramp.customers c SET id = r.new FROM renamed r WHERE c.project_id = r.project_id AND c.id = r.old`,
      values,
    );
  }
  await client.query("RESET ramp.operator");
}
