import { Type } from "@sinclair/typebox";
import countries from "i18n-iso-countries";
import { detailsSchema } from "../../account/details.js";
import { readAmount } from "../../currency/amount.js";
import type { Currency } from "../../currency/currency.js";
import { candidatesFor } from "../../provider/candidates.js";
import type { Connection } from "../../provider/connections.js";
import { askQuotes } from "../../provider/quotes.js";
import type { Ramp } from "../../ramp.js";
import { json } from "../answer.js";
import { isRefusal, refuse, type Refusal } from "../errors.js";
import { route } from "../route.js";
import {
  ProviderView,
  QuoteQuery,
  QuotesView,
  RequirementsQuery,
  RequirementsView,
  SupportedPairView,
} from "../schemas.js";
import { quoteView } from "../views.js";

export const getSupportedCurrencies = route("project", {
  method: "GET",
  path: "/v1/currencies/supported",
  summary: "List the currency pairs that the project's providers move",
  answer: { status: 200, schema: Type.Array(SupportedPairView), description: "Pairs." },
  refusals: [],
  async handle({ ramp, caller }) {
    const pairs = new Map<string, { from: string; to: string; providerIds: string[] }>();
    for (const { id, capabilities } of await ramp.providers.list(caller.id)) {
      for (const { srcCurrencyCode: from, destCurrencyCode: to } of capabilities.pairs) {
        const pair = pairs.get(`${from} ${to}`) ?? { from, to, providerIds: [] };
        if (!pair.providerIds.includes(id)) pair.providerIds.push(id);
        pairs.set(`${from} ${to}`, pair);
      }
    }
    return json(200, [...pairs.values()]);
  },
});

export const getProviders = route("project", {
  method: "GET",
  path: "/v1/providers",
  summary: "List the project's providers",
  answer: { status: 200, schema: Type.Array(ProviderView), description: "Providers." },
  refusals: [],
  async handle({ ramp, caller }) {
    const connections = await ramp.providers.list(caller.id);
    return json(
      200,
      connections.map(({ id, code, capabilities: { name, logo } }) => ({ id, name, code, logo })),
    );
  },
});

/** The two currencies of a path, in our own spelling, and the kind of movement between them. */
export interface CurrencyPair {
  readonly src: Currency;
  readonly dest: Currency;
  readonly type: "ONRAMP" | "OFFRAMP";
}

/** Reads the codes of a path. Bank money to bank money, or token to token, is no ramp. */
export function readPair(
  { currencies }: Ramp,
  srcCode: string,
  destCode: string,
  paths: readonly [string, string],
): CurrencyPair | Refusal {
  const src = currencies.find(srcCode);
  const dest = currencies.find(destCode);
  if (src === null || dest === null) {
    const unknown = [src === null ? paths[0] : null, dest === null ? paths[1] : null].filter(
      (path) => path !== null,
    );
    return refuse("UNKNOWN_CURRENCY", {
      details: unknown.map((path) => ({ path, message: "is not a known currency code" })),
    });
  }
  if (src.type === dest.type) return refuse("UNSUPPORTED_PATH");
  return { src, dest, type: src.type === "FIAT" ? "ONRAMP" : "OFFRAMP" };
}

/** Whether a code is a country of ISO 3166-1, in any letter case; then in upper case. */
export function readCountry(code: string, path: string): string | Refusal {
  const upper = code.toUpperCase();
  if (countries.isValid(upper)) return upper;
  return refuse("UNKNOWN_COUNTRY", {
    details: [{ path, message: "is not a country code of ISO 3166-1 alpha-2" }],
  });
}

export const getQuote = route("project", {
  method: "GET",
  path: "/v1/intent/quote",
  summary: "Ask all providers for an indicative quote",
  query: QuoteQuery,
  answer: { status: 200, schema: QuotesView, description: "One quote per available provider, best first." },
  refusals: ["UNKNOWN_CURRENCY", "UNKNOWN_COUNTRY", "INVALID_AMOUNT"],
  async handle({ ramp, caller, query }) {
    const pair = readPair(ramp, query.srcCurrencyCode, query.destCurrencyCode, [
      "/srcCurrencyCode",
      "/destCurrencyCode",
    ]);
    // A path that nobody offers is asked for in vain, not wrongly (decisions.md §B, Shapes).
    if (isRefusal(pair)) return pair.refusal === "UNSUPPORTED_PATH" ? json(200, { quotes: [] }) : pair;
    const countryCode = readCountry(query.countryCode, "/countryCode");
    if (isRefusal(countryCode)) return countryCode;
    const reading = readAmount(query.srcAmount, pair.src);
    if (!reading.ok) return refuse("INVALID_AMOUNT", { message: reading.problem });
    const path = {
      srcCurrencyCode: pair.src.code,
      destCurrencyCode: pair.dest.code,
      srcAmount: reading.amount,
      countryCode,
      rail: null,
    };
    const quotes = await askQuotes(ramp.log, candidatesFor(await ramp.providers.list(caller.id), path), path);
    return json(200, { quotes: quotes.map((quote) => quoteView(pair.type, quote)) });
  },
});

export const getRequirements = route("project", {
  method: "GET",
  path: "/v1/intent/requirements",
  summary: "Get the JSON Schemas of both accounts of a path",
  query: RequirementsQuery,
  answer: { status: 200, schema: RequirementsView, description: "A JSON Schema (draft 2020-12) per side." },
  refusals: ["UNKNOWN_CURRENCY", "UNSUPPORTED_PATH", "PROVIDER_NOT_AVAILABLE"],
  async handle({ ramp, caller, query }) {
    const pair = readPair(ramp, query.srcCurrencyCode, query.destCurrencyCode, [
      "/srcCurrencyCode",
      "/destCurrencyCode",
    ]);
    if (isRefusal(pair)) return pair;
    const connections = await ramp.providers.list(caller.id);
    const requirements = requirementsOf(connections, pair, query);
    return isRefusal(requirements) ? requirements : json(200, requirements);
  },
});

interface Choice {
  readonly rail?: "ACH" | "SEPA" | "PIX";
  readonly providerId?: string;
}

/** The schemas of both sides, merged over the candidates (decisions.md §B, Shapes). */
export function requirementsOf(
  connections: readonly Connection[],
  { src, dest }: CurrencyPair,
  { rail, providerId }: Choice,
):
  | { src: { currencyCode: string; schema: object }; dest: { currencyCode: string; schema: object } }
  | Refusal {
  const path = {
    srcCurrencyCode: src.code,
    destCurrencyCode: dest.code,
    srcAmount: null,
    countryCode: null,
    rail: rail ?? null,
  };
  const candidates = candidatesFor(connections, path);
  if (candidates.length === 0) return refuse("UNSUPPORTED_PATH");
  const chosen =
    providerId === undefined
      ? candidates
      : candidates.filter(({ connection }) => isNamed(connection, providerId));
  if (chosen.length === 0) return refuse("PROVIDER_NOT_AVAILABLE");
  const rails = [...new Set(chosen.flatMap(({ pairs }) => pairs.map((pair) => pair.rail)))].sort();
  return {
    src: { currencyCode: src.code, schema: detailsSchema(src, rails) },
    dest: { currencyCode: dest.code, schema: detailsSchema(dest, rails) },
  };
}

/** A provider goes by its id in the project, or by its code. */
export function isNamed({ id, code }: Connection, name: string): boolean {
  return name === id || name.toLowerCase() === code;
}
