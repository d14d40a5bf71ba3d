import type pg from "pg";

/** The role that row-level security binds. A user that bypasses it, such as a superuser, takes this role for a project's work. */
export const PROJECT_ROLE = "routewright_ramp_project";

const WRITES = ["SELECT", "INSERT", "UPDATE"] as const;
type Right = (typeof WRITES)[number];

/** What the role may do, by table; columns narrow a right. It deletes nothing. */
const RIGHTS: readonly (readonly [table: string, rights: readonly Right[], columns?: readonly string[]])[] = [
  ["projects", ["SELECT"]],
  ["blockchains", ["SELECT"]],
  ["currencies", ["SELECT"]],
  ["clock_jumps", ["SELECT"]],
  ["client_secrets", ["SELECT"], ["id", "project_id", "revoked_at"]],
  ["change_times", WRITES],
  ["customers", WRITES],
  ["identity_providers", WRITES],
  ["customer_identities", WRITES],
  ["token_revocations", WRITES],
  ["provider_connections", WRITES],
  ["provider_credentials", WRITES],
  ["provider_callbacks", WRITES],
  ["provider_answers", WRITES],
  ["quotes", WRITES],
  ["external_accounts", WRITES],
  ["deposit_accounts", WRITES],
  ["travel_rules", WRITES],
  ["intents", WRITES],
  ["requirements", WRITES],
  ["transactions", WRITES],
  ["idempotency_claims", WRITES],
  ["events", WRITES],
  ["webhook_endpoints", WRITES],
  ["webhook_secrets", WRITES],
  ["webhook_deliveries", WRITES],
  ["refund_requests", ["SELECT"]],
  [
    "refund_requests",
    ["INSERT"],
    [
      ...["id", "intent_id", "amount", "reason", "state", "origin", "provider_id", "listed_amount"],
      ...["failure_reason", "created_at", "updated_at"],
    ],
  ],
  [
    "refund_requests",
    ["UPDATE"],
    [
      ...["state", "provider_id", "listed_amount", "matched_by_amount", "failure_reason"],
      ...["sent_at", "cancel_requested_at", "updated_at"],
    ],
  ],
  ["postings", ["SELECT"]],
  [
    "postings",
    ["INSERT"],
    [
      "entry_id",
      "line",
      "intent_id",
      "kind",
      "about",
      "account",
      "currency",
      "amount",
      "reason",
      "provider_date",
    ],
  ],
];

const SINGLE_RIGHTS = RIGHTS.flatMap(([table, rights, columns = [null]]) =>
  rights.flatMap((right) => columns.map((column) => ({ table: `ramp.${table}`, right, column }))),
);

/** The rights that `user` lacks, as SQL: none where the database is as `migrate` leaves it. */
export function missingRights(user: string): { readonly text: string; readonly values: unknown[] } {
  return {
    text: `SELECT r."right" || ' on ' || r."table" AS missing
      FROM unnest($1::text[], $2::text[], $3::text[]) AS r ("table", "right", "column")
      WHERE NOT CASE WHEN "column" IS NULL THEN has_table_privilege(${user}, "table", "right")
        ELSE has_column_privilege(${user}, "table", "column", "right") END OR NOT has_schema_privilege(${user}, 'ramp', 'USAGE')
      LIMIT 1`,
    values: (["table", "right", "column"] as const).map((part) => SINGLE_RIGHTS.map((right) => right[part])),
  };
}

interface CurrentUser {
  readonly isSuper: boolean;
  readonly isAbove: boolean;
  readonly mayTakeRole: boolean;
  readonly hasRole: boolean;
}

const CURRENT_USER = `SELECT rolsuper AS "isSuper", rolsuper OR rolbypassrls AS "isAbove",
    EXISTS (SELECT FROM pg_roles WHERE rolname = '${PROJECT_ROLE}') AS "hasRole",
    EXISTS (SELECT FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid
      WHERE r.rolname = '${PROJECT_ROLE}' AND m.member = u.oid AND m.admin_option IS NOT NULL) AS "mayTakeRole"
  FROM pg_roles u WHERE rolname = current_user`;

/**
 * Makes the role and its rights, where the user needs them and they are missing: a backup holds neither, since roles belong to the whole
 * server. A user that row-level security binds, such as the owner of a managed database, needs none.
 */
export async function ensureRights(client: pg.Client): Promise<void> {
  const user = (await client.query<CurrentUser>(CURRENT_USER)).rows[0];
  if (!user?.isAbove) return;
  try {
    if (!user.hasRole)
      await client.query(`CREATE ROLE ${PROJECT_ROLE} NOLOGIN NOSUPERUSER NOBYPASSRLS`).catch(unlessMade);
    if (!user.isSuper && !user.mayTakeRole) await client.query(`GRANT ${PROJECT_ROLE} TO CURRENT_USER`);
  } catch (error) {
    if ((error as pg.DatabaseError).code !== "42501") throw error;
    throw new Error(
      `This database user bypasses row-level security and may not make the role ${PROJECT_ROLE}. Have an administrator run \`CREATE ROLE ${PROJECT_ROLE}; GRANT ${PROJECT_ROLE} TO <user>\`, or use an owner of the database without BYPASSRLS.`,
    );
  }
  const missing = await client.query(missingRights(`'${PROJECT_ROLE}'`));
  if (missing.rows.length > 0) await client.query(GRANTS);
}

/** Another database of the server may have made it at the same time. */
function unlessMade(error: unknown): void {
  const { code } = error as pg.DatabaseError;
  if (code !== "42710" && code !== "23505") throw error;
}

const GRANTS = [
  `GRANT USAGE ON SCHEMA ramp TO ${PROJECT_ROLE}`,
  ...RIGHTS.map(([table, rights, columns]) => {
    const of = columns === undefined ? "" : ` (${columns.join(", ")})`;
    return `GRANT ${rights.map((right) => right + of).join(", ")} ON ramp.${table} TO ${PROJECT_ROLE}`;
  }),
].join("; ");
