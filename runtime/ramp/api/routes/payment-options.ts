import { Type } from "@sinclair/typebox";
import Big from "big.js";
import { readAmount } from "../../accounts/currency.js";
import { candidatesFor, fetchQuotes, readCountry, readPair, requirementsOf } from "../../providers/quotes.js";
import type { ProviderConnection } from "../../providers/provider-connections.js";
import { jsonResponse, isRampError, rampError } from "../../core/ramp-errors.js";
import { type RampContext, route } from "../route.js";
import { QuoteQuery, RequirementsQuery } from "../request-schemas.js";
import { ProviderView, QuotesView, RequirementsView, SupportedPairView } from "../response-schemas.js";
import { quoteView } from "../intent-view.js";

export const getSupportedCurrencies = route("project", {
  method: "GET",
  path: "/v1/currencies/supported",
  summary: "List the currency pairs that the project's providers move",
  response: { status: 200, schema: Type.Array(SupportedPairView), description: "Pairs." },
  errors: [],
  async handle({ ramp, caller }) {
    const connections = await ramp.providers.list(caller.projectId);
    const offered = connections.flatMap(({ capabilities }) => capabilities.pairs);
    const names = new Set(offered.map((pair) => `${pair.srcCurrencyCode} ${pair.destCurrencyCode}`));
    const pairs = [...names].flatMap((name) => {
      const [from = "", to = ""] = name.split(" ");
      const providerIds = providersOf(ramp, connections, from, to);
      return providerIds.length === 0 ? [] : [{ from, to, providerIds }];
    });
    return jsonResponse(200, pairs);
  },
});

/** The providers that an intent of a pair can have; none for a pair that is no ramp, or whose currency or country is not known. */
function providersOf(
  ramp: RampContext,
  connections: readonly ProviderConnection[],
  from: string,
  to: string,
): string[] {
  const pair = readPair(ramp, from, to, ["", ""]);
  if (isRampError(pair) || pair.src.code !== from || pair.dest.code !== to) return [];
  const candidates = candidatesFor(connections, { ...pair, srcAmount: null, countryCode: null, rail: null });
  const isUsable = ({ capabilities }: ProviderConnection): boolean =>
    capabilities.pairs.some(
      ({ srcCurrencyCode, destCurrencyCode, countries, minSrcAmount, maxSrcAmount }) =>
        srcCurrencyCode === from &&
        destCurrencyCode === to &&
        countries.some((country) => !isRampError(readCountry(country, ""))) &&
        new Big(minSrcAmount).lte(maxSrcAmount) &&
        new Big(maxSrcAmount).gt(0),
    );
  return candidates.flatMap(({ connection }) => (isUsable(connection) ? [connection.id] : []));
}

export const getProviders = route("project", {
  method: "GET",
  path: "/v1/providers",
  summary: "List the project's providers",
  response: { status: 200, schema: Type.Array(ProviderView), description: "Providers." },
  errors: [],
  async handle({ ramp, caller }) {
    const connections = await ramp.providers.list(caller.projectId);
    return jsonResponse(
      200,
      connections.map(({ id, code, capabilities: { name, logo } }) => ({ id, name, code, logo })),
    );
  },
});

/** The pair that a query names. */
const readQueryPair = (ramp: RampContext, { srcCurrencyCode, destCurrencyCode }: RequirementsQuery) =>
  readPair(ramp, srcCurrencyCode, destCurrencyCode, ["/srcCurrencyCode", "/destCurrencyCode"]);

export const getQuote = route("project", {
  method: "GET",
  path: "/v1/intent/quote",
  summary: "Ask all providers for a quote",
  query: QuoteQuery,
  response: { status: 200, schema: QuotesView, description: "One quote per available provider, best first." },
  errors: ["UNKNOWN_CURRENCY", "UNKNOWN_COUNTRY", "INVALID_AMOUNT"],
  async handle({ ramp, caller, query }) {
    const pair = readQueryPair(ramp, query);
    // A pair that no provider can offer has no quotes; it is not an error.
    if (isRampError(pair))
      return pair.error === "UNSUPPORTED_PATH" ? jsonResponse(200, { quotes: [] }) : pair;
    const countryCode = readCountry(query.countryCode, "/countryCode");
    if (isRampError(countryCode)) return countryCode;
    const reading = readAmount(query.srcAmount, pair.src);
    if (!reading.ok) return rampError("INVALID_AMOUNT", { message: reading.problems.join(" ") });
    const path = { ...pair, srcAmount: reading.value, countryCode, rail: null };
    const quotes = await fetchQuotes(
      ramp,
      candidatesFor(await ramp.providers.list(caller.projectId), path),
      path,
    );
    return jsonResponse(200, { quotes: quotes.map((quote) => quoteView(pair.type, quote)) });
  },
});

export const getRequirements = route("project", {
  method: "GET",
  path: "/v1/intent/requirements",
  summary: "Get the JSON Schemas of both accounts of a path",
  query: RequirementsQuery,
  response: { status: 200, schema: RequirementsView, description: "A JSON Schema (draft 2020-12) per side." },
  errors: ["UNKNOWN_CURRENCY", "UNSUPPORTED_PATH", "PROVIDER_NOT_AVAILABLE"],
  async handle({ ramp, caller, query }) {
    const pair = readQueryPair(ramp, query);
    if (isRampError(pair)) return pair;
    const requirements = requirementsOf(await ramp.providers.list(caller.projectId), pair, query);
    return isRampError(requirements) ? requirements : jsonResponse(200, requirements);
  },
});
