import { Ajv2020, type ErrorObject, type Options, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { isSEPACountry, isValidIBAN } from "ibantools";
import { LONGEST_HOST } from "@routewright/runtime/internal/core/http/outbound-http.js";
import { BoundedCache } from "@routewright/runtime/internal/core/http/bounded-cache.js";
import type { Schema, ValueOf } from "@routewright/runtime/internal/core/model/schema.js";
import { linearPattern } from "./linear-pattern.js";
import { PATTERN_WORDS } from "./pattern-words.js";
import { isUuid } from "../database/id.js";
import { checksumAddress, isBitcoinAddress } from "../accounts/account-details.js";

/** Levels that a JSON value may be nested. */
const MAX_DEPTH = 32;

const ADDRESS_RULES = `without credentials, and with a host of at most ${String(LONGEST_HOST)} characters`;

/** Formats of our own: whether a text is valid, and what it must be. */
const FORMATS: Readonly<Record<string, readonly [(text: string) => boolean, string]>> = {
  iban: [
    (text) => isValidIBAN(text.replaceAll(" ", "").toUpperCase()),
    "must be an IBAN with its check digits",
  ],
  "sepa-iban": [isSepaIban, "must be an IBAN of the SEPA area with its check digits"],
  "aba-routing-number": [isRoutingNumber, "must be a routing number with its check digit"],
  "evm-address": [
    (text) =>
      !/^0x0{40}$/.test(text) &&
      (!/[a-f].*[A-F]|[A-F].*[a-f]/.test(text.slice(2)) || text === checksumAddress(text)),
    "must be an address with its checksum (EIP-55), and not the zero address",
  ],
  "bitcoin-address": [isBitcoinAddress, "must be a Bitcoin address with its checksum"],
  "redirect-url": [isHttpUrl, `must be an http or https address ${ADDRESS_RULES}`],
};

/** A compiler of schemas with all formats. */
function compilerWith(options: Options): Ajv2020 {
  const ajv = new Ajv2020({ allErrors: true, strict: false, logger: false, ...options });
  addFormats.default(ajv);
  for (const [name, [validate]] of Object.entries(FORMATS)) ajv.addFormat(name, { type: "string", validate });
  return ajv;
}

/** Countries that joined the geographical scope of SEPA in 2024 and 2025; the library lists those before (EPC409-09). */
const NEW_IN_SEPA: ReadonlySet<string> = new Set(["AL", "MD", "ME", "MK", "RS"]);

/** An IBAN with the length and the structure that the IBAN registry has for its country, which is one of SEPA. */
function isSepaIban(text: string): boolean {
  const iban = text.replaceAll(" ", "").toUpperCase();
  const country = iban.slice(0, 2);
  return isValidIBAN(iban) && (isSEPACountry(country) || NEW_IN_SEPA.has(country));
}

/** Nine digits whose sum, weighted 3, 7 and 1 in turn, is a multiple of ten. */
function isRoutingNumber(text: string): boolean {
  const sum = Array.from(text).reduce(
    (total, digit, at) => total + Number(digit) * ([3, 7, 1][at % 3] ?? 0),
    0,
  );
  return /^[0-9]{9}$/.test(text) && sum > 0 && sum % 10 === 0;
}

/** An http or https address without credentials, with a host that can exist, and without characters that parsers read differently. */
function isHttpUrl(text: string): boolean {
  if (!/^https?:\/\/[^\s\\]+$/i.test(text) || !URL.canParse(text)) return false;
  const { username, password, hostname } = new URL(text);
  return username === "" && password === "" && hostname.length <= LONGEST_HOST;
}

/** Whether a text is an origin such as `https://app.example.com`: no wildcard, and nothing that adds to a header that names it. */
export function isOrigin(text: string): boolean {
  return /^https?:\/\/[A-Za-z0-9.:[\]-]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

/** What is wrong with the address of a server, or null. */
export function urlProblem(url: string): string | null {
  return isHttpUrl(url) ? null : `The URL must be an http:// or https:// address ${ADDRESS_RULES}.`;
}

interface CompiledSchema {
  readonly schema: object;
  readonly validate: ValidateFunction;
  readonly bytes: number;
}

/** The functions that a schema is compiled to, and their code by each character of its text: 5,000 and 15 before they run. */
const COMPILED_BYTES = 8_000;
const BYTES_PER_CHARACTER = 20;

/** Providers' schemas, compiled, by their text: an equal schema that is read from the database again has the same. */
class ProviderSchemas {
  /** Their patterns run in linear time. */
  readonly #ajv = compilerWith({ code: { regExp: linearPattern } });
  readonly #compiled = new BoundedCache<CompiledSchema>("provider_schemas", {
    sizeOf: ({ bytes }) => bytes,
    // The compiler keeps a reference to every schema until it is removed.
    onRemove: ({ schema }) => void this.#ajv.removeSchema(schema),
  });

  validatorOf(schema: object): ValidateFunction {
    const text = JSON.stringify(schema);
    const known = this.#compiled.get(text);
    if (known !== undefined) return known.validate;
    const validate = this.#ajv.compile(schema);
    this.#compiled.set(text, { schema, validate, bytes: COMPILED_BYTES + BYTES_PER_CHARACTER * text.length });
    return validate;
  }
}

/** A time of RFC 3339 with an offset that PostgreSQL has too. */
const TIME =
  /^((?!0000)\d{4}-\d\d-\d\d)[Tt ]([01]\d|2[0-3])(:[0-5]\d){2}(\.\d{1,9})?([Zz]|[+-](0\d|1[0-5]):?[0-5]\d)$/;
const AFTER_LAST_TIME = Date.UTC(10_000, 0);

/** Whether this service and its database both know the time: years 1 to 9999, without leap seconds. */
function isTime(text: string): boolean {
  const [, day] = TIME.exec(text) ?? [];
  if (day === undefined || !(Date.parse(text) < AFTER_LAST_TIME)) return false;
  // A day that its month has not is one of the next month here.
  return new Date(day).toISOString().startsWith(day);
}

/**
 * Schemas of our own are constants: the compiler itself keeps what it has made of each. What they call a time or a UUID is read as one later:
 * the formats' own checks take `urn:uuid:…`, the year 0 and offsets of 23 hours, which PostgreSQL refuses.
 */
const own = compilerWith({}).addFormat("uuid", isUuid).addFormat("date-time", isTime);
const providers = new ProviderSchemas();

/** Whether a provider's schema can be used here; the reason why not is in `schemaProblem` (provider-schema.ts). */
export function isProviderSchema(schema: object): boolean {
  try {
    providers.validatorOf(schema);
    return true;
  } catch {
    return false;
  }
}

/** One thing that is wrong with a value, and where. */
export interface Violation {
  /** JSON pointer; empty for the value itself. */
  readonly path: string;
  readonly message: string;
}

/** Whether a value matches the schema. */
export function check<S extends Schema>(schema: S, value: unknown): value is ValueOf<S> {
  return own.compile<ValueOf<S>>(schema)(value);
}

/** Violations of the schema, without the value itself; empty when it matches. `at`: path of the value. */
export function violations(schema: object, value: unknown, at = ""): readonly Violation[] {
  return violationsBy(own.compile(schema), value, at);
}

function violationsBy(validate: ValidateFunction, value: unknown, at: string): readonly Violation[] {
  return validate(value)
    ? []
    : (validate.errors ?? []).map((error) => violationOf(error, at + error.instancePath));
}

/** Length of a value, as JSON, that is checked against a provider's schema: patterns and lists take time by it. */
const MAX_VALUE_LENGTH = 4_096;

/** Violations of a provider's schema. */
export function providerViolations(schema: object, value: unknown, at = ""): readonly Violation[] {
  if (JSON.stringify(value).length > MAX_VALUE_LENGTH)
    return [{ path: at, message: `is longer than ${String(MAX_VALUE_LENGTH)} characters as JSON` }];
  return violationsBy(providers.validatorOf(schema), value, at);
}

/** How the message of a text begins that does not match its pattern. */
export const PATTERN_MISMATCH = "must match pattern";

function violationOf({ keyword, message = "is not valid", params }: ErrorObject, path: string): Violation {
  const {
    additionalProperty,
    allowedValues,
    format,
    pattern = "",
  } = params as {
    readonly additionalProperty?: string;
    readonly allowedValues?: readonly string[];
    readonly format?: string;
    readonly pattern?: string;
  };
  if (keyword === "additionalProperties")
    return { path: `${path}/${(additionalProperty ?? "").slice(0, 100)}`, message: "is not a known field" };
  if (keyword === "enum") return { path, message: `must be one of ${(allowedValues ?? []).join(", ")}` };
  return { path, message: FORMATS[String(format)]?.[1] ?? PATTERN_WORDS[pattern] ?? message };
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
