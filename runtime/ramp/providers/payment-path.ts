import countries from "i18n-iso-countries";
import { detailsSchema } from "../accounts/account-details.js";
import type { Currency } from "../accounts/currency.js";
import type { CoreContext } from "../core/context.js";
import { rampError, type RampError } from "../core/ramp-errors.js";
import type { ProviderConnection } from "./provider-connections.js";
import { candidatesFor } from "./quotes.js";

/** The two currencies of a path, in our own spelling, and the kind of movement between them. */
export interface CurrencyPair {
  readonly src: Currency;
  readonly dest: Currency;
  readonly type: "ONRAMP" | "OFFRAMP";
}

/** Reads the codes of a path. A path between two bank currencies or two assets is not a ramp. */
export function readPair(
  { currencies }: CoreContext,
  srcCode: string,
  destCode: string,
  paths: readonly [string, string],
): CurrencyPair | RampError {
  const src = currencies.find(srcCode);
  const dest = currencies.find(destCode);
  if (src === null || dest === null) {
    const unknown = [src === null ? paths[0] : null, dest === null ? paths[1] : null].filter(
      (path) => path !== null,
    );
    return rampError("UNKNOWN_CURRENCY", {
      details: unknown.map((path) => ({ path, message: "is not a known currency code" })),
    });
  }
  if (src.type === dest.type) return rampError("UNSUPPORTED_PATH");
  return { src, dest, type: src.type === "FIAT" ? "ONRAMP" : "OFFRAMP" };
}

/** Whether a code is a country of ISO 3166-1, in any letter case; then in upper case. */
export function readCountry(code: string, path: string): string | RampError {
  const upper = code.toUpperCase();
  if (countries.isValid(upper)) return upper;
  return rampError("UNKNOWN_COUNTRY", {
    details: [{ path, message: "is not a country code of ISO 3166-1 alpha-2" }],
  });
}

interface Choice {
  readonly rail?: string;
  readonly providerId?: string;
}

/** The schemas of both sides, merged over the candidates (runtime/ramp/docs/intents.md, Rails). */
export function requirementsOf(
  connections: readonly ProviderConnection[],
  { src, dest }: CurrencyPair,
  { rail, providerId }: Choice,
):
  | { src: { currencyCode: string; schema: object }; dest: { currencyCode: string; schema: object } }
  | RampError {
  const path = {
    srcCurrencyCode: src.code,
    destCurrencyCode: dest.code,
    srcAmount: null,
    countryCode: null,
    rail: rail ?? null,
  };
  const candidates = candidatesFor(connections, path);
  if (candidates.length === 0) return rampError("UNSUPPORTED_PATH");
  const chosen =
    providerId === undefined
      ? candidates
      : candidates.filter(({ connection }) => hasIdOrCode(connection, providerId));
  if (chosen.length === 0) return rampError("PROVIDER_NOT_AVAILABLE");
  const rails = chosen
    .flatMap((candidate) => candidate.rails)
    .sort((left, right) => (left.code < right.code ? -1 : 1));
  return {
    src: { currencyCode: src.code, schema: detailsSchema(src, rails) },
    dest: { currencyCode: dest.code, schema: detailsSchema(dest, rails) },
  };
}

/** Whether a name is the provider's id in the project or its code. */
export function hasIdOrCode({ id, code }: ProviderConnection, name: string): boolean {
  return name === id || name.toLowerCase() === code;
}
