import { listOf } from "@routewright/runtime/internal/core/model/schema.js";
import { Amount } from "../../accounts/amount.js";
import { readAmount } from "../../accounts/currency.js";
import { recordQuote } from "../../providers/held-quotes.js";
import {
  candidatesFor,
  type CurrencyPair,
  type PaymentPath,
  readCountry,
  readPair,
  requirementsOf,
} from "../../providers/payment-path.js";
import { fetchQuotes, type Quote, whyUnavailable } from "../../providers/quotes.js";
import type { ProviderConnection } from "../../providers/provider-connections.js";
import type { Customer } from "../../sign-in/customer-token.js";
import type { Project } from "../../sign-in/project-credentials.js";
import {
  errorAt,
  jsonResponse,
  isRampError,
  type RampAnswer,
  type RampError,
  rampError,
} from "../../core/ramp-errors.js";
import { authorize } from "../authenticate.js";
import { type RampContext, route } from "../route.js";
import { QuoteQuery, RequirementsQuery } from "../request-schemas.js";
import {
  ProviderView,
  QuotesView,
  type QuoteView,
  RequirementsView,
  SupportedPairView,
} from "../response-schemas.js";
import { quoteView, unavailableView } from "../intent-view.js";

export const getSupportedCurrencies = route("project", {
  method: "GET",
  path: "/v1/currencies/supported",
  summary: "List the currency pairs that the project's providers move",
  response: { status: 200, schema: listOf(SupportedPairView), description: "Pairs." },
  errors: [],
  async handle({ ramp, caller }) {
    const connections = await ramp.providers.list(caller.projectId);
    const offered = connections.flatMap(({ capabilities }) => capabilities.pairs);
    const names = new Set(offered.map((pair) => `${pair.srcCurrencyCode} ${pair.destCurrencyCode}`));
    const pairs = [...names].flatMap((name) => {
      const [from = "", to = ""] = name.split(" ");
      const offers = offersOf(ramp, connections, from, to);
      const providerIds = [...new Set(offers.map(({ providerId }) => providerId))];
      return offers.length === 0 ? [] : [{ from, to, providerIds, offers }];
    });
    return jsonResponse(200, pairs satisfies SupportedPairView[]);
  },
});

/** What an intent of a pair can have; nothing for a pair that is no ramp, or whose currency or countries are not known. */
function offersOf(
  ramp: RampContext,
  connections: readonly ProviderConnection[],
  from: string,
  to: string,
): SupportedPairView["offers"] {
  const pair = readPair(ramp, from, to, ["", ""]);
  if (isRampError(pair) || pair.src.code !== from || pair.dest.code !== to) return [];
  const { decimals } = pair.src;
  return connections.flatMap(({ id, code, capabilities: { pairs, rails } }) =>
    pairs.flatMap(
      ({
        srcCurrencyCode,
        destCurrencyCode,
        rail,
        countries: named,
        minSrcAmount,
        maxSrcAmount,
        travelRuleFrom,
      }) => {
        const countries = named.filter((country) => !isRampError(readCountry(country, "")));
        const [least, most] = [Amount.of(minSrcAmount), Amount.of(maxSrcAmount)];
        const isOffered =
          srcCurrencyCode === from &&
          destCurrencyCode === to &&
          rails.some((known) => known.code === rail) &&
          countries.length > 0 &&
          !least.isMore(most) &&
          most.isPositive();
        if (!isOffered) return [];
        const limits = {
          minimum: least.roundedUp(decimals).text(decimals),
          maximum: most.roundedDown(decimals).text(decimals),
          ...(travelRuleFrom !== undefined && {
            travelRuleFrom: Amount.of(travelRuleFrom).roundedUp(decimals).text(decimals),
          }),
        };
        return [{ providerId: id, providerCode: code, rail, countries, ...limits }];
      },
    ),
  );
}

export const getProviders = route("project", {
  method: "GET",
  path: "/v1/providers",
  summary: "List the project's providers",
  response: { status: 200, schema: listOf(ProviderView), description: "Providers." },
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
const readQueryPair = (
  ramp: RampContext,
  { srcCurrencyCode, destCurrencyCode }: Pick<RequirementsQuery, "srcCurrencyCode" | "destCurrencyCode">,
) => readPair(ramp, srcCurrencyCode, destCurrencyCode, ["/srcCurrencyCode", "/destCurrencyCode"]);

export const getQuote = route("either", {
  method: "GET",
  path: "/v1/intent/quote",
  summary: "Ask all providers for a quote",
  description:
    "Of an amount that the source sends, or of one that the destination receives. A quote with an `id` is held by its provider until `expiresAt`: POST /v1/intent takes the id as `quoteId`. One that a customer's token requested is for that customer.",
  query: QuoteQuery,
  response: {
    status: 200,
    schema: QuotesView,
    description: "One quote per available provider, best first, and why the others have none.",
  },
  errors: ["UNKNOWN_CURRENCY", "UNKNOWN_COUNTRY", "INVALID_AMOUNT"],
  async handle({ ramp, caller, query }) {
    const wrong = amountsProblem(query);
    if (wrong !== null) return wrong;
    const connections = await ramp.providers.list(caller.projectId);
    const pair = readQueryPair(ramp, query);
    // A pair that no provider can offer has no quotes; it is not an error.
    if (isRampError(pair)) return pair.error === "UNSUPPORTED_PATH" ? noRamp(connections) : pair;
    const countryCode = readCountry(query.countryCode, "/countryCode");
    if (isRampError(countryCode)) return countryCode;
    const amounts = readAmounts(query, pair);
    if (isRampError(amounts)) return amounts;
    const path = { ...pair, ...amounts, countryCode, rail: null };
    const candidates = candidatesFor(connections, path);
    const { quotes, unavailable } = await fetchQuotes(ramp, candidates, path);
    const views = await heldViews(ramp, caller, path, quotes);
    if (isRampError(views)) return views;
    const others = connections.filter((known) => !candidates.some(({ connection }) => connection === known));
    const reasons = [...unavailable, ...others.map((connection) => whyUnavailable(connection, path))];
    return jsonResponse(200, { quotes: views, unavailable: reasons.map(unavailableView) });
  },
});

/** Exactly one of both amounts is given. */
function amountsProblem({ srcAmount, destAmount }: QuoteQuery): RampError | null {
  if (srcAmount === undefined && destAmount === undefined)
    return errorAt("INVALID_REQUEST", "/srcAmount", "is required, or destAmount");
  const isBoth = srcAmount !== undefined && destAmount !== undefined;
  return isBoth ? errorAt("INVALID_REQUEST", "/destAmount", "is given beside srcAmount") : null;
}

function readAmounts({ srcAmount, destAmount = "" }: QuoteQuery, { src, dest }: CurrencyPair) {
  const reading = srcAmount === undefined ? readAmount(destAmount, dest) : readAmount(srcAmount, src);
  if (!reading.ok) return rampError("INVALID_AMOUNT", { message: reading.problems.join(" ") });
  return srcAmount === undefined
    ? { srcAmount: null, destAmount: reading.value }
    : { srcAmount: reading.value, destAmount: null };
}

function noRamp(connections: readonly ProviderConnection[]): RampAnswer {
  const unavailable = connections.map((connection) =>
    unavailableView({ connection, reason: "PAIR_NOT_SUPPORTED" }),
  );
  return jsonResponse(200, { quotes: [], unavailable });
}

/** The quotes as callers see them, the held ones recorded under their ids. */
async function heldViews(
  { database }: RampContext,
  caller: Project | Customer,
  path: PaymentPath & { readonly countryCode: string },
  quotes: readonly Quote[],
): Promise<readonly QuoteView[] | RampError> {
  if (quotes.every(({ held }) => held === null))
    return quotes.map((quote) => quoteView(path.type, quote, null));
  const customerId = "customerId" in caller ? caller.customerId : null;
  return database.inProject(caller.projectId, async (tx) => {
    const error = await authorize(tx, caller);
    if (error !== null) return error;
    return quotes.map((quote) => quoteView(path.type, quote, recordQuote(tx, quote, path, customerId)));
  });
}

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
