import type { Vault } from "../secrets/vault.js";
import type { RampDatabase } from "../store/database.js";
import { rotateSigningKey } from "../token/signing-keys.js";

export interface SigningKeySummary {
  readonly kid: string;
  readonly createdAt: Date;
  readonly retiredAt: Date | null;
}

/** Signs new customer tokens with a new key; those before it go on verifying. */
export async function rotateKey(database: RampDatabase, vault: Vault): Promise<{ readonly kid: string }> {
  return { kid: await database.asOperator((tx) => rotateSigningKey(tx, vault)) };
}

export function listKeys(database: RampDatabase): Promise<SigningKeySummary[]> {
  return database.asOperator((tx) =>
    tx.rows<SigningKeySummary>(
      `SELECT kid, created_at AS "createdAt", retired_at AS "retiredAt" FROM ramp.signing_keys ORDER BY created_at, kid`,
    ),
  );
}
