import { createRequire } from "node:module";
import type { ErrorObject, ValidateFunction } from "ajv";
import { isObject } from "../../manifest/json.js";
import { closest, formatValue } from "../../manifest/strings.js";
import { KNOWN_KEYS, type MetaApi } from "./schema.js";

/** A value without its invalid parts; lists keep their length, with `undefined` for an invalid item. */
export type ValidPart<T> = T extends readonly (infer Item)[]
  ? readonly (ValidPart<Item> | undefined)[]
  : T extends object
    ? { readonly [Key in keyof T]?: ValidPart<T[Key]> | undefined }
    : T;

interface ShapeResult {
  /** The valid parts; null where the value is not an object. */
  readonly valid: ValidPart<MetaApi> | null;
  readonly errors: readonly ValidationError[];
}

/** An error in a `meta.api`; `at` is its path there: `parameters[0].column`. */
export interface ValidationError {
  readonly at: string;
  readonly message: string;
  readonly hint: string;
}

/** Validates a `meta.api` against its schema and reports every error, not only the first. */
export function validateShape(value: unknown): ShapeResult {
  if (validate(value)) return { valid: value, errors: [] };
  const errors = (validate.errors ?? []).filter(({ keyword }) => keyword !== "if");
  const invalid = errors.filter(({ keyword }) => keyword !== "required").map((error) => error.instancePath);
  const valid = isObject(value) ? (withoutInvalid(value, "", new Set(invalid)) as ValidPart<MetaApi>) : null;
  return { valid, errors: errors.map(errorOf) };
}

/** `meta.api` → `parameters` → a parameter → its keys: rules.ts reads nothing deeper. */
const MAX_DEPTH = 3;

/** A value without the parts at the `invalid` JSON pointers; `pointer` is its own. */
function withoutInvalid(value: unknown, pointer: string, invalid: ReadonlySet<string>, depth = 0): unknown {
  if (invalid.has(pointer)) return undefined;
  if (depth === MAX_DEPTH) return value;
  const part = (item: unknown, key: string | number): unknown =>
    withoutInvalid(item, `${pointer}/${String(key)}`, invalid, depth + 1);
  if (Array.isArray(value)) return value.map(part);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, part(item, key)]));
}

function errorOf(error: ErrorObject): ValidationError {
  const at = jsonPath(error.instancePath);
  switch (error.keyword) {
    case "required":
      return missingKey(at, String(error.params["missingProperty"]));
    case "enum":
      return notAllowed(at, error.data, error.params["allowedValues"] as readonly string[]);
    case "minItems":
      return { at, message: "The list is empty.", hint: "List at least one, or leave the key out." };
    case "minLength":
      return { at, message: "The text is empty.", hint: "Write a name." };
    case "minimum":
    case "maximum":
      return { at, message: `${formatValue(error.data)} is out of range.`, hint: `It ${error.message}.` };
    default:
      return wrongType(at, error);
  }
}

function missingKey(at: string, key: string): ValidationError {
  return { at, message: `Missing required key \`${key}\`.`, hint: HINTS[key] ?? `Add \`${key}\`.` };
}

/** Hints for required keys (generator/docs/meta-api.md). */
const HINTS: Readonly<Record<string, string>> = {
  name: "Name the query parameter.",
  column: "Name a column of the model.",
  operator: "Write one of =, ILIKE, >=, <=, IN.",
  type: "Write one of string, date, string_list.",
  direction: "Write ASC or DESC.",
  enabled: "Write true or false.",
  default_limit: "Give the number of rows on a page without `limit`.",
  max_limit: "Give the largest `limit` that a request may send.",
};

function notAllowed(at: string, data: unknown, allowed: readonly string[]): ValidationError {
  const near =
    typeof data === "string"
      ? allowed.find((value) => value.toLowerCase() === data.toLowerCase())
      : undefined;
  const hint = near ? `Write ${formatValue(near)}.` : `Use one of ${allowed.map(formatValue).join(", ")}.`;
  return { at, message: `${formatValue(data)} is not allowed here.`, hint };
}

function wrongType(at: string, error: ErrorObject): ValidationError {
  const expected = String(error.params["type"] ?? error.keyword);
  return {
    at,
    message: `${formatValue(error.data)} is not of type ${expected}.`,
    hint: `Write ${EXPECTED[expected] ?? expected}.`,
  };
}

const EXPECTED: Readonly<Record<string, string>> = {
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

/** Warnings about unknown keys: most are misspelled. */
export function unknownKeys(value: unknown): ValidationError[] {
  if (!isObject(value)) return [];
  const { parameters, sort, pagination } = value;
  return [
    ...unknownKeysOf(value, "", KNOWN_KEYS.api),
    ...listOf(parameters).flatMap((item, i) => unknownKeysOf(item, `parameters[${i}]`, KNOWN_KEYS.parameter)),
    ...listOf(sort).flatMap((item, i) => unknownKeysOf(item, `sort[${i}]`, KNOWN_KEYS.sort)),
    ...unknownKeysOf(pagination, "pagination", KNOWN_KEYS.pagination),
  ];
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Warnings about the keys of an object that are not `known`. */
export function unknownKeysOf(value: unknown, at: string, known: readonly string[]): ValidationError[] {
  if (!isObject(value)) return [];
  return Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => {
      const near = closest(key, known);
      const hint = near ? `Did you mean \`${near}\`?` : `Known keys: ${known.join(", ")}.`;
      return { at, message: `Unknown key ${formatValue(key)}; ignored.`, hint };
    });
}

/**
 * Ajv's validator of the schema, compiled when Routewright is built: loading Ajv at run time takes longer than rendering a
 * whole catalogue.
 */
const validate = createRequire(import.meta.url)(
  "routewright/validators/meta-api.cjs",
) as ValidateFunction<MetaApi>;
