import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { isObject } from "../../manifest/json.js";
import { closest, shown, type Fault } from "./fault.js";
import { KNOWN_KEYS, META_API_SCHEMA, type MetaApi } from "./schema.js";

let compiled: ValidateFunction<MetaApi> | undefined;

/** Compiled at first use: a manifest without `meta.api` does not pay for it. */
function validator(): ValidateFunction<MetaApi> {
  compiled ??= new Ajv({ allErrors: true, verbose: true }).compile<MetaApi>(META_API_SCHEMA);
  return compiled;
}

export type Shape =
  { readonly ok: true; readonly value: MetaApi } | { readonly ok: false; readonly faults: Fault[] };

/** Checks the shape of a `meta.api`; every fault is told, not only the first. */
export function checkShape(value: unknown): Shape {
  const validate = validator();
  if (validate(value)) return { ok: true, value };
  const faults = (validate.errors ?? []).filter(({ keyword }) => keyword !== "if").map(faultOf);
  return { ok: false, faults };
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
  return { at, message: `\`${key}\` is missing.`, hint: `Add \`${key}\` (data-api.md §2.3).` };
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
