import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { isValidIBAN } from "ibantools";
import { LRUCache } from "lru-cache";
import { checksumAddress, isBitcoinAddress } from "../accounts/account-details.js";

export const Nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);
/** A string that is one of these. */
export const literals = <const T extends string>(values: readonly T[]) =>
  Type.Unsafe<T>(Type.String({ enum: [...values] }));

/** Levels that a JSON value may be nested. */
const MAX_DEPTH = 32;

const ajv = new Ajv2020({ allErrors: true, strict: false });
addFormats.default(ajv);
/** Formats of our own: whether a text is valid, and what it must be. */
const FORMATS: Readonly<Record<string, readonly [(text: string) => boolean, string]>> = {
  iban: [
    (text) => isValidIBAN(text.replaceAll(" ", "").toUpperCase()),
    "must be an IBAN with its check digits",
  ],
  "aba-routing-number": [isRoutingNumber, "must be a routing number with its check digit"],
  "evm-address": [
    (text) =>
      !/^0x0{40}$/.test(text) &&
      (!/[a-f].*[A-F]|[A-F].*[a-f]/.test(text.slice(2)) || text === checksumAddress(text)),
    "must be an address with its checksum (EIP-55), and not the zero address",
  ],
  "bitcoin-address": [isBitcoinAddress, "must be a Bitcoin address with its checksum"],
  "redirect-url": [isHttpUrl, "must be an http or https address without credentials"],
};
for (const [name, [validate]] of Object.entries(FORMATS)) ajv.addFormat(name, { type: "string", validate });

/** Nine digits whose sum, weighted 3, 7 and 1 in turn, is a multiple of ten. */
function isRoutingNumber(text: string): boolean {
  const sum = Array.from(text).reduce(
    (total, digit, at) => total + Number(digit) * ([3, 7, 1][at % 3] ?? 0),
    0,
  );
  return /^[0-9]{9}$/.test(text) && sum > 0 && sum % 10 === 0;
}

/** An http or https address without credentials, and without characters that parsers read differently. */
function isHttpUrl(text: string): boolean {
  if (!/^https?:\/\/[^\s\\]+$/i.test(text) || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username === "" && password === "";
}

/** Whether a text is an origin such as `https://app.example.com`: no wildcard, and nothing that adds to a header that names it. */
export function isOrigin(text: string): boolean {
  return /^https?:\/\/[A-Za-z0-9.:[\]-]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

/** What is wrong with the address of a server, or null. */
export function urlProblem(url: string): string | null {
  return isHttpUrl(url) ? null : "The URL must be an http:// or https:// address without credentials.";
}

/** Schemas that came from providers are many and change: only so many stay compiled. */
const MAX_COMPILED = 500;

const compiled = new LRUCache<string, { readonly schema: object; readonly validate: ValidateFunction }>({
  max: MAX_COMPILED,
  // The compiler keeps a reference to every schema until it is removed.
  dispose: ({ schema }) => void ajv.removeSchema(schema),
});

function validatorOf(schema: object): ValidateFunction {
  // An equal schema that is read from the database again has the same text.
  const text = JSON.stringify(schema);
  let entry = compiled.get(text);
  if (!entry) compiled.set(text, (entry = { schema, validate: ajv.compile(schema) }));
  return entry.validate;
}

/** Whether a provider's schema compiles. */
export function isSchema(schema: object): boolean {
  try {
    validatorOf(schema);
    return true;
  } catch {
    return false;
  }
}

/** Schemas that are compiled at the moment. */
export function compiledSchemas(): number {
  return compiled.size;
}

/** One thing that is wrong with a value, and where. */
export interface Violation {
  /** JSON pointer; empty for the value itself. */
  readonly path: string;
  readonly message: string;
}

/** Whether a value matches the schema. */
export function check<S extends TSchema>(schema: S, value: unknown): value is Static<S> {
  return validatorOf(schema)(value);
}

/** Violations of the schema, without the value itself; empty when it matches. `at`: path of the value. */
export function violations(schema: object, value: unknown, at = ""): readonly Violation[] {
  const validator = validatorOf(schema);
  if (validator(value)) return [];
  return (validator.errors ?? []).map((error) => violationOf(error, at + error.instancePath));
}

function violationOf({ keyword, message = "is not valid", params }: ErrorObject, path: string): Violation {
  const { additionalProperty, allowedValues, format } = params as {
    readonly additionalProperty?: string;
    readonly allowedValues?: readonly string[];
    readonly format?: string;
  };
  if (keyword === "additionalProperties")
    return { path: `${path}/${(additionalProperty ?? "").slice(0, 100)}`, message: "is not a known field" };
  if (keyword === "enum") return { path, message: `must be one of ${(allowedValues ?? []).join(", ")}` };
  return { path, message: FORMATS[String(format)]?.[1] ?? message };
}

/** The value of a JSON text; undefined when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Whether all texts of a value can be stored (no U+0000, no lone surrogate) and it is not nested too deep. */
export function isStorable(value: unknown, depth = 0): boolean {
  if (typeof value === "string") return !value.includes("\0") && value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  if (depth >= MAX_DEPTH) return false;
  return Object.entries(value).every(([key, item]) => isStorable(key) && isStorable(item, depth + 1));
}
