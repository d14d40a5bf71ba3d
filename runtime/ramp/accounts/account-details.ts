import { BITCOIN_ADDRESS, EVM_ADDRESS } from "../database/migrate.js";
import type { Currency } from "./currency.js";
import { bech32, bech32m, createBase58check } from "@scure/base";
import { sha256 } from "@noble/hashes/sha2.js";
import { keccak_256 } from "@noble/hashes/sha3.js";

/** A JSON Schema (draft 2020-12) of an account's details. */
type DetailsSchema = Readonly<Record<string, unknown>>;

export type Side = "src" | "dest";

/** One side of a payment as the caller gave it. */
export interface AccountSide {
  readonly currencyCode: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** A payment rail and what identifies an account on it. */
interface AccountRail {
  readonly code: string;
  readonly title: string;
  /** JSON Schema of each field. */
  readonly properties: Readonly<Record<string, object>>;
  readonly required: readonly string[];
}

const DRAFT = "https://json-schema.org/draft/2020-12/schema";

/** Details that every account may have. */
const COMMON_FIELDS = {
  countryCode: {
    type: "string",
    pattern: "^[A-Za-z]{2}$",
    description: "ISO 3166-1 alpha-2, in any letter case.",
  },
  provider: {
    type: "string",
    minLength: 1,
    maxLength: 64,
    description: "Code of the provider that should serve the account.",
  },
  accountHolderName: { type: "string", minLength: 1, maxLength: 140 },
  label: { type: "string", minLength: 1, maxLength: 140 },
} as const;

/** The schema of an account of a currency, over the rails that the candidates offer. */
export function detailsSchema(currency: Currency, rails: readonly AccountRail[]): DetailsSchema {
  if (currency.blockchain) return { $schema: DRAFT, ...walletSchema(currency) };
  const schemas = rails.map((rail) => bankSchema(currency, rail));
  // Providers that describe a rail alike make one choice.
  const choices = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema] as const)).values()];
  return { $schema: DRAFT, ...(choices.length === 1 ? choices[0] : { type: "object", anyOf: choices }) };
}

/** Rails of SEPA, whose accounts are in its area. */
const SEPA_RAIL = /^SEPA(_|$)/;

/** The fields of a rail; an IBAN on a rail of SEPA is one of its area. */
function fieldsOn(rail: string, fields: AccountRail["properties"]): AccountRail["properties"] {
  if (!SEPA_RAIL.test(rail)) return fields;
  const isIban = (field: object): boolean => (field as { readonly format?: unknown }).format === "iban";
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [
      name,
      isIban(field) ? { ...field, format: "sepa-iban" } : field,
    ]),
  );
}

/** For the callers of GET /v1/intent/requirements: the calls that take the details need different fields. */
const NEEDED =
  "An external account needs the required fields. POST /v1/intent needs countryCode too; the bank that pays needs countryCode alone.";

function bankSchema({ code }: Currency, { code: rail, title, properties, required }: AccountRail): object {
  return {
    title: `Bank account (${title})`,
    description: NEEDED,
    type: "object",
    properties: {
      ...fieldsOn(rail, properties),
      ...COMMON_FIELDS,
      rail: { const: rail },
      currency: { const: code },
    },
    required,
    additionalProperties: false,
  };
}

function walletSchema({ code, blockchain }: Currency): object {
  const { memo = null } = blockchain ?? {};
  return {
    title: `Address on ${blockchain?.name ?? ""}`,
    type: "object",
    properties: {
      ...COMMON_FIELDS,
      rail: { type: "string", maxLength: 20 },
      currency: { const: code },
      address: {
        type: "string",
        pattern: blockchain?.addressPattern,
        ...(blockchain?.addressPattern === EVM_ADDRESS ? { format: "evm-address" } : {}),
        ...(blockchain?.addressPattern === BITCOIN_ADDRESS ? { format: "bitcoin-address" } : {}),
        description: "Address of the wallet.",
      },
      ...(memo && { [memo.field]: { type: "string", pattern: memo.pattern } }),
    },
    required: memo?.required === true ? ["address", memo.field] : ["address"],
    additionalProperties: false,
  };
}

/**
 * The schema for one side of an intent. The fields that identify a bank account are optional where it pays; where it receives, an
 * intent without them would promise money to nobody.
 */
export function intentDetailsSchema(side: Side, currency: Currency, rail: AccountRail): DetailsSchema {
  const isPayingBank = side === "src" && currency.blockchain === null;
  return detailsSchema(currency, [isPayingBank ? { ...rail, required: [] } : rail]);
}

/** Details as stored, with the country code in upper case. */
export function withUpperCountry<D extends Readonly<Record<string, unknown>>>(details: D): D {
  const { countryCode } = details;
  return typeof countryCode === "string" ? { ...details, countryCode: countryCode.toUpperCase() } : details;
}

const BASE58 = createBase58check(sha256);
/** Versions of P2PKH and P2SH addresses of the main network, each of 20 bytes. */
const BASE58_VERSIONS: ReadonlySet<number | undefined> = new Set([0x00, 0x05]);

/** Whether a text is an address of Bitcoin's main network: Base58Check, or Bech32 (BIP 173) and Bech32m (BIP 350). */
export function isBitcoinAddress(text: string): boolean {
  try {
    return text.toLowerCase().startsWith("bc1") ? isSegwit(text) : isBase58(text);
  } catch {
    // The decoders throw for a wrong checksum.
    return false;
  }
}

function isBase58(text: string): boolean {
  const bytes = BASE58.decode(text);
  return bytes.length === 21 && BASE58_VERSIONS.has(bytes[0]);
}

function isSegwit(text: string): boolean {
  const version = "qpzry9x8gf2tvdw0s3jn54khce6mua7l".indexOf(text.toLowerCase()[3] ?? "");
  const coder = version === 0 ? bech32 : bech32m;
  const { prefix, words }: { readonly prefix: string; readonly words: number[] } = coder.decode(
    text as `bc1${string}`,
    90,
  );
  const { length } = coder.fromWords(words.slice(1));
  const isLength = version === 0 ? length === 20 || length === 32 : length >= 2 && length <= 40;
  return prefix === "bc" && version <= 16 && isLength;
}

/** An address in the checksummed form of EIP-55. */
export type Address = `0x${string}`;

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

/** The EIP-55 form of an address; null when the text is not an address. */
export function checksumAddress(text: string): Address | null {
  if (!ADDRESS.test(text)) return null;
  const digits = text.slice(2).toLowerCase();
  const hash = Buffer.from(keccak_256(Buffer.from(digits))).toString("hex");
  const mixed = digits.replace(/[a-f]/g, (digit, at: number) =>
    parseInt(hash[at] ?? "0", 16) >= 8 ? digit.toUpperCase() : digit,
  );
  return `0x${mixed}`;
}
