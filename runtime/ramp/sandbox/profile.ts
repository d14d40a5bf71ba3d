import type { Capabilities, Pair, Rail } from "../provider/protocol.js";

/** One of the sandbox's providers: what it moves, what it takes and whom it asks for papers. */
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
}

const EURO_COUNTRIES = ["AT", "BE", "DE", "ES", "FI", "FR", "IE", "IT", "LU", "NL", "PT"];

interface Lane {
  readonly fiat: string;
  readonly rail: Rail;
  readonly countries: string[];
  readonly tokens: readonly string[];
}

/** Both directions of each lane. */
function pairsOf(lanes: readonly Lane[], min: string, max: string): Pair[] {
  return lanes.flatMap(({ fiat, rail, countries, tokens }) =>
    tokens.flatMap((token) => {
      const common = { rail, countries, minSrcAmount: min, maxSrcAmount: max };
      return [
        { srcCurrencyCode: fiat, destCurrencyCode: token, ...common },
        { srcCurrencyCode: token, destCurrencyCode: fiat, ...common },
      ];
    }),
  );
}

const DOLLARS = ["USDC_POLYGON", "USDC_GNOSIS"];
const EUROS = ["EURe_POLYGON", "EURe_GNOSIS"];
const REQUIREMENTS = [{ code: "KYC_VERIFICATION", title: "Identity check" }];

export const PROFILES: readonly Profile[] = [
  {
    capabilities: {
      code: "sandbox-north",
      name: "Sandbox North",
      logo: null,
      requirements: REQUIREMENTS,
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
  },
  {
    capabilities: {
      code: "sandbox-south",
      name: "Sandbox South",
      logo: null,
      requirements: REQUIREMENTS,
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
  },
];
