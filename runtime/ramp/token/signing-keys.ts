import { createPrivateKey, generateKeyPairSync, type KeyObject, createPublicKey } from "node:crypto";
import type { Vault } from "../secrets/vault.js";
import type { OperatorTransaction, RampDatabase } from "../store/database.js";
import { newId } from "../store/id.js";

/** Algorithm of all tokens that the service signs. */
export const SIGNING_ALGORITHM = "ES256";

export interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly isRetired: boolean;
}

interface KeyRow {
  readonly kid: string;
  readonly private_key: Buffer;
  readonly public_key: string;
  readonly retired_at: Date | null;
}

/** A rotation by command is known to a running server after this. */
const FRESH_MS = 10_000;
/** An unknown `kid` may be that of a new key, but costs no more than a look each second. */
const UNKNOWN_KID_MS = 1_000;

/** The keys that sign customer tokens, newest first. Retired ones verify what they have signed until it expires. */
export class SigningKeys {
  readonly #database: RampDatabase;
  readonly #vault: Vault;
  #keys: Promise<readonly SigningKey[]> | null = null;
  #readAt = 0;

  constructor(database: RampDatabase, vault: Vault) {
    this.#database = database;
    this.#vault = vault;
  }

  async current(): Promise<SigningKey> {
    const usable = (keys: readonly SigningKey[]): SigningKey | undefined =>
      keys.find(({ isRetired }) => !isRetired);
    const key = usable(await this.#read(FRESH_MS)) ?? usable(await this.#read(0));
    if (!key) throw new Error("There is no signing key.");
    return key;
  }

  async find(kid: string): Promise<SigningKey | null> {
    const named = (keys: readonly SigningKey[]): SigningKey | undefined =>
      keys.find((key) => key.kid === kid);
    return named(await this.#read(FRESH_MS)) ?? named(await this.#read(UNKNOWN_KID_MS)) ?? null;
  }

  #read(freshMs: number): Promise<readonly SigningKey[]> {
    if (this.#keys && Date.now() - this.#readAt < freshMs) return this.#keys;
    this.#readAt = Date.now();
    const keys = this.#database
      .asOperator((tx) => readKeys(tx))
      .then((rows) => rows.map((row) => this.#keyOf(row)));
    keys.catch(() => (this.#keys = null));
    return (this.#keys = keys);
  }

  #keyOf({ kid, private_key, public_key, retired_at }: KeyRow): SigningKey {
    const pem = this.#vault.open(keyPurpose(kid), private_key);
    const privateKey = createPrivateKey(pem);
    return { kid, privateKey, publicKey: createPublicKey(public_key), isRetired: retired_at !== null };
  }
}

function readKeys(tx: OperatorTransaction): Promise<KeyRow[]> {
  return tx.rows<KeyRow>(
    "SELECT kid, private_key, public_key, retired_at FROM ramp.signing_keys ORDER BY created_at DESC, kid DESC",
  );
}

function keyPurpose(kid: string): string {
  return `signing-key:${kid}`;
}

/** Makes a new key, with which all new tokens are signed; those before it only verify from then on. Returns its `kid`. */
export async function rotateSigningKey(tx: OperatorTransaction, vault: Vault): Promise<string> {
  const kid = newId();
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const sealed = vault.seal(keyPurpose(kid), privateKey.export({ type: "pkcs8", format: "pem" }).toString());
  await tx.rows("UPDATE ramp.signing_keys SET retired_at = now() WHERE retired_at IS NULL");
  await tx.rows("INSERT INTO ramp.signing_keys (kid, private_key, public_key) VALUES ($1, $2, $3)", [
    kid,
    sealed,
    publicKey.export({ type: "spki", format: "pem" }).toString(),
  ]);
  return kid;
}

/** Sees to it that there is a key; of several servers that start together one makes it. */
export async function ensureSigningKey(database: RampDatabase, vault: Vault): Promise<void> {
  await database.asOperator(async (tx) => {
    await tx.rows("LOCK TABLE ramp.signing_keys IN EXCLUSIVE MODE");
    const key = await tx.row("SELECT kid FROM ramp.signing_keys WHERE retired_at IS NULL LIMIT 1");
    if (key === null) await rotateSigningKey(tx, vault);
  });
}
