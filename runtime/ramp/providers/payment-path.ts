import { Amount, type AmountText } from "../accounts/amount.js";
import countries from "i18n-iso-countries";
import { detailsSchema } from "../accounts/account-details.js";
import type { Currency } from "../accounts/currency.js";
import type { CoreContext } from "../core/context.js";
import { errorAt, isRampError, rampError, type RampError } from "../core/ramp-errors.js";
import type { Pair, QuoteRequest, Rail, RailDescription } from "./protocol.js";
import type { ProviderConnection } from "./provider-connections.js";

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
    const unknown = paths.filter((_path, at) => [src, dest][at] === null);
    return rampError("UNKNOWN_CURRENCY", {
      details: unknown.map((path) => ({ path, message: "is not a known currency code" })),
    });
  }
  if (src.type === dest.type)
    return rampError("UNSUPPORTED_PATH", {
      message: `${src.code} and ${dest.code} are of one kind: one is bank money and the other a token. ${SEE_OFFERS}`,
    });
  return { src, dest, type: src.type === "FIAT" ? "ONRAMP" : "OFFRAMP" };
}

/** Whether a code is a country of ISO 3166-1, in any letter case; then in upper case. */
export function readCountry(code: string, path: string): string | RampError {
  const upper = code.toUpperCase();
  return countries.isValid(upper)
    ? upper
    : errorAt("UNKNOWN_COUNTRY", path, "is not a country code of ISO 3166-1 alpha-2");
}

/** A requested movement; null: any. */
export interface PaymentPath extends CurrencyPair {
  readonly srcAmount: AmountText | null;
  readonly countryCode: string | null;
  readonly rail: Rail | null;
}

/** One of a known amount, of either side, which can be priced. */
export type PricedPath = PaymentPath &
  (
    | { readonly srcAmount: AmountText; readonly destAmount: null }
    | { readonly srcAmount: null; readonly destAmount: string }
  );

/** A provider that offers the path, with the rails for it. */
export interface Candidate {
  readonly connection: ProviderConnection;
  readonly rails: readonly [RailDescription, ...RailDescription[]];
}

export function candidatesFor(
  connections: readonly ProviderConnection[],
  { src, dest, ...path }: PaymentPath,
): readonly Candidate[] {
  const wanted = { ...path, srcCurrencyCode: src.code, destCurrencyCode: dest.code };
  return connections.flatMap((connection) => {
    const { pairs, rails } = connection.capabilities;
    const offered = pairs.filter((pair) => offers(pair, wanted)).map(({ rail }) => rail);
    const [first, ...others] = rails.filter(({ code }) => offered.includes(code));
    return first ? [{ connection, rails: [first, ...others] as const }] : [];
  });
}

export function offers(
  pair: Pair,
  wanted: Omit<QuoteRequest, "srcAmount" | "destAmount"> & { readonly srcAmount: AmountText | null },
): boolean {
  const { srcAmount, countryCode, rail } = wanted;
  return (
    pair.srcCurrencyCode === wanted.srcCurrencyCode &&
    pair.destCurrencyCode === wanted.destCurrencyCode &&
    (rail === null || pair.rail === rail) &&
    (countryCode === null || pair.countries.includes(countryCode)) &&
    (srcAmount === null ||
      (!Amount.of(srcAmount).isLess(pair.minSrcAmount) && !Amount.of(srcAmount).isMore(pair.maxSrcAmount)))
  );
}

/** What a provider takes of the source currency on a path; null: it does not offer the path. */
export function limitsOf(
  { capabilities: { pairs } }: ProviderConnection,
  { src, dest, countryCode, rail }: PaymentPath,
): { readonly minimum: AmountText; readonly maximum: AmountText } | null {
  const wanted = {
    srcCurrencyCode: src.code,
    destCurrencyCode: dest.code,
    countryCode,
    rail,
    srcAmount: null,
  };
  const offered = pairs.filter((pair) => offers(pair, wanted));
  if (offered.length === 0) return null;
  const [least = Amount.ZERO] = Amount.sorted(offered.map(({ minSrcAmount }) => minSrcAmount));
  const most = Amount.sorted(offered.map(({ maxSrcAmount }) => maxSrcAmount)).at(-1) ?? Amount.ZERO;
  return {
    minimum: least.roundedUp(src.decimals).text(src.decimals),
    maximum: most.roundedDown(src.decimals).text(src.decimals),
  };
}

/** The candidates that the caller accepts, each named by its id in the project or by its code. */
export function acceptedCandidates(
  connections: readonly ProviderConnection[],
  path: PaymentPath,
  names: readonly string[],
): readonly Candidate[] | RampError {
  const candidates = candidatesFor(connections, path);
  if (candidates.length === 0) return whyNone(connections, path);
  const accepted = candidates.filter(({ connection }) => isNamed(connection, names));
  return accepted.length === 0 ? rampError("PROVIDER_NOT_AVAILABLE") : accepted;
}

/** No provider takes the path: for its amount alone, below or above what all take, or for something else. */
function whyNone(connections: readonly ProviderConnection[], path: PaymentPath): RampError {
  const limits = connections.flatMap((connection) => limitsOf(connection, path) ?? []);
  const least = Amount.sorted(limits.map(({ minimum }) => minimum))[0];
  const most = Amount.sorted(limits.map(({ maximum }) => maximum)).at(-1);
  const { srcAmount, src } = path;
  if (srcAmount === null || least === undefined || most === undefined) return unsupported(connections, path);
  const taken = (amount: Amount): string => `${amount.text(src.decimals)} ${src.code}`;
  if (least.isMore(srcAmount))
    return rampError("AMOUNT_TOO_SMALL", { message: `The least that is taken is ${taken(least)}.` });
  if (most.isLess(srcAmount))
    return rampError("AMOUNT_TOO_LARGE", { message: `The most that is taken is ${taken(most)}.` });
  return unsupported(connections, path);
}

const SEE_OFFERS = "GET /v1/currencies/supported lists what is offered.";

/** The first part of the path that no provider offers. */
function unsupported(connections: readonly ProviderConnection[], path: PaymentPath): RampError {
  const { src, dest, rail, countryCode } = path;
  const isOffered = (part: Partial<PaymentPath>): boolean =>
    candidatesFor(connections, { ...path, srcAmount: null, rail: null, countryCode: null, ...part }).length >
    0;
  const pair = `from ${src.code} to ${dest.code}`;
  const what = !isOffered({})
    ? pair
    : !isOffered({ rail })
      ? `${pair} over the rail ${String(rail)}`
      : !isOffered({ countryCode })
        ? `${pair} in the country ${String(countryCode)}`
        : `${pair} for this rail, country and amount together`;
  return rampError("UNSUPPORTED_PATH", { message: `No provider offers the path ${what}. ${SEE_OFFERS}` });
}

/** Whether all names are of this provider. */
export function isNamed({ id, code }: ProviderConnection, names: readonly string[]): boolean {
  return names.every((name) => name === id || name.toLowerCase() === code);
}

/** The schemas of both sides, merged over the candidates (runtime/ramp/docs/intents.md, Rails). */
export function requirementsOf(
  connections: readonly ProviderConnection[],
  pair: CurrencyPair,
  { rail = null, providerId }: { readonly rail?: string | null; readonly providerId?: string },
) {
  const path = { ...pair, srcAmount: null, countryCode: null, rail };
  const candidates = acceptedCandidates(connections, path, providerId === undefined ? [] : [providerId]);
  if (isRampError(candidates)) return candidates;
  const rails = candidates
    .flatMap((candidate) => candidate.rails)
    .sort((left, right) => (left.code < right.code ? -1 : 1));
  const side = (currency: Currency) => ({
    currencyCode: currency.code,
    schema: detailsSchema(currency, rails),
  });
  return { src: side(pair.src), dest: side(pair.dest) };
}
