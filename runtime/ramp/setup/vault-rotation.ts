import type { OperatorTransaction, RampDatabase } from "../database/ramp-database.js";
import type { Vault } from "../vault.js";

/** A column that holds sealed values, and the purpose that its rows are sealed for, as SQL over the row `t`. */
export interface SealedColumn {
  readonly table: string;
  readonly column: string;
  readonly purpose: string;
}

/** Every sealed column of the schema; a test compares the list with the database. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  { table: "signing_keys", column: "private_key", purpose: "'signing-key:' || t.kid" },
  {
    table: "provider_credentials",
    column: "secret",
    purpose: `'provider:' || t.project_id || ':' ||
      (SELECT c.code FROM ramp.provider_connections c WHERE c.project_id = t.project_id AND c.id = t.connection_id)`,
  },
  { table: "webhook_endpoints", column: "secret", purpose: "'webhook:' || t.project_id || ':' || t.id" },
  {
    table: "webhook_endpoints",
    column: "previous_secret",
    purpose: "'webhook:' || t.project_id || ':' || t.id",
  },
  {
    table: "idempotency_claims",
    column: "response_body",
    purpose: "'answer:' || t.project_id || ':' || t.key",
  },
  { table: "projects", column: "wallet_rpc", purpose: "'wallet-rpc:' || t.id" },
];

/** Rows that are sealed again in one transaction. */
const BATCH = 200;

interface SealedRow {
  readonly ctid: string;
  readonly sealed: Buffer;
  readonly purpose: string;
}

/** Seals everything with the current master key. It can be interrupted and run again; the service keeps running meanwhile. */
export async function rotateVault(
  database: RampDatabase,
  vault: Vault,
): Promise<{ readonly keyId: string; readonly resealed: number }> {
  let resealed = 0;
  for (const column of SEALED_COLUMNS)
    for (;;) {
      const count = await database.asOperator((tx) => resealBatch(tx, vault, column));
      resealed += count;
      if (count < BATCH) break;
    }
  return { keyId: vault.keyId, resealed };
}

async function resealBatch(
  tx: OperatorTransaction,
  vault: Vault,
  { table, column, purpose }: SealedColumn,
): Promise<number> {
  const rows = await tx.rows<SealedRow>(
    `SELECT t.ctid::text AS ctid, t.${column} AS sealed, ${purpose} AS purpose FROM ramp.${table} t
     WHERE substring(t.${column} FROM 1 FOR $1) <> $2 LIMIT ${String(BATCH)} FOR UPDATE OF t`,
    [vault.header.length, vault.header],
  );
  for (const row of rows)
    await tx.rows(`UPDATE ramp.${table} SET ${column} = $2 WHERE ctid = $1::tid`, [
      row.ctid,
      vault.seal(row.purpose, vault.open(row.purpose, row.sealed)),
    ]);
  return rows.length;
}

/** Sealed values that none of the keys opens, by column. */
export async function unreadableSecrets(
  database: RampDatabase,
  vault: Vault,
): Promise<readonly { readonly column: string; readonly rows: number }[]> {
  const found: { column: string; rows: number }[] = [];
  for (const { table, column, purpose } of SEALED_COLUMNS) {
    const rows = await database.asOperator((tx) =>
      tx.rows<SealedRow>(
        `SELECT t.ctid::text AS ctid, t.${column} AS sealed, ${purpose} AS purpose FROM ramp.${table} t
         WHERE t.${column} IS NOT NULL`,
      ),
    );
    const unreadable = rows.filter(({ purpose: sealedFor, sealed }) => !vault.opens(sealedFor, sealed));
    if (unreadable.length > 0) found.push({ column: `${table}.${column}`, rows: unreadable.length });
  }
  return found;
}
