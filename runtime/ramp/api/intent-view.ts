import type { Currency } from "../accounts/currency.js";
import {
  type AccountSide,
  type Intent,
  type Price,
  outstandingRequirement,
  type Transaction,
  awaitsCompliance,
  isTerminal,
} from "../intents/intent.js";
import { pageUrl } from "../hosted-pages/link.js";
import type { ProjectId } from "../database/id.js";
import type { Quote } from "../providers/quotes.js";
import type { RampContext } from "../context.js";
import type { PageQuery } from "./request-schemas.js";
import type { IntentEnvelope, IntentView, QuoteView, TransactionView } from "./response-schemas.js";
import type { PageRequest } from "../intents/intent-rows.js";
import { type RampResponse, jsonResponse, rampError, type RampError } from "../ramp-errors.js";

/** What callers see of the records. */

/** Create, list item and look-up share this envelope. */
export function intentEnvelope(ramp: RampContext, projectId: ProjectId, intent: Intent): IntentEnvelope {
  return {
    intent: intentView(ramp, intent),
    onboardingUrl: onboardingUrl(ramp, projectId, intent),
    ...(intent.transaction ? { transaction: transactionView(intent.transaction) } : {}),
  };
}

function onboardingUrl(
  ramp: RampContext,
  projectId: ProjectId,
  { id, status, expiresAt }: Intent,
): string | null {
  if (isTerminal(status) || !awaitsCompliance(status)) return null;
  return pageUrl(ramp.publicUrl, ramp.vault, { kind: "onboarding", projectId, intentId: id, expiresAt });
}

function intentView({ currencies }: RampContext, intent: Intent): IntentView {
  const { id, status, createdAt, updatedAt, srcAmount, expiresAt, type, failureReason, provider } = intent;
  const { onboardingRedirectUrl, checkoutRedirectUrl } = intent;
  const requirement = isTerminal(status) ? null : outstandingRequirement(intent);
  const side = ({ currencyCode, details }: AccountSide): IntentView["src"] => {
    const { ticker, name, code, type: kind } = currencies.get(currencyCode);
    return { type: accountType(kind), currency: { ticker, name, code, type: kind }, details };
  };
  return {
    id,
    src: side(intent.src),
    dest: side(intent.dest),
    status,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
    srcAmount,
    ...(requirement === null ? {} : { currentRequirementCode: requirement.code }),
    expiredAt: expiresAt.toISOString(),
    type,
    provider,
    ...(onboardingRedirectUrl === null ? {} : { onboardingRedirectUrl }),
    ...(checkoutRedirectUrl === null ? {} : { checkoutRedirectUrl }),
    ...(intent.price === null ? {} : { price: priceView(intent.price) }),
    ...(failureReason === null ? {} : { failureReason }),
    ...(intent.metadata === null ? {} : { metadata: { ...intent.metadata } }),
  };
}

function priceView({ quoteId, destAmount, exchangeRate, fees, hasIndicativePrice }: Price) {
  const price = { destAmount, exchangeRate, fees, hasIndicativePrice };
  return quoteId === undefined ? price : { quoteId, ...price };
}

export function accountType(type: Currency["type"]): "BANK_ACCOUNT" | "CRYPTO_ADDRESS" {
  return type === "FIAT" ? "BANK_ACCOUNT" : "CRYPTO_ADDRESS";
}

export function transactionView(transaction: Transaction): TransactionView {
  const { id, status, createdAt, updatedAt, instructions, providerReference, failureReason } = transaction;
  const { receipt, refund } = transaction;
  return {
    id,
    status,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
    context: {
      instructions: [...instructions],
      ...(providerReference === null ? {} : { providerReference }),
      ...(failureReason === null ? {} : { failureReason }),
      ...(receipt === null ? {} : { receipt }),
      ...(refund === null ? {} : { refund }),
    },
  };
}

export function quoteView(
  type: "ONRAMP" | "OFFRAMP",
  { connection, rail, hasIndicativePrice, destAmount, exchangeRate, fees, held }: Quote,
  quoteId: string | null,
): QuoteView {
  return {
    providerId: connection.id,
    type,
    rail,
    hasIndicativePrice,
    destAmount,
    exchangeRate,
    fees,
    ...(quoteId === null || held === null ? {} : { quoteId, expiresAt: held.expiresAt }),
  };
}

/** Items of a page unless the caller names a number (runtime/ramp/README.md, Limits). */
const DEFAULT_LIMIT = 50;

export function pageOf({ limit, starting_after }: PageQuery): PageRequest {
  return {
    limit: limit === undefined ? DEFAULT_LIMIT : Number(limit),
    startingAfter: starting_after ?? null,
  };
}

export const UNKNOWN_START: RampError = rampError("INVALID_REQUEST", {
  details: [{ path: "/starting_after", message: "names no item of this list" }],
});

/** A bare array, with a link to the next page where there is one; `found` may hold one item more than the page. */
export function listAnswer(
  found: readonly { readonly id: string }[],
  { limit }: PageRequest,
  path: string,
  view: readonly unknown[],
  filter: Readonly<Record<string, string | undefined>> = {},
): RampResponse {
  const last = found[limit - 1];
  if (found.length <= limit || last === undefined) return jsonResponse(200, view);
  const given = Object.entries(filter).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as [string, string]],
  );
  const query = new URLSearchParams([...given, ["limit", String(limit)], ["starting_after", last.id]]);
  return jsonResponse(200, view, { Link: `<${path}?${query.toString()}>; rel="next"` });
}
