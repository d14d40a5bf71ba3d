import type { Currency } from "../currency/currency.js";
import type { CustomerRecord } from "../customer/customer.js";
import type { ExternalAccount } from "../external-account/external-account.js";
import { type AccountSide, type Intent, outstandingRequirement, type Transaction } from "../intent/intent.js";
import { awaitsCompliance, isTerminal } from "../intent/status.js";
import { pageUrl } from "../page/link.js";
import type { Project, ProjectId } from "../project/project.js";
import type { Quote } from "../provider/quotes.js";
import type { Ramp } from "../ramp.js";
import type {
  CustomerView,
  ExternalAccountView,
  IntentEnvelope,
  IntentView,
  QuoteView,
  TransactionView,
} from "./schemas.js";

/** What callers see of the records. */

export function customerView(customer: CustomerRecord, project: Project): CustomerView {
  const { id, metadata, createdAt, updatedAt } = customer;
  return {
    id,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
    organizationId: project.organizationId,
    projectId: project.id,
    ...(metadata ? { metadata } : {}),
  };
}

/** Create, list item and look-up share this envelope (decisions.md §B, Shapes). */
export function intentEnvelope(ramp: Ramp, projectId: ProjectId, intent: Intent): IntentEnvelope {
  return {
    intent: intentView(ramp, intent),
    onboardingUrl: onboardingUrl(ramp, projectId, intent),
    ...(intent.transaction ? { transaction: transactionView(intent.transaction) } : {}),
  };
}

function onboardingUrl(ramp: Ramp, projectId: ProjectId, { id, status, expiresAt }: Intent): string | null {
  if (isTerminal(status) || !awaitsCompliance(status)) return null;
  return pageUrl(ramp.publicUrl, ramp.vault, { kind: "onboarding", projectId, intentId: id, expiresAt });
}

function intentView({ currencies }: Ramp, intent: Intent): IntentView {
  const { id, status, createdAt, updatedAt, srcAmount, expiresAt, type, failureReason, provider } = intent;
  const { onboardingRedirectUrl, checkoutRedirectUrl } = intent;
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
    currentRequirementCode: isTerminal(status) ? null : (outstandingRequirement(intent)?.code ?? null),
    expiredAt: expiresAt.toISOString(),
    type,
    provider,
    onboardingRedirectUrl,
    checkoutRedirectUrl,
    ...(failureReason === null ? {} : { failureReason }),
  };
}

function accountType(type: Currency["type"]): "BANK_ACCOUNT" | "CRYPTO_ADDRESS" {
  return type === "FIAT" ? "BANK_ACCOUNT" : "CRYPTO_ADDRESS";
}

export function transactionView(transaction: Transaction): TransactionView {
  const { id, status, createdAt, updatedAt, instructions, providerReference, failureReason } = transaction;
  return {
    id,
    status,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
    context: {
      instructions: [...instructions],
      providerReference,
      ...(failureReason === null ? {} : { failureReason }),
    },
  };
}

export function quoteView(
  type: "ONRAMP" | "OFFRAMP",
  { connection, rail, hasIndicativePrice, destAmount, exchangeRate, fees }: Quote,
): QuoteView {
  return { providerId: connection.id, type, rail, hasIndicativePrice, destAmount, exchangeRate, fees };
}

export function externalAccountView(account: ExternalAccount, currency: Currency): ExternalAccountView {
  const { id, createdAt, updatedAt, metadata, label, customerId } = account;
  return {
    id,
    type: accountType(currency.type),
    currencyId: currency.id,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
    metadata: { ...metadata },
    label,
    customerId,
    currency: currencyView(currency),
  };
}

function currencyView(currency: Currency): ExternalAccountView["currency"] {
  const { id, ticker, name, code, decimals, type, createdAt, updatedAt, blockchain } = currency;
  const chain = blockchain && { id: blockchain.id, name: blockchain.name, code: blockchain.code };
  return {
    id,
    ticker,
    name,
    code,
    decimals,
    type,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
    ...(chain ? { blockchainId: chain.id, blockchain: chain } : {}),
  };
}
