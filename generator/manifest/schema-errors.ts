import { createRequire } from "node:module";
import type { ErrorObject, ValidateFunction } from "ajv";
import type { Schema } from "@routewright/runtime/model";
import { closest, formatValue } from "./strings.js";

/**
 * Gives the errors of a value, by a schema that the build has compiled: loading Ajv takes longer than rendering a whole
 * catalogue.
 */
export function validatorOf(file: string): (value: unknown) => readonly ErrorObject[] {
  let validate: ValidateFunction | undefined;
  return (value) => {
    validate ??= createRequire(import.meta.url)(`routewright/validators/${file}.cjs`) as ValidateFunction;
    return validate(value) ? [] : (validate.errors ?? []);
  };
}

/** What is wrong in a document; `at` is its path there: `parameters[0].column`. */
export interface SchemaError {
  readonly at: string;
  readonly message: string;
  /** How to fix it: the `hint` of the value's schema, or by the failed keyword. */
  readonly hint: string;
}

/** Keywords of ours: what to write, and what the value should be: "a list of columns". */
export const HINT = "hint";
export const NOUN = "noun";
const OWN: ReadonlySet<string> = new Set([HINT, NOUN]);

/** Editors warn of keywords that they do not know. */
export function withoutOwnKeywords(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutOwnKeywords);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([key, item]) => !(OWN.has(key) && typeof item === "string"));
  return Object.fromEntries(entries.map(([key, item]) => [key, withoutOwnKeywords(item)]));
}

export function schemaErrorOf({ instancePath, ...error }: ErrorObject): SchemaError {
  return { at: jsonPath(instancePath), ...messageOf(error) };
}

type Message = Omit<SchemaError, "at">;

function messageOf({
  keyword,
  data,
  params,
  message = "",
  parentSchema = {},
}: Omit<ErrorObject, "instancePath">): Message {
  const properties = (parentSchema["properties"] ?? {}) as Readonly<Record<string, Schema>>;
  const noun: unknown = parentSchema[NOUN];
  if (typeof noun === "string" && ["type", "enum", "const"].includes(keyword))
    return { message: `${formatValue(data)} is not ${noun}.`, hint: hintOf(parentSchema) };
  switch (keyword) {
    case "required":
      return missingKey(String(params["missingProperty"]), properties);
    case "additionalProperties":
      return unknownKey(String(params["additionalProperty"]), Object.keys(properties));
    case "enum":
      return notAllowed(data, params["allowedValues"] as readonly string[]);
    case "minItems":
      return { message: "The list is empty.", hint: "List at least one, or leave the key out." };
    case "minLength":
      return { message: "The text is empty.", hint: hintOf({ ...parentSchema, type: "text" }) };
    case "minimum":
    case "maximum":
      return { message: `${formatValue(data)} is out of range.`, hint: `It ${message}.` };
    case "type":
      return {
        message: `${formatValue(data)} is not of type ${String(params["type"])}.`,
        hint: hintOf(parentSchema),
      };
    default:
      return { message: `${formatValue(data)} is not allowed here.`, hint: hintOf(parentSchema) };
  }
}

function missingKey(key: string, { [key]: schema = {} }: Readonly<Record<string, Schema>>): Message {
  return { message: `Missing required key \`${key}\`.`, hint: hintOf(schema) };
}

/** What to write: as the schema says, one of its values, or by its type. */
function hintOf({ hint, enum: values, type }: Schema): string {
  if (typeof hint === "string") return hint;
  if (Array.isArray(values)) return `Write one of ${listed(values)}.`;
  return `Write ${EXPECTED[String(type)] ?? "another value"}.`;
}

const EXPECTED: Readonly<Record<string, string>> = {
  array: "a list",
  object: "an object",
  string: "a text",
  integer: "a whole number",
  boolean: "true or false",
  text: "at least one character",
  "string,object": "a text or an object",
};

/** A key that a document may not have, or that nothing reads. */
export function unknownKey(key: string, known: readonly string[]): Message {
  const near = closest(key, known);
  const hint = near ? `Did you mean \`${near}\`?` : `Known keys: ${listed(known)}.`;
  return { message: `Unknown key ${formatValue(key)}.`, hint };
}

/** More names than this are not listed in a message. */
const MANY = 12;

function listed(names: readonly string[]): string {
  return [...names.slice(0, MANY), ...(names.length > MANY ? ["…"] : [])].join(", ");
}

function notAllowed(data: unknown, allowed: readonly string[]): Message {
  const given = typeof data === "string" ? data : "";
  const same = allowed.find((value) => value.toLowerCase() === given.toLowerCase());
  const near = same ?? (allowed.length > MANY ? closest(given, allowed) : null);
  const hint = near ? `Write ${formatValue(near)}.` : `Use one of ${listed(allowed.map(formatValue))}.`;
  return { message: `${formatValue(data)} is not allowed here.`, hint };
}

/** `/parameters/0/column` → `parameters[0].column`. */
function jsonPath(pointer: string): string {
  const parts = pointer.split("/").slice(1);
  return parts
    .map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`))
    .join("")
    .replace(/^\./, "");
}
