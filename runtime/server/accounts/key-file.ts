import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { HASH_PREFIX } from "../../core/request/keyring.js";
import { failed, type Outcome, succeeded } from "../../core/model/outcome.js";
import {
  digestOf,
  entryOf,
  type FileEntries,
  type FileEntry,
  readEntries,
  storedKey,
  storedKeys,
} from "./key-entries.js";
import {
  checkedOwner,
  endOf,
  type KeyOwner,
  type KeyStore,
  type NewKey,
  oneOf,
  ownerOf,
  randomKey,
  type Rotation,
  secondOf,
  type StoredKey,
  unlessExpired,
} from "./key-store.js";

/** A key, and where it stands. */
interface FoundKey {
  readonly entries: FileEntries;
  readonly name: string;
  readonly key: StoredKey;
}

/** The key file. */
export class KeyFile implements KeyStore {
  readonly organizations = null;
  readonly takesEffect = "A running server reads the file within 5 seconds.";

  constructor(readonly name: string) {}

  keys(): Promise<Outcome<ReadonlyMap<string, StoredKey>>> {
    return this.#done(() => unlessRefused(this.#existing(), storedKeys));
  }

  create(owner: KeyOwner): Promise<Outcome<NewKey>> {
    return this.#done(() => {
      const checked = checkedOwner(owner);
      return checked.ok ? unlessRefused(this.#entries(), (entries) => this.#addNew(entries, owner)) : checked;
    });
  }

  rotate(id: string, keepSeconds: number): Promise<Outcome<Rotation>> {
    return this.#done(() =>
      unlessRefused(this.#find(id, unlessExpired), ({ entries, name, key }) => {
        const kept = Date.now() + keepSeconds * 1000;
        const until = secondOf(new Date(Math.min(kept, endOf(key) ?? kept)));
        const entry = entries.get(name) ?? "";
        const fields = typeof entry === "string" ? { tier: key.tier } : entry;
        const shortened = new Map<string, FileEntry>([...entries, [name, { ...fields, expires: until }]]);
        return { ...this.#addNew(shortened, ownerOf(key)), replaced: key.id, until };
      }),
    );
  }

  revoke(id: string): Promise<Outcome<string>> {
    return this.#done(() =>
      unlessRefused(this.#find(id), ({ entries, name, key }) => {
        this.#write(new Map([...entries].filter(([each]) => each !== name)));
        return key.id;
      }),
    );
  }

  add(keys: ReadonlyMap<string, StoredKey>): Promise<Outcome<number>> {
    return this.#done(() =>
      unlessRefused(this.#entries(), (entries) => {
        const known = storedKeys(entries);
        const added = [...keys].filter(([digest]) => !known.has(digest));
        const written = added.map(([digest, key]) => [HASH_PREFIX + digest, entryOf(key)] as const);
        this.#write(new Map<string, FileEntry>([...entries, ...written]));
        return added.length;
      }),
    );
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Does it at once. Errors of the file system are problems that name the file. */
  #done<Value>(work: () => Outcome<Value>): Promise<Outcome<Value>> {
    return promised(() => {
      try {
        return work();
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === undefined) throw error;
        return failed(
          `Cannot read or write the key file ${this.name} (${code}): name another with --file or API_KEYS_FILE.`,
        );
      }
    });
  }

  #addNew(entries: FileEntries, owner: KeyOwner): NewKey {
    const { key, id, digest } = randomKey();
    const entry = { ...owner, created: secondOf(new Date()) };
    this.#write(new Map<string, FileEntry>([...entries, [HASH_PREFIX + digest, entry]]));
    return { key, id };
  }

  #find(id: string, check: (key: StoredKey) => Outcome<StoredKey> = succeeded): Outcome<FoundKey> {
    const existing = this.#existing();
    if (!existing.ok) return existing;
    const entries = existing.value;
    const names = new Map([...entries.keys()].map((name) => [digestOf(name), name]));
    const match = oneOf([...names.keys()], id, this);
    if (!match.ok) return match;
    const name = names.get(match.value) ?? "";
    return unlessRefused(check(storedKey(name, entries.get(name) ?? "")), (key) => ({ entries, name, key }));
  }

  #existing(): Outcome<FileEntries> {
    if (existsSync(this.name)) return this.#entries();
    return failed(
      `There is no key file ${this.name}: \`routewright keys create\` writes it. Name another with --file.`,
    );
  }

  /** An invalid file is an error here as in the server: a command must not rewrite it. */
  #entries(): Outcome<FileEntries> {
    return existsSync(this.name)
      ? readEntries(readFileSync(this.name, "utf8"), this.name)
      : succeeded(new Map());
  }

  /** Mode 0600. Written aside and renamed: a reader never sees half a file. */
  #write(entries: FileEntries): void {
    const staged = `${this.name}.${String(process.pid)}.tmp`;
    writeFileSync(staged, `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`, { mode: 0o600 });
    renameSync(staged, this.name);
  }
}

/** Done at once; what it throws rejects. */
function promised<Value>(work: () => Outcome<Value>): Promise<Outcome<Value>> {
  return new Promise((resolve) => resolve(work()));
}

function unlessRefused<From, To>(outcome: Outcome<From>, to: (value: From) => To): Outcome<To> {
  return outcome.ok ? succeeded(to(outcome.value)) : outcome;
}
