import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { secretsKey } from "../environment/secrets-key.js";

const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts what must not be readable in the database or its backups: provider credentials, webhook secrets, private
 * keys, stored answers. AES-256-GCM; `purpose` is bound to the text, so that no secret can be put in another's place.
 */
export class Vault {
  readonly #key: Buffer;
  readonly #master: Buffer;

  /** @param master the 32 bytes of `RAMP_SECRETS_KEY` */
  constructor(master: Buffer) {
    this.#master = master;
    this.#key = this.derive("vault");
  }

  /** A key of 32 bytes for one purpose of its own. */
  derive(purpose: string): Buffer {
    return Buffer.from(hkdfSync("sha256", this.#master, "routewright-ramp", purpose, 32));
  }

  seal(purpose: string, text: string): Buffer {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.#key, iv).setAAD(Buffer.from(purpose));
    const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), sealed]);
  }

  /** Throws when the bytes were sealed with another key or for another purpose. */
  open(purpose: string, sealed: Buffer): string {
    const decipher = createDecipheriv("aes-256-gcm", this.#key, sealed.subarray(0, IV_BYTES))
      .setAAD(Buffer.from(purpose))
      .setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    return decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
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
