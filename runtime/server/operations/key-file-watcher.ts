import { type Outcome, failed } from "../../core/model/outcome.js";
import { readFileSync, statSync } from "node:fs";
import { HASH_PREFIX, Keyring, parseKeyring } from "../../core/request/keyring.js";
import type { Logger } from "../../core/http/logger.js";
import type { Variables } from "../../core/environment/variables.js";

const DEFAULT_KEYS_FILE = "./api_keys.json";
/** How often the file is checked. A change takes effect within twice this time. */
const CHECK_MS = 2_000;

/** The keys of `API_KEYS`, otherwise of the file. No keys is valid: tier0 endpoints need none. */
export function readKeys(variables: Variables): Keyring {
  const inline = variables.text("API_KEYS");
  const reading = inline === null ? readFile(keysFileOf(variables)) : parseKeyring(inline, "API_KEYS");
  if (reading.ok) return reading.value;
  variables.problems.push(...reading.problems);
  return new Keyring(new Map());
}

/** The key file that a server watches; null: the keys are in `API_KEYS`. */
export function watchedKeysFile(variables: Variables): string | null {
  return variables.text("API_KEYS") === null ? keysFileOf(variables) : null;
}

/** Watches a key file. A change replaces the keys in the keyring; an invalid file is logged and changes nothing. */
export class KeyFileWatcher {
  readonly #keys: Keyring;
  readonly #file: string;
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  /** Of the keys that are active; empty before the first. */
  #version = "";
  /** Why the file cannot be used, as it was logged. */
  #problems = "";

  constructor(keys: Keyring, file: string, log: Logger) {
    this.#keys = keys;
    this.#file = file;
    this.#log = log;
    this.check();
    const mode = openModeOf(file);
    if (mode !== null)
      log.warn(
        { file, mode },
        `the key file holds keys in plain text and other users can read it: run \`chmod 600 ${file}\`, or store hashes with \`routewright keys create\``,
      );
    this.#timer = setInterval(() => this.check(), CHECK_MS).unref();
  }

  /** Reads the file when it has changed, and one that could not be used each time: a right to read it is no other version of it. */
  check(): void {
    const version = versionOf(this.#file);
    const reading = version === this.#version ? null : readFile(this.#file);
    const problems = reading === null || reading.ok ? [] : reading.problems;
    const isNew = problems.length > 0 && problems.join() !== this.#problems;
    this.#problems = problems.join();
    if (isNew) this.#log.error({ problems }, "the key file is invalid: the previous keys stay active");
    if (!reading?.ok) return;
    this.#keys.replaceWith(reading.value);
    if (this.#version !== "") this.#log.info({ keys: this.#keys.size }, "keys reloaded");
    this.#version = version;
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

/** Changes with the file, also when another file of the same size and time replaces it; otherwise why it cannot be read. */
function versionOf(file: string): string {
  try {
    const { ino, size, mtimeMs } = statSync(file);
    return `${String(ino)} ${String(size)} ${String(mtimeMs)}`;
  } catch (error) {
    return codeOf(error);
  }
}

/** The mode of a file of plain keys that others than its owner can read, as `644`; null for any other. Windows has no modes. */
function openModeOf(file: string): string | null {
  if (process.platform === "win32") return null;
  try {
    const mode = statSync(file).mode & 0o777;
    const isOpen = (mode & 0o044) !== 0 && holdsPlainKeys(readFileSync(file, "utf8"));
    return isOpen ? mode.toString(8) : null;
  } catch {
    return null;
  }
}

function holdsPlainKeys(text: string): boolean {
  return Object.keys(JSON.parse(text) as object).some((key) => !key.startsWith(HASH_PREFIX));
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "error";
}

function keysFileOf(variables: Variables): string {
  return variables.text("API_KEYS_FILE") ?? DEFAULT_KEYS_FILE;
}

/** The default file may be absent. */
function readFile(file: string): Outcome<Keyring> {
  try {
    // A named pipe without a writer would block the process.
    if (!statSync(file).isFile()) return unreadable(file, "not a file");
    return parseKeyring(readFileSync(file, "utf8"), file);
  } catch (error) {
    const code = codeOf(error);
    return file === DEFAULT_KEYS_FILE && code === "ENOENT"
      ? parseKeyring("{}", file)
      : unreadable(file, code);
  }
}

function unreadable(file: string, reason: string): Outcome<Keyring> {
  return failed(`API_KEYS_FILE: cannot read ${file} (${reason}).`);
}
