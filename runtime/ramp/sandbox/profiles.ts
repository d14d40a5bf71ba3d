import type { AmountText } from "../accounts/amount.js";
import Big from "big.js";
import { offers } from "../providers/payment-path.js";
import type {
  Capabilities,
  ExecutionOrder,
  Instruction,
  Pair,
  ProviderQuote,
  QuoteRequest,
  RailDescription,
} from "../providers/protocol.js";

/** Invented, fixed prices in dollars. */
const DOLLAR_PRICES: Readonly<Record<string, string>> = {
  USD: "1",
  EUR: "1.08",
  BRL: "0.18",
  USDC: "1",
  EURe: "1.08",
};

const FIAT_DECIMALS = 2;
const TOKEN_DECIMALS: Readonly<Record<string, number>> = { USDC: 6, EURe: 18 };

function priceOf(code: string): Big {
  return new Big(DOLLAR_PRICES[code.split("_")[0] ?? ""] ?? "0");
}

function decimalsOf(code: string): number {
  return TOKEN_DECIMALS[code.split("_")[0] ?? ""] ?? FIAT_DECIMALS;
}

/** The quote for a path; null when the provider does not offer it, or the fees would eat the amount. */
export function quoteFor(profile: Profile, request: QuoteRequest): ProviderQuote | null {
  const { srcAmount = null, destAmount } = request;
  const pair = profile.capabilities.pairs.find((offered) => offers(offered, { ...request, srcAmount }));
  if (pair === undefined) return null;
  const order = { ...request, rail: pair.rail };
  if (srcAmount !== null) return priceOfOrder(profile, { ...order, srcAmount });
  return destAmount === undefined ? null : priceOfDelivery(profile, { ...order, destAmount });
}

/** The price of what the destination is to receive: the least amount of the source that pays for it. */
function priceOfDelivery(
  profile: Profile,
  order: Omit<SandboxOrder, "srcAmount"> & { readonly destAmount: string },
): ProviderQuote | null {
  const { fees } = profile;
  const decimals = decimalsOf(order.srcCurrencyCode);
  const unit = new Big(10).pow(-decimals);
  const rate = priceOf(order.srcCurrencyCode).div(priceOf(order.destCurrencyCode));
  let src = new Big(order.destAmount)
    .div(rate)
    .plus(fees.processing)
    .plus(fees.network)
    .div(new Big(1).minus(fees.rate))
    .round(decimals, Big.roundDown);
  // Fees and the amount received are rounded: a few units more can be needed.
  for (let tries = 0; tries < 10; tries++, src = src.plus(unit)) {
    const srcAmount = src.toFixed(decimals);
    const price = src.gt(0) ? priceOfOrder(profile, { ...order, srcAmount }) : null;
    if (price !== null && new Big(price.destAmount).gte(order.destAmount))
      return { ...price, srcAmount, destAmount: order.destAmount };
  }
  return null;
}

interface SandboxOrder
  extends Pick<QuoteRequest, "srcCurrencyCode" | "destCurrencyCode">, Pick<ProviderQuote, "rail"> {
  readonly srcAmount: AmountText;
}

/** The price of any amount, also of one that is not offered; null when the fees would eat it. */
export function priceOfOrder(profile: Profile, request: SandboxOrder): ProviderQuote | null {
  const { srcCurrencyCode, destCurrencyCode, rail } = request;
  const decimals = decimalsOf(srcCurrencyCode);
  const processing = new Big(request.srcAmount)
    .times(profile.fees.rate)
    .plus(profile.fees.processing)
    .round(decimals, Big.roundUp);
  const network = new Big(profile.fees.network);
  const total = processing.plus(network);
  const rate = priceOf(srcCurrencyCode).div(priceOf(destCurrencyCode));
  const dest = new Big(request.srcAmount)
    .minus(total)
    .times(rate)
    .round(decimalsOf(destCurrencyCode), Big.roundDown);
  if (dest.lte(0)) return null;
  return {
    rail,
    hasIndicativePrice: true,
    destAmount: dest.toFixed(decimalsOf(destCurrencyCode)),
    exchangeRate: rate.toFixed(8),
    fees: {
      currencyCode: srcCurrencyCode,
      totalFee: total.toFixed(decimals),
      networkFee: network.toFixed(decimals),
      processingFee: processing.toFixed(decimals),
      partnerFee: new Big(0).toFixed(decimals),
    },
  };
}

/** One of the sandbox's providers: its currency pairs, its fees and which customers need an identity check. */
export interface Profile {
  readonly capabilities: Capabilities;
  readonly keyId: string;
  readonly secret: string;
  readonly fees: {
    /** Part of the source amount, as a decimal. */
    readonly rate: string;
    /** In units of the source currency. */
    readonly processing: string;
    readonly network: string;
  };
  /** A source amount up to this needs no identity check; null: every customer is checked, once. */
  readonly uncheckedUpTo: string | null;
  readonly bankName: string;
  /** How long the provider holds the price of a quote, in milliseconds; null: it holds none. */
  readonly holdMs: number | null;
}

/** The rails of the sandbox's providers, with what identifies an account on each. */
const RAILS = {
  ACH: {
    code: "ACH",
    title: "ACH",
    properties: {
      routingNumber: {
        type: "string",
        pattern: "^[0-9]{9}$",
        format: "aba-routing-number",
        description: "Routing number: 9 digits, the last a check digit.",
      },
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
    code: "SEPA",
    title: "SEPA",
    properties: {
      iban: {
        type: "string",
        pattern: "^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$",
        format: "iban",
        description: "IBAN with its check digits, without spaces.",
      },
      bic: { type: "string", pattern: "^[A-Z]{6}[A-Z0-9]{2}([A-Z0-9]{3})?$" },
    },
    required: ["iban"],
  },
  PIX: {
    code: "PIX",
    title: "PIX",
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
} as const;

/** Our own copy: what a message holds can be changed. */
const railsOf = (...codes: readonly (keyof typeof RAILS)[]): RailDescription[] =>
  codes.map((code) => structuredClone<unknown>(RAILS[code]) as RailDescription);

const EURO_COUNTRIES = ["AT", "BE", "DE", "ES", "FI", "FR", "IE", "IT", "LU", "NL", "PT"];

interface Lane {
  readonly fiat: string;
  readonly rail: keyof typeof RAILS;
  readonly countries: string[];
  readonly tokens: readonly string[];
}

/** Both directions of each lane. */
function pairsOf(lanes: readonly Lane[], min: string, max: string): Pair[] {
  return lanes.flatMap(({ fiat, rail, countries, tokens }) =>
    tokens.flatMap((token) => {
      const common = { rail, countries, minSrcAmount: min, maxSrcAmount: max, travelRuleFrom: "1000" };
      return [
        { srcCurrencyCode: fiat, destCurrencyCode: token, ...common },
        { srcCurrencyCode: token, destCurrencyCode: fiat, ...common },
      ];
    }),
  );
}

const DOLLARS = ["USDC_POLYGON", "USDC_GNOSIS"];
const EUROS = ["EURe_POLYGON", "EURe_GNOSIS"];
const COMMON = {
  logo: null,
  sandbox: true,
  refunds: true,
  refundCancels: true,
  destAmounts: true,
  depositAccounts: true,
  requirements: [
    { code: "KYC_VERIFICATION", title: "Identity check" },
    { code: "TRAVEL_RULE", title: "Sender and receiver" },
  ],
};

export const PROFILES: readonly Profile[] = [
  {
    capabilities: {
      code: "sandbox-north",
      name: "Sandbox North",
      ...COMMON,
      rails: railsOf("ACH", "SEPA"),
      pairs: pairsOf(
        [
          { fiat: "USD", rail: "ACH", countries: ["US"], tokens: DOLLARS },
          { fiat: "EUR", rail: "SEPA", countries: EURO_COUNTRIES, tokens: [...EUROS, ...DOLLARS] },
        ],
        "10",
        "50000",
      ),
    },
    keyId: "sandbox-north-key",
    secret: "sandbox-north-secret-0f6c2a",
    fees: { rate: "0.010", processing: "0", network: "0.20" },
    uncheckedUpTo: null,
    bankName: "Northern Sandbox Bank",
    holdMs: null,
  },
  {
    capabilities: {
      code: "sandbox-south",
      name: "Sandbox South",
      ...COMMON,
      rails: railsOf("ACH", "SEPA", "PIX"),
      pairs: pairsOf(
        [
          { fiat: "USD", rail: "ACH", countries: ["US", "BR"], tokens: DOLLARS },
          { fiat: "EUR", rail: "SEPA", countries: EURO_COUNTRIES, tokens: EUROS },
          { fiat: "BRL", rail: "PIX", countries: ["BR"], tokens: DOLLARS },
        ],
        "1",
        "10000",
      ),
    },
    keyId: "sandbox-south-key",
    secret: "sandbox-south-secret-91be4d",
    fees: { rate: "0.005", processing: "1.00", network: "0.05" },
    uncheckedUpTo: "100",
    bankName: "Southern Sandbox Bank",
    holdMs: 60_000,
  },
];

/** Whether a movement has everything that identifies the account that receives it. */
export function namesReceiver(
  { capabilities }: Profile,
  { type, rail, dest }: Pick<ExecutionOrder["movement"], "type" | "rail" | "dest">,
): boolean {
  const required =
    type === "ONRAMP" ? ["address"] : capabilities.rails.find(({ code }) => code === rail)?.required;
  return required?.every((field) => Object.hasOwn(dest.details, field)) ?? false;
}

/** The sandbox's own accounts, by rail. */
const OWN_ACCOUNTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ACH: { routingNumber: "021000021", accountNumber: "000123456789" },
  SEPA: { iban: "DE89370400440532013000", bic: "COBADEFFXXX" },
  PIX: { key: "5a4d0000-0000-4000-8000-000000000001" },
};

const HOUR_MS = 60 * 60_000;
/** How long the sandbox waits for a payment, by rail: bank transfers take days. */
const PAYMENT_MS: Readonly<Record<string, number>> = { ACH: 120 * HOUR_MS, SEPA: 72 * HOUR_MS, PIX: HOUR_MS };

export function paymentMs({ movement: { rail } }: ExecutionOrder): number {
  return PAYMENT_MS[rail] ?? HOUR_MS;
}

/** Where the customer sends the money. */
export function instructionOf(
  { bankName, capabilities }: Profile,
  { movement }: ExecutionOrder,
  reference: string,
): Instruction {
  const { type, rail, srcAmount, src } = movement;
  if (type === "OFFRAMP") {
    const [currency = "", chain = ""] = src.currencyCode.split("_");
    const details = {
      address: "0x00000000000000000000000000000000005a4d00",
      chain,
      amount: srcAmount,
      currency,
    };
    return { encoding: "DISPLAY", type: "CRYPTO", details };
  }
  const details = {
    beneficiary: capabilities.name,
    bankName,
    ...OWN_ACCOUNTS[rail],
    reference,
    rail,
    amount: srcAmount,
    currency: src.currencyCode,
  };
  return { encoding: "DISPLAY", type: "BANK", details };
}
