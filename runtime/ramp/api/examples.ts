import type { TSchema } from "@sinclair/typebox";
import * as schemas from "./response-schemas.js";

const id = (number: number): string => `01997f3a-0001-7000-8000-${String(number).padStart(12, "0")}`;
const CREATED = "2026-03-02T09:30:00.000Z";

/** Values of the OpenAPI document's examples by the name of the field or parameter: one on-ramp, from the quote to the webhook. */
const BY_NAME: Readonly<Record<string, unknown>> = {
  id: id(5),
  customerId: "6f1c2b1e-52d4-4a39-9d0e-0a5c3f7e8b21",
  externalId: "user-42",
  projectId: id(2),
  connectionId: id(3),
  onboardingId: id(5),
  starting_after: id(5),
  "Idempotency-Key": "order-A-1001",
  limit: "20",
  updatedAt: "2026-03-02T09:31:12.000Z",
  accessToken: "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiI2ZjFjMmIxZSJ9.c2lnbmF0dXJl",
  token: "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiI2ZjFjMmIxZSJ9.c2lnbmF0dXJl",
  ticker: "USD",
  name: "US Dollar",
  code: "USD",
  decimals: 2,
  currencyCode: "USD",
  srcCurrencyCode: "USD",
  destCurrencyCode: "USDC_POLYGON",
  from: "USD",
  to: "USDC_POLYGON",
  countryCode: "US",
  rail: "ACH",
  provider: "Example Payments",
  providerId: id(3),
  srcAmount: "100.00",
  amount: "100.00",
  destAmount: "98.500000",
  amountReceived: "98.500000",
  exchangeRate: "1",
  totalFee: "1.50",
  networkFee: "0.25",
  processingFee: "1.00",
  partnerFee: "0.25",
  encoding: "DISPLAY",
  details: { beneficiary: "Example Payments", routingNumber: "021000021", reference: "R-7F3A", rail: "ACH" },
  logo: null,
  metadata: { order: "A-1001" },
  label: "USD …6789",
  onboardingUrl: "https://ramp.example/onboarding/v1.AZl_OgAC.c2lnbmF0dXJl",
  providerReference: "order-4711",
  requirementCode: "KYC_VERIFICATION",
  status: "PENDING",
  type: "ONRAMP",
  previousStatus: null,
  reasons: "PROVIDER_FAILS",
  reason: "ACH return R01",
  failureReason: null,
  url: "https://shop.example/events",
  lastResult: "503",
  data: { projectId: id(2), intentId: id(5) },
};
/** Of these formats the document needs one value. */
const BY_FORMAT: Readonly<Record<string, string>> = { uuid: id(1), "date-time": CREATED };
const BY_TYPE: Readonly<Record<string, unknown>> = { integer: 1, boolean: false, null: null };

/** An example of a schema: its own, else one by name, format or type. A text without one is an error that the tests see. */
export function exampleOf(schema: TSchema, name = ""): unknown {
  const { $ref, examples, anyOf, items, properties, enum: values, format, type } = schema as Keywords;
  if (examples !== undefined) return examples[0];
  if ($ref !== undefined) return exampleOf(COMPONENTS.get($ref) as TSchema);
  if ("const" in schema) return schema["const"];
  if (values !== undefined) return values[0];
  if (properties !== undefined) return objectOf(schema as TSchema & { properties: Keywords["properties"] });
  if (items !== undefined) return [exampleOf(items, name)];
  if (anyOf?.[0] !== undefined && "const" in anyOf[0]) return anyOf[0]["const"];
  if (name in BY_NAME && fits(BY_NAME[name], schema)) return BY_NAME[name];
  if (anyOf !== undefined) return exampleOf(anyOf[0] as TSchema, name);
  const example = BY_FORMAT[format ?? ""] ?? BY_TYPE[type ?? ""];
  if (example === undefined) throw new Error(`The field ${name} has no example.`);
  return example;
}

interface Keywords {
  readonly $ref?: string;
  readonly examples?: readonly unknown[];
  readonly anyOf?: readonly TSchema[];
  readonly items?: TSchema;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly type?: string;
}

/** Required fields, and of the optional ones those that have a value here. */
function objectOf({
  properties = {},
  required = [],
}: TSchema & { properties: Keywords["properties"] }): object {
  const shown = Object.entries(properties).filter(
    ([name, schema]) =>
      (required as readonly string[]).includes(name) ||
      schema["$ref"] !== undefined ||
      (name in BY_NAME && fits(BY_NAME[name], schema)),
  );
  return Object.fromEntries(shown.map(([name, schema]) => [name, exampleOf(schema, name)]));
}

/** A name stands for values of one kind: null is one of a schema that allows it. */
function fits(value: unknown, schema: TSchema): boolean {
  return value !== null || "anyOf" in schema;
}

const COMPONENTS = new Map(
  Object.values(schemas as Readonly<Record<string, TSchema>>).map((schema) => [schema.$id ?? "", schema]),
);

/** Example of a parameter of a path or a header. */
export function parameterExample(name: string): unknown {
  return exampleOf({ type: "string" } as unknown as TSchema, name);
}
