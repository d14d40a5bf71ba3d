import { isObject, listOr } from "../../manifest/json.js";
import { type SchemaError, schemaErrorOf, unknownKey, validatorOf } from "../../manifest/json-schema.js";
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

/** An error in a `meta.api`; `at` is its path there. */
export type ValidationError = SchemaError;

const errorsIn = validatorOf("meta-api");

/** Validates a `meta.api` against its schema and reports every error, not only the first. */
export function validateShape(value: unknown): ShapeResult {
  const errors = errorsIn(value).filter(({ keyword }) => keyword !== "if");
  const invalid = errors.filter(({ keyword }) => keyword !== "required").map((error) => error.instancePath);
  const valid = isObject(value) ? (withoutInvalid(value, "", new Set(invalid)) as ValidPart<MetaApi>) : null;
  return { valid, errors: errors.map(schemaErrorOf) };
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

/** Warnings about unknown keys: most are misspelled. */
export function unknownKeys(value: unknown): ValidationError[] {
  if (!isObject(value)) return [];
  const { parameters, sort, pagination } = value;
  return [
    ...unknownKeysOf(value, "", KNOWN_KEYS.api),
    ...listOr(parameters).flatMap((item, i) => unknownKeysOf(item, `parameters[${i}]`, KNOWN_KEYS.parameter)),
    ...listOr(sort).flatMap((item, i) => unknownKeysOf(item, `sort[${i}]`, KNOWN_KEYS.sort)),
    ...unknownKeysOf(pagination, "pagination", KNOWN_KEYS.pagination),
  ];
}

/** Warnings about the keys of an object that are not `known`. */
export function unknownKeysOf(value: unknown, at: string, known: readonly string[]): ValidationError[] {
  if (!isObject(value)) return [];
  return Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => {
      const { message, hint } = unknownKey(key, known);
      return { at, message: message.replace(/\.$/, "; ignored."), hint };
    });
}
