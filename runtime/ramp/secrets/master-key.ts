import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { secretsKey } from "../../environment/secrets-key.js";

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
