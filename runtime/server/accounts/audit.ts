import type { Statements } from "../../postgres/own-tables.js";
import { timeText } from "./key-statements.js";

/** A line of the audit log. */
export interface AuditEntry {
  readonly number: number;
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly organization: string | null;
  readonly key: string | null;
  readonly plan: string | null;
  readonly subject: string | null;
}

/** The last `limit` changes before the one with the number `before`, newest first; null: of all organizations, from the last. */
export function changesIn(
  tables: Statements,
  range: { readonly organization: string | null; readonly before: number | null; readonly limit: number },
): Promise<readonly AuditEntry[]> {
  return tables.run<AuditEntry>([CHANGES], [range.organization, range.before, range.limit]);
}

const CHANGES = `SELECT id::float8 AS number, ${timeText("at")} AS at, actor, action, organization, key, plan, subject
  FROM routewright_keys.audit
  WHERE ($1::text IS NULL OR organization = $1) AND ($2::bigint IS NULL OR id < $2)
  ORDER BY id DESC LIMIT $3::integer`;
