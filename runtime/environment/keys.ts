import { existsSync, readFileSync } from "node:fs";
import { Keyring, readKeyring } from "../access/keyring.js";
import { Variables } from "./variables.js";

const DEFAULT_KEYS_FILE = "./api_keys.json";

/** The keys of `API_KEYS`, else of the file; no keys at all is fine: tier0 is open to everybody (data-api.md §5). */
export function readKeys(variables: Variables): Keyring {
  const inline = variables.text("API_KEYS");
  if (inline !== null) return keyringOf(inline, "API_KEYS", variables);
  const file = keysFile(variables);
  if (file === null) return new Keyring(new Map());
  try {
    return keyringOf(readFileSync(file, "utf8"), file, variables);
  } catch (error) {
    variables.problems.push(
      `API_KEYS_FILE: cannot read ${file} (${(error as NodeJS.ErrnoException).code ?? "error"}).`,
    );
    return new Keyring(new Map());
  }
}

/** The same environment without its file: whoever reads it later has the keys of now. The file must be readable. */
export function withKeysInline(source: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const variables = new Variables(source);
  const file = variables.text("API_KEYS") === null ? keysFile(variables) : null;
  return file === null ? { ...source } : { ...source, API_KEYS: readFileSync(file, "utf8") };
}

/** Null: there is none, and nobody has asked for one. */
function keysFile(variables: Variables): string | null {
  const named = variables.text("API_KEYS_FILE");
  return named ?? (existsSync(DEFAULT_KEYS_FILE) ? DEFAULT_KEYS_FILE : null);
}

function keyringOf(text: string, source: string, variables: Variables): Keyring {
  const reading = readKeyring(parse(text), source);
  if (reading.ok) return reading.keyring;
  variables.problems.push(...reading.problems);
  return new Keyring(new Map());
}

/** Undefined for text that is not JSON: the parser's own message could repeat a key. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
