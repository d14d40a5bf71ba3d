/** The key file, for the command line. */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import {
  hashOf,
  HASH_PREFIX,
  KEY_ID_DIGITS,
  KEY_PREFIX,
  parseKeyring,
  readOwner,
} from "../core/request/keyring.js";
import { failed, type Outcome, succeeded } from "../core/model/outcome.js";
import type { Tier } from "../core/model/tier.js";

/** Random bytes of a key: 256 bits cannot be guessed. */
const SECRET_BYTES = 32;

/** An entry of the key file. `user` and `org` are empty where the entry has none. */
export interface StoredKey {
  readonly id: string;
  readonly tier: Tier;
  readonly user: string;
  readonly org: string;
  /** A date or a date-time; absent: never. */
  readonly expires?: string;
  /** Categories and paths; absent: all of the tier. */
  readonly allowed?: readonly string[];
  /** When `keys create` stored it, RFC 3339 in UTC; absent for an entry written by hand. */
  readonly created?: string;
}

/** Adds a key. The file stores its hash; the key itself is only in the result. */
export function addKey(
  file: string,
  owner: Omit<StoredKey, "id" | "created">,
): Outcome<{ readonly key: string; readonly id: string }> {
  const checked = readOwner({ ...owner }, "");
  if (typeof checked === "string") return failed(`--${checked}`);
  const entries = readEntries(file);
  if (!entries.ok) return entries;
  const key = KEY_PREFIX + randomBytes(SECRET_BYTES).toString("base64url");
  const digest = hashOf(key);
  const entry = { ...owner, created: `${new Date().toISOString().slice(0, 19)}Z` };
  writeEntries(file, new Map<string, FileEntry>([...entries.value, [HASH_PREFIX + digest, entry]]));
  return succeeded({ key, id: digest.slice(0, KEY_ID_DIGITS) });
}

/** The keys of a file, in its order; an error without the file. */
export function storedKeys(file: string): Outcome<readonly StoredKey[]> {
  const entries = readExisting(file);
  return entries.ok ? succeeded([...entries.value].map(([key, entry]) => storedKey(key, entry))) : entries;
}

/** Removes the key whose id starts with `id`, if exactly one does. Returns the matching ids. */
export function removeKey(file: string, id: string): Outcome<readonly string[]> {
  const entries = readExisting(file);
  if (!entries.ok) return entries;
  const matches = [...entries.value.keys()].filter((key) => idOf(key).startsWith(id));
  if (matches.length === 1)
    writeEntries(file, new Map([...entries.value].filter(([key]) => key !== matches[0])));
  return succeeded(matches.map(idOf));
}

type FileEntry = string | Partial<StoredKey>;

function readExisting(file: string): Outcome<ReadonlyMap<string, FileEntry>> {
  if (existsSync(file)) return readEntries(file);
  return failed(
    `There is no key file ${file}: \`routewright keys create\` writes it. Name another with --file.`,
  );
}

/** An invalid file is an error here as in the server: a command must not rewrite it. */
function readEntries(file: string): Outcome<ReadonlyMap<string, FileEntry>> {
  if (!existsSync(file)) return succeeded(new Map<string, FileEntry>());
  const text = readFileSync(file, "utf8");
  const keyring = parseKeyring(text, file);
  if (!keyring.ok) return failed(keyring.problems.join(" "));
  return succeeded(new Map(Object.entries(JSON.parse(text) as Record<string, FileEntry>)));
}

/** Mode 0600. Written aside and renamed: a reader never sees half a file. */
function writeEntries(file: string, entries: ReadonlyMap<string, FileEntry>): void {
  const staged = `${file}.${String(process.pid)}.tmp`;
  writeFileSync(staged, `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`, { mode: 0o600 });
  renameSync(staged, file);
}

function storedKey(key: string, entry: FileEntry): StoredKey {
  const {
    tier = "tier0",
    user = "",
    org = "",
    expires,
    allowed,
    created,
  } = typeof entry === "string" ? { tier: entry as Tier } : entry;
  return {
    id: idOf(key),
    tier,
    user,
    org,
    ...(expires && { expires }),
    ...(allowed && { allowed }),
    ...(created && { created }),
  };
}

function idOf(key: string): string {
  const digest = key.startsWith(HASH_PREFIX) ? key.slice(HASH_PREFIX.length).toLowerCase() : hashOf(key);
  return digest.slice(0, KEY_ID_DIGITS);
}
