import { hashOf, HASH_PREFIX, parseKeyring } from "../../core/request/keyring.js";
import { failed, type Outcome, succeeded } from "../../core/model/outcome.js";
import type { Tier } from "../../core/model/tier.js";
import { idOf, type KeyStore, ownerOf, type StoredKey } from "./key-store.js";

export type FileEntry = string | Partial<StoredKey>;

/** Entries by the key or hash as it stands in the file. */
export type FileEntries = ReadonlyMap<string, FileEntry>;

export function readEntries(text: string, source: string): Outcome<FileEntries> {
  const keyring = parseKeyring(text, source);
  if (!keyring.ok) return failed(keyring.problems.join(" "));
  return succeeded(new Map(Object.entries(JSON.parse(text) as Record<string, FileEntry>)));
}

export function storedKeys(entries: FileEntries): ReadonlyMap<string, StoredKey> {
  return new Map([...entries].map(([name, entry]) => [digestOf(name), storedKey(name, entry)]));
}

export function storedKey(name: string, entry: FileEntry): StoredKey {
  const {
    tier = "tier0",
    user = "",
    org = "",
    expires,
    allowed,
    created,
  } = typeof entry === "string" ? { tier: entry as Tier } : entry;
  return {
    id: idOf(digestOf(name)),
    tier,
    user,
    org,
    ...(expires && { expires }),
    ...(allowed && { allowed }),
    ...(created && { created }),
  };
}

export function entryOf(key: StoredKey): Partial<StoredKey> {
  return { ...ownerOf(key), ...(key.created && { created: key.created }) };
}

export function digestOf(name: string): string {
  return name.startsWith(HASH_PREFIX) ? name.slice(HASH_PREFIX.length).toLowerCase() : hashOf(name);
}

/** The keys in `API_KEYS`, which commands cannot change. */
export class EnvironmentKeys implements KeyStore {
  readonly name = "API_KEYS";
  readonly organizations = null;
  readonly takesEffect = "";
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  keys(): Promise<Outcome<ReadonlyMap<string, StoredKey>>> {
    const entries = readEntries(this.#text, this.name);
    return Promise.resolve(entries.ok ? succeeded(storedKeys(entries.value)) : entries);
  }

  readonly create: KeyStore["create"] = readOnly;
  readonly rotate: KeyStore["rotate"] = readOnly;
  readonly revoke: KeyStore["revoke"] = readOnly;
  readonly add: KeyStore["add"] = readOnly;

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function readOnly(): Promise<Outcome<never>> {
  return Promise.resolve(
    failed(
      "The keys are in API_KEYS, which commands cannot change: unset it, or name a key file with --file.",
    ),
  );
}
