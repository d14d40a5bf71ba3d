import { hkdfSync } from "node:crypto";
import { opened, sealed } from "@routewright/runtime/internal/webhooks/sealing.js";
import type { RunStatement } from "../database/migrate.js";
import type { RampDatabase } from "../database/ramp-database.js";
import type { OperatorTransaction } from "../database/transaction.js";

const KEY_ID_BYTES = 4;

interface VaultKey {
  readonly id: Buffer;
  readonly master: Buffer;
  readonly key: Buffer;
}

function vaultKey(master: Buffer): VaultKey {
  const id = derived(master, "key-id").subarray(0, KEY_ID_BYTES);
  return { id, master, key: derived(master, "vault") };
}

/** What a value is sealed for: the kind of secret, and the ids of what it belongs to. */
type Purpose =
  `${"signing-key" | "provider" | "webhook" | "answer" | "provider-answer" | "wallet-rpc" | "travel-rule"}:${string}`;

function derived(master: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync("sha256", master, "routewright-ramp", purpose, 32));
}

/**
 * Encrypts what must not be readable in the database or its backups: provider credentials, webhook secrets, private
 * keys, stored responses. AES-256-GCM; `purpose` is bound to the text, so that no secret can be put in another's place. A sealed
 * value is the id of its key, the nonce, the tag and the text.
 */
export class Vault {
  readonly #current: VaultKey;
  /** By purpose: bounded, since purposes are constants of the code. */
  readonly #derived = new Map<string, readonly Buffer[]>();
  readonly #keys: readonly VaultKey[];

  /**
   * @param master the 32 bytes of `RAMP_SECRETS_KEY`, which seal and open
   * @param others the old or the new key during a rotation, which only opens
   */
  constructor(master: Buffer, others: readonly Buffer[] = []) {
    this.#current = vaultKey(master);
    this.#keys = [this.#current, ...others.map(vaultKey)];
  }

  /** The id of the current key: values that it sealed begin with it. */
  get keyId(): Buffer {
    return this.#current.id;
  }

  /** A key of 32 bytes for one purpose of its own. */
  derive(purpose: string): Buffer {
    return this.deriveAll(purpose)[0] as Buffer;
  }

  /** `derive` for each key, the current one first: verifies what was signed before a rotation. */
  deriveAll(purpose: string): readonly Buffer[] {
    const keys = this.#derived.get(purpose) ?? this.#keys.map(({ master }) => derived(master, purpose));
    this.#derived.set(purpose, keys);
    return keys;
  }

  seal(purpose: Purpose, text: string): Buffer {
    return Buffer.concat([this.#current.id, sealed(this.#current.key, purpose, text)]);
  }

  /** Throws when the bytes were sealed with a key that is not here or for another purpose. */
  open(purpose: Purpose, bytes: Buffer): string {
    const text = this.#tryOpen(purpose, bytes);
    if (text === null) throw new Error(`No key opens the value sealed for ${purpose}.`);
    return text;
  }

  opens(purpose: Purpose, bytes: Buffer): boolean {
    return this.#tryOpen(purpose, bytes) !== null;
  }

  #tryOpen(purpose: Purpose, bytes: Buffer): string | null {
    const named = this.#keys.find(({ id }) => id.equals(bytes.subarray(0, KEY_ID_BYTES)));
    return named ? opened(named.key, purpose, bytes.subarray(KEY_ID_BYTES)) : null;
  }
}

/** A column that holds sealed values, and the purpose that its rows are sealed for, as SQL over the row `t`. */
interface SealedColumn {
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
    table: "webhook_secrets",
    column: "secret",
    purpose: "'webhook:' || t.project_id || ':' || t.endpoint_id",
  },
  {
    table: "idempotency_claims",
    column: "response_body",
    purpose: "'answer:' || t.project_id || ':' || t.key",
  },
  {
    table: "provider_answers",
    column: "answer",
    purpose: "'provider-answer:' || t.project_id || ':' || t.intent_id",
  },
  {
    table: "travel_rules",
    column: "content",
    purpose: "'travel-rule:' || t.project_id || ':' || t.intent_id",
  },
  { table: "projects", column: "wallet_rpc", purpose: "'wallet-rpc:' || t.id" },
];

/** Rows that are sealed again in one transaction. */
const BATCH = 200;

interface SealedRow {
  readonly ctid: string;
  readonly sealed: Buffer;
  readonly purpose: Purpose;
}

/** Seals everything with the current master key. It can be interrupted and run again; the service keeps running meanwhile. */
export async function rotateVault(
  database: RampDatabase,
  vault: Vault,
  progress: (done: number, total: number) => void = () => undefined,
): Promise<{ readonly keyId: string; readonly resealed: number }> {
  let resealed = 0;
  for (const [i, column] of SEALED_COLUMNS.entries())
    for (;;) {
      progress(i, SEALED_COLUMNS.length);
      const count = await database.asOperator((tx) => resealBatch(tx, vault, column));
      resealed += count;
      if (count < BATCH) break;
    }
  return { keyId: vault.keyId.toString("hex"), resealed };
}

async function resealBatch(
  tx: OperatorTransaction,
  vault: Vault,
  { table, column, purpose }: SealedColumn,
): Promise<number> {
  // NO KEY UPDATE lets other transactions insert rows that reference these: waiting for each other would end in a deadlock.
  const rows = await tx.rows<SealedRow>(
    `SELECT t.ctid::text AS ctid, t.${column} AS sealed, ${purpose} AS purpose FROM ramp.${table} t
     WHERE substring(t.${column} FROM 1 FOR $1) <> $2 LIMIT ${String(BATCH)} FOR NO KEY UPDATE OF t`,
    [KEY_ID_BYTES, vault.keyId],
  );
  for (const row of rows)
    await tx.rows(`UPDATE ramp.${table} SET ${column} = $2 WHERE ctid = $1::tid`, [
      row.ctid,
      vault.seal(row.purpose, vault.open(row.purpose, row.sealed)),
    ]);
  return rows.length;
}

/**
 * Throws when the master key is that of another database: the right key could not read what it sealed. The first signing key is the
 * check value: each database has it from its first start on, rotations seal it again, and nothing deletes it.
 */
export async function assertMasterKey(rows: RunStatement, vault: Vault): Promise<void> {
  const [table] = await rows(
    "SELECT FROM pg_tables WHERE schemaname = 'ramp' AND tablename = 'signing_keys'",
  );
  const [first] = table
    ? await rows<SealedRow>(
        "SELECT 'signing-key:' || kid AS purpose, private_key AS sealed FROM ramp.signing_keys ORDER BY created_at, kid LIMIT 1",
      )
    : [];
  if (first && !vault.opens(first.purpose, first.sealed))
    throw new Error(
      "RAMP_SECRETS_KEY is not the key of this database, and nothing was changed. Set it to the key that sealed its secrets, or name that key in RAMP_OTHER_SECRETS_KEYS.",
    );
}

/** Sealed values that none of the keys opens, by column. */
export async function unreadableSecrets(
  database: RampDatabase,
  vault: Vault,
): Promise<readonly { readonly column: string; readonly rows: number }[]> {
  const found: { column: string; rows: number }[] = [];
  for (const { table, column, purpose } of SEALED_COLUMNS) {
    const rows = await database.operator
      .rows<SealedRow>(`SELECT t.ctid::text AS ctid, t.${column} AS sealed, ${purpose} AS purpose FROM ramp.${table} t
         WHERE t.${column} IS NOT NULL`);
    const unreadable = rows.filter(({ purpose: sealedFor, sealed }) => !vault.opens(sealedFor, sealed));
    if (unreadable.length > 0) found.push({ column: `${table}.${column}`, rows: unreadable.length });
  }
  return found;
}
