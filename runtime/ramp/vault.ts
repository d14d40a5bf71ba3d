import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { secretsKey } from "../environment/variables.js";

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** First byte of a sealed value that names its key. */
const FORMAT = 1;
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

function derived(master: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync("sha256", master, "routewright-ramp", purpose, 32));
}

/**
 * Encrypts what must not be readable in the database or its backups: provider credentials, webhook secrets, private
 * keys, stored responses. AES-256-GCM; `purpose` is bound to the text, so that no secret can be put in another's place. A sealed
 * value is a format byte, the id of its key, the nonce, the tag and the text; values of before had no format byte and key id.
 */
export class Vault {
  readonly #current: VaultKey;
  readonly #keys: readonly VaultKey[];

  /**
   * @param master the 32 bytes of `RAMP_SECRETS_KEY`, which seal and open
   * @param others keys of before or after a rotation, which only open
   */
  constructor(master: Buffer, others: readonly Buffer[] = []) {
    this.#current = vaultKey(master);
    this.#keys = [this.#current, ...others.map(vaultKey)];
  }

  /** The id of the current key, in hexadecimal digits. */
  get keyId(): string {
    return this.#current.id.toString("hex");
  }

  /** What values start with that the current key sealed. */
  get header(): Buffer {
    return Buffer.concat([Buffer.of(FORMAT), this.#current.id]);
  }

  /** A key of 32 bytes for one purpose of its own. */
  derive(purpose: string): Buffer {
    return derived(this.#current.master, purpose);
  }

  /** The same of all keys, the current one's first: to check what was signed before a rotation. */
  deriveAll(purpose: string): readonly Buffer[] {
    return this.#keys.map(({ master }) => derived(master, purpose));
  }

  seal(purpose: string, text: string): Buffer {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.#current.key, iv).setAAD(Buffer.from(purpose));
    const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
    return Buffer.concat([this.header, iv, cipher.getAuthTag(), sealed]);
  }

  /** Throws when the bytes were sealed with a key that is not here or for another purpose. */
  open(purpose: string, sealed: Buffer): string {
    const text = this.#tryOpen(purpose, sealed);
    if (text === null) throw new Error(`No key opens the value sealed for ${purpose}.`);
    return text;
  }

  opens(purpose: string, sealed: Buffer): boolean {
    return this.#tryOpen(purpose, sealed) !== null;
  }

  #tryOpen(purpose: string, sealed: Buffer): string | null {
    const body = 1 + KEY_ID_BYTES;
    const named = this.#keys.find(({ id }) => sealed[0] === FORMAT && id.equals(sealed.subarray(1, body)));
    const opened = named ? decrypted(named.key, purpose, sealed.subarray(body)) : null;
    if (opened !== null) return opened;
    // A value without a key id may begin with any bytes.
    for (const { key } of this.#keys) {
      const text = decrypted(key, purpose, sealed);
      if (text !== null) return text;
    }
    return null;
  }
}

/** Null when the key or the purpose is another, or the bytes were changed. */
function decrypted(key: Buffer, purpose: string, sealed: Buffer): string | null {
  if (sealed.length < IV_BYTES + TAG_BYTES) return null;
  const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, IV_BYTES))
    .setAAD(Buffer.from(purpose))
    .setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  const text = decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES), undefined, "utf8");
  try {
    return text + decipher.final("utf8");
  } catch {
    return null;
  }
}

/** The key that lies beside an embedded database, made at the first start and readable by its owner alone. */
export function ownMasterKey(file: string): Buffer {
  mkdirSync(dirname(file), { recursive: true });
  try {
    writeFileSync(file, `${randomBytes(32).toString("hex")}\n`, { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const key = secretsKey(readFileSync(file, "utf8").trim());
  if (key === null) throw new Error(`${file} does not hold a key of 32 bytes.`);
  return key;
}
