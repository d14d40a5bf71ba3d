import type { Currency } from "./currency.js";
import type { Rail } from "../providers/protocol.js";

/** A JSON Schema (draft 2020-12) of an account's details. */
export type DetailsSchema = Readonly<Record<string, unknown>>;

export type Side = "src" | "dest";

const DRAFT = "https://json-schema.org/draft/2020-12/schema";

interface FieldSet {
  readonly properties: Readonly<Record<string, unknown>>;
  readonly required: readonly string[];
}

/** What identifies a bank account, by rail (decisions.md §B, Shapes). */
const BANK_FIELDS: Readonly<Record<Rail, FieldSet>> = {
  ACH: {
    properties: {
      routingNumber: { type: "string", pattern: "^[0-9]{9}$", description: "Routing number, 9 digits." },
      accountNumber: {
        type: "string",
        pattern: "^[0-9]{4,17}$",
        description: "Account number, 4 to 17 digits.",
      },
      accountType: { type: "string", enum: ["checking", "savings"] },
    },
    required: ["routingNumber", "accountNumber"],
  },
  SEPA: {
    properties: {
      iban: {
        type: "string",
        pattern: "^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$",
        format: "iban",
        description: "IBAN with right check digits, without spaces.",
      },
      bic: { type: "string", pattern: "^[A-Z]{6}[A-Z0-9]{2}([A-Z0-9]{3})?$" },
    },
    required: ["iban"],
  },
  PIX: {
    properties: {
      key: {
        type: "string",
        description: "PIX key: CPF, CNPJ, e-mail, telephone or random key.",
        anyOf: [
          { pattern: "^[0-9]{11}$" },
          { pattern: "^[0-9]{14}$" },
          { pattern: "^\\+55[0-9]{10,11}$" },
          { pattern: "^[^@\\s]{1,64}@[^@\\s]{1,64}\\.[a-zA-Z]{2,20}$" },
          { pattern: "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$" },
        ],
        maxLength: 140,
      },
    },
    required: ["key"],
  },
};

/** What any account may say. */
const COMMON_FIELDS = {
  countryCode: { type: "string", pattern: "^[A-Z]{2}$", description: "ISO 3166-1 alpha-2." },
  provider: {
    type: "string",
    minLength: 1,
    maxLength: 64,
    description: "Code of the provider that should serve the account.",
  },
  accountHolderName: { type: "string", minLength: 1, maxLength: 140 },
  label: { type: "string", minLength: 1, maxLength: 140 },
} as const;

/** Schemas that were made: compiling one costs more than a request, and there are only so many. */
const made = new Map<string, DetailsSchema>();

function once(name: string, make: () => DetailsSchema): DetailsSchema {
  const known = made.get(name);
  if (known) return known;
  const schema = make();
  made.set(name, schema);
  return schema;
}

/** The schema of an account of a currency over the rails that the candidates offer. */
export function detailsSchema(currency: Currency, rails: readonly Rail[]): DetailsSchema {
  return once(`${currency.code} ${rails.join(" ")}`, () => makeSchema(currency, rails));
}

function makeSchema(currency: Currency, rails: readonly Rail[]): DetailsSchema {
  const schemas = currency.blockchain
    ? [walletSchema(currency)]
    : rails.map((rail) => bankSchema(currency, rail));
  const [only, ...others] = schemas;
  return { $schema: DRAFT, ...(others.length === 0 ? only : { type: "object", anyOf: schemas }) };
}

function bankSchema({ code }: Currency, rail: Rail): DetailsSchema {
  const { properties, required } = BANK_FIELDS[rail];
  return {
    title: `Bank account (${rail})`,
    type: "object",
    properties: { ...COMMON_FIELDS, rail: { const: rail }, currency: { const: code }, ...properties },
    required,
    additionalProperties: false,
  };
}

function walletSchema({ code, blockchain }: Currency): DetailsSchema {
  return {
    title: `Address on ${blockchain?.name ?? ""}`,
    type: "object",
    properties: {
      ...COMMON_FIELDS,
      rail: { type: "string", maxLength: 20 },
      currency: { const: code },
      address: { type: "string", pattern: blockchain?.addressPattern, description: "Address of the wallet." },
    },
    required: ["address"],
    additionalProperties: false,
  };
}

/**
 * The same for the account that an intent's money comes from: a deposit is known by its reference, so the bank account may be
 * left open. What is given is checked all the same.
 */
export function payerSchema(currency: Currency, rail: Rail): DetailsSchema {
  if (currency.blockchain) return detailsSchema(currency, [rail]);
  return once(`payer ${currency.code} ${rail}`, () => ({ ...detailsSchema(currency, [rail]), required: [] }));
}
