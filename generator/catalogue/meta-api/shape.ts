import type { ErrorObject } from "ajv";
import { isObject } from "../../manifest/json.js";
import { closest, shown, type Fault } from "./fault.js";
import { KNOWN_KEYS, type MetaApi } from "./schema.js";
import { validate } from "./validate.js";

/** A value whose parts may be missing, as each that has a fault of its own is left out; a list keeps its places. */
export type Sound<T> = T extends readonly (infer Item)[]
  ? readonly (Sound<Item> | undefined)[]
  : T extends object
    ? { readonly [Key in keyof T]?: Sound<T[Key]> | undefined }
    : T;

export interface Shape {
  /** What can be checked further, `undefined` where a part is unsound; null when the value is no object at all. */
  readonly sound: Sound<MetaApi> | null;
  readonly faults: readonly Fault[];
}

/** Checks the shape of a `meta.api`; every fault is told, not only the first. */
export function checkShape(value: unknown): Shape {
  if (validate(value)) return { sound: value, faults: [] };
  const errors = (validate.errors ?? []).filter(({ keyword }) => keyword !== "if");
  const unsound = errors.filter(({ keyword }) => keyword !== "required").map((error) => error.instancePath);
  const sound = isObject(value) ? (prune(value, "", new Set(unsound)) as Sound<MetaApi>) : null;
  return { sound, faults: errors.map(faultOf) };
}

/** `meta.api` → `parameters` → a parameter → its keys: the rules look no deeper. */
const MAX_DEPTH = 3;

function prune(value: unknown, pointer: string, unsound: ReadonlySet<string>, depth = 0): unknown {
  if (unsound.has(pointer)) return undefined;
  if (depth === MAX_DEPTH) return value;
  const part = (item: unknown, key: string | number): unknown =>
    prune(item, `${pointer}/${String(key)}`, unsound, depth + 1);
  if (Array.isArray(value)) return value.map(part);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, part(item, key)]));
}

function faultOf(error: ErrorObject): Fault {
  const at = jsonPath(error.instancePath);
  switch (error.keyword) {
    case "required":
      return missing(at, String(error.params["missingProperty"]));
    case "enum":
      return oneOf(at, error.data, error.params["allowedValues"] as readonly string[]);
    case "minItems":
      return { at, message: "The list is empty.", hint: "List at least one, or leave the key out." };
    case "minLength":
      return { at, message: "The text is empty.", hint: "Write a name." };
    case "minimum":
    case "maximum":
      return { at, message: `${shown(error.data)} is out of range.`, hint: `It ${error.message}.` };
    default:
      return wrongType(at, error);
  }
}

function missing(at: string, key: string): Fault {
  return { at, message: `\`${key}\` is missing.`, hint: `Add \`${key}\` (generator/README.md, meta.api).` };
}

function oneOf(at: string, data: unknown, allowed: readonly string[]): Fault {
  const near =
    typeof data === "string"
      ? allowed.find((value) => value.toLowerCase() === data.toLowerCase())
      : undefined;
  const hint = near ? `Write ${shown(near)}.` : `Use one of ${allowed.map(shown).join(", ")}.`;
  return { at, message: `${shown(data)} is not allowed here.`, hint };
}

function wrongType(at: string, error: ErrorObject): Fault {
  const expected = String(error.params["type"] ?? error.keyword);
  return {
    at,
    message: `${shown(error.data)} is not of type ${expected}.`,
    hint: `Give ${ARTICLES[expected] ?? expected}.`,
  };
}

const ARTICLES: Readonly<Record<string, string>> = {
  array: "a list",
  object: "an object",
  string: "a text",
  integer: "a whole number",
  boolean: "true or false",
};

/** `/parameters/0/column` → `parameters[0].column`. */
function jsonPath(pointer: string): string {
  const parts = pointer.split("/").slice(1);
  return parts
    .map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`))
    .join("")
    .replace(/^\./, "");
}

/** Keys that mean nothing here: tolerated, and told, since a misspelled key would otherwise be lost silently. */
export function unknownKeys(value: unknown): Fault[] {
  if (!isObject(value)) return [];
  const { parameters, sort, pagination } = value;
  return [
    ...strayKeys(value, "", KNOWN_KEYS.api),
    ...listOf(parameters).flatMap((item, i) => strayKeys(item, `parameters[${i}]`, KNOWN_KEYS.parameter)),
    ...listOf(sort).flatMap((item, i) => strayKeys(item, `sort[${i}]`, KNOWN_KEYS.sort)),
    ...strayKeys(pagination, "pagination", KNOWN_KEYS.pagination),
  ];
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function strayKeys(value: unknown, at: string, known: readonly string[]): Fault[] {
  if (!isObject(value)) return [];
  return Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => {
      const near = closest(key, known);
      const hint = near ? `Did you mean \`${near}\`?` : `Known keys: ${known.join(", ")}.`;
      return { at, message: `The key ${shown(key)} means nothing here and is ignored.`, hint };
    });
}
