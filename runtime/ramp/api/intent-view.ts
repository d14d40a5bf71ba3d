import { depositView, newPriceView } from "../intents/intent-event.js";
import type { Currency } from "../accounts/currency.js";
import {
  type Intent,
  isErased,
  needsAttention,
  outstandingRequirement,
  type Transaction,
  awaitsCompliance,
  isTerminal,
} from "../intents/intent.js";
import type { IntentRefund } from "../intents/refund.js";
import type { Requirement } from "../intents/requirement.js";
import type { RefundView } from "./refund-schema.js";
import { pageUrl } from "../hosted-pages/link.js";
import { hasPaymentPage, isElsewhere, withReturn } from "../hosted-pages/stage.js";
import { isUuid } from "../database/id.js";
import type { PageRequest } from "../database/ramp-database.js";
import type { ProjectTransaction } from "../database/transaction.js";
import type { AccountSide } from "../accounts/account-details.js";
import type { ProviderConnection } from "../providers/provider-connections.js";
import type { Price, Quote, Unavailable } from "../providers/quotes.js";
import type { CustomerRequest, ProjectRequest, RampContext } from "./route.js";
import type { PageQuery } from "./request-schemas.js";
import type {
  IntentEnvelope,
  IntentView,
  ProjectIntentView,
  QuoteView,
  TransactionView,
  UnavailableView,
} from "./response-schemas.js";
import { stringify } from "../core/exact-json.js";
import { errorAt, type RampAnswer } from "../core/ramp-errors.js";

/** What callers see of the records. */

/** Create, list item and look-up share this envelope. */
export function intentEnvelope(ramp: RampContext, intent: Intent): IntentEnvelope {
  const { status, transaction } = intent;
  const url = pageUrl(ramp.publicUrl, ramp.vault, intent);
  return {
    intent: intentView(ramp, intent, url),
    onboardingUrl: awaitsCompliance(status) ? url : null,
    ...(hasPaymentPage(intent) && { checkoutUrl: url }),
    ...(transaction && { transaction: transactionView(ramp, intent, transaction) }),
  };
}

export function projectIntentView(ramp: RampContext, intent: Intent): ProjectIntentView {
  const { customerId, attention } = intent;
  return {
    ...intentEnvelope(ramp, intent),
    customerId,
    ...(needsAttention(attention) && { attention: attentionView(intent) }),
  };
}

export function refundView({ id: intentId, src }: Intent, refund: IntentRefund): RefundView {
  const { id, status, origin, reason, createdAt, updatedAt, providerId, failureReason } = refund;
  return {
    ...{ id, intentId, amount: refund.listedAmount ?? refund.amount, currencyCode: src.currencyCode },
    ...{ status, origin, reason, createdAt, updatedAt },
    ...(providerId !== null && providerId !== id && { providerRefundId: providerId }),
    ...(failureReason !== null && { failureReason }),
    ...(refund.isCancelRequested && { cancelRequested: true }),
  };
}

/** Providers write what a reason is about: of an erased customer only the reason is said. */
function attentionView(intent: Intent): Record<string, string> {
  const said = Object.entries(intent.attention);
  return Object.fromEntries(said.map(([reason, about]) => [reason, isErased(intent) ? "" : about]));
}

/** @param returnUrl the hosted page, which the provider's own pages return to */
function intentView({ currencies }: RampContext, intent: Intent, returnUrl: string): IntentView {
  const { id, status, createdAt, updatedAt, srcAmount, type, failureReason } = intent;
  const { provider, providerCode, connectionId: providerId } = intent;
  const { onboardingRedirectUrl, checkoutRedirectUrl, price, newPrice, maxSlippage, refusal, metadata } =
    intent;
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
    createdAt,
    updatedAt,
    srcAmount,
    ...(requirement && { currentRequirementCode: requirement.code }),
    requirements: intent.requirements.map((requirement) => requirementView(requirement, returnUrl)),
    expiredAt: intent.expiresAt,
    ...(intent.transaction?.paymentDueAt && { paymentDueAt: intent.transaction.paymentDueAt }),
    type,
    provider,
    providerId,
    providerCode,
    ...(onboardingRedirectUrl !== null && { onboardingRedirectUrl }),
    ...(checkoutRedirectUrl !== null && { checkoutRedirectUrl }),
    ...(price && { price: heldPriceView(price) }),
    ...(newPrice && { newPrice: newPriceView(intent, newPrice) }),
    ...(maxSlippage !== null && { maxSlippage }),
    ...(failureReason !== null && { failureReason }),
    ...(refusal && { refusal: { reason: refusal.reason, message: refusal.message } }),
    ...(intent.depositAccountId !== null && { deposit: depositView(intent) }),
    ...(intent.sandbox && { sandbox: true }),
    ...(metadata && { metadata }),
  };
}

function requirementView(requirement: Requirement, returnUrl: string): IntentView["requirements"][number] {
  const { code, title, status, reason } = requirement;
  return {
    ...{ code, title, status },
    ...(reason !== null && { reason }),
    ...(isElsewhere(requirement) && { url: withReturn(requirement.url, returnUrl) }),
  };
}

function priceView({
  quoteId,
  destAmount,
  exchangeRate,
  fees,
  hasIndicativePrice,
}: Omit<Price, "expiresAt">) {
  const price = { destAmount, exchangeRate, fees, hasIndicativePrice };
  return quoteId === undefined ? price : { quoteId, ...price };
}

function heldPriceView({ expiresAt, ...price }: Price) {
  return {
    ...priceView(price),
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
  };
}

export function accountType(type: Currency["type"]): "BANK_ACCOUNT" | "CRYPTO_ADDRESS" {
  return type === "FIAT" ? "BANK_ACCOUNT" : "CRYPTO_ADDRESS";
}

export function transactionView(
  { publicUrl, vault }: RampContext,
  intent: Intent,
  transaction: Transaction,
): TransactionView {
  const returnUrl = pageUrl(publicUrl, vault, intent);
  const { id, status, createdAt, updatedAt, instructions, providerReference, failureReason } = transaction;
  const { paymentDueAt, receipt, refunds } = transaction;
  return {
    id,
    status,
    createdAt,
    updatedAt,
    context: {
      instructions: instructions.map(({ url, ...instruction }) =>
        url === undefined ? instruction : { ...instruction, url: withReturn(url, returnUrl) },
      ),
      ...(providerReference !== null && { providerReference }),
      ...(failureReason !== null && { failureReason }),
      ...(paymentDueAt && { paymentDueAt }),
      ...(receipt && { receipt }),
      ...(refunds.length > 0 && { refunds: [...refunds] }),
    },
  };
}

/** @param id under which an intent can name it; null: it is not held */
export function quoteView(type: "ONRAMP" | "OFFRAMP", quote: Quote, id: string | null): QuoteView {
  const { connection, rail, srcAmount, held } = quote;
  return {
    ...(id !== null && held !== null && { id, expiresAt: held.expiresAt }),
    ...providerOf(connection),
    type,
    rail,
    srcAmount,
    ...priceView(quote),
  };
}

export function unavailableView({ connection, ...why }: Unavailable): UnavailableView {
  return { ...providerOf(connection), ...why };
}

function providerOf({ id, code }: ProviderConnection) {
  return { providerId: id, providerCode: code };
}

/** Items of a page unless the caller names a number (runtime/ramp/docs/limits.md). */
const DEFAULT_LIMIT = 50;

/** Of a page of a list: 100 items may hold 7 MB of metadata, which a project may ask for 600 times a minute. */
export const MAX_PAGE_BYTES = 1_048_576;

const UNKNOWN_START = errorAt("INVALID_REQUEST", "/starting_after", "names no item of this list");

/**
 * A page of a list: a bare array that ends at its limit or its bytes, with a link to the next page if there is one. `read` returns one item more than the page has
 * when there are more, and null when `startingAfter` names no item. `nextPage`: what names the page after the last item.
 */
export async function listResponse<T extends { readonly id: string }>(
  { ramp, caller, query, path }: ProjectRequest<null, PageQuery> | CustomerRequest<null, PageQuery>,
  read: (tx: ProjectTransaction, page: PageRequest) => Promise<readonly T[] | null>,
  view: (item: T) => unknown,
  nextPage: (last: T) => Readonly<Record<string, string>> = ({ id }) => ({ starting_after: id }),
): Promise<RampAnswer> {
  const { limit: given, starting_after: startingAfter = null, ...filter } = query;
  if (startingAfter !== null && !isUuid(startingAfter)) return UNKNOWN_START;
  const limit = given === undefined ? DEFAULT_LIMIT : Number(given);
  const found = await ramp.database.inProject(caller.projectId, (tx) => read(tx, { limit, startingAfter }));
  if (found === null) return UNKNOWN_START;
  const texts = pageTexts(found.slice(0, limit), view);
  const last = found.length > texts.length ? found[texts.length - 1] : undefined;
  const next = last && new URLSearchParams({ ...filter, limit: String(limit), ...nextPage(last) }).toString();
  // The path of the public address, which a proxy may have taken off.
  const base = new URL(ramp.publicUrl).pathname.replace(/\/$/, "");
  const link = next === undefined ? {} : { Link: `<${base}${path}?${next}>; rel="next"` };
  return { status: 200, body: `[${texts.join(",")}]`, headers: link };
}

/** The items of a page as JSON, up to `MAX_PAGE_BYTES`; at least one. */
function pageTexts<T>(items: readonly T[], view: (item: T) => unknown): readonly string[] {
  const texts: string[] = [];
  let bytes = 1;
  for (const item of items) {
    const text = stringify(view(item));
    bytes += Buffer.byteLength(text) + 1;
    if (bytes > MAX_PAGE_BYTES && texts.length > 0) break;
    texts.push(text);
  }
  return texts;
}
