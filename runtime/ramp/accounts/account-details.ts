import { BITCOIN_ADDRESS, EVM_ADDRESS } from "../database/seed-currencies.js";
import type { Currency } from "./currency.js";

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

function bankSchema({ code }: Currency, { code: rail, title, properties, required }: AccountRail): object {
  return {
    title: `Bank account (${title})`,
    type: "object",
    properties: { ...properties, ...COMMON_FIELDS, rail: { const: rail }, currency: { const: code } },
    required,
    additionalProperties: false,
  };
}

function walletSchema({ code, blockchain }: Currency): object {
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
    },
    required: ["address"],
    additionalProperties: false,
  };
}

/** The schema for an intent, on which the fields that identify a bank account are optional. */
export function intentDetailsSchema(currency: Currency, rail: AccountRail): DetailsSchema {
  return detailsSchema(currency, [currency.blockchain ? rail : { ...rail, required: [] }]);
}

/** Details as stored, with the country code in upper case. */
export function withUpperCountry<D extends Readonly<Record<string, unknown>>>(details: D): D {
  const { countryCode } = details;
  return typeof countryCode === "string" ? { ...details, countryCode: countryCode.toUpperCase() } : details;
}
