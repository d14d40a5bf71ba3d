import { withUpperCountry } from "../../accounts/account-details.js";
import type { Currency } from "../../accounts/currency.js";
import { addExternalAccount, type ExternalAccount } from "../../accounts/external-account.js";
import { newId } from "../../database/id.js";
import type { ProjectTransaction } from "../../database/ramp-database.js";
import type { PreparedOperation } from "../../core/idempotency.js";
import { violations } from "../../core/json-schema.js";
import {
  isRampError,
  jsonResponse,
  rampError,
  type RampError,
  type RampResponse,
} from "../../core/ramp-errors.js";
import { accountType } from "../intent-view.js";
import { type CustomerRequest, idempotentRoute } from "../route.js";
import { ExternalAccountsBody } from "../request-schemas.js";
import { type ExternalAccountView, ExternalAccountsView } from "../response-schemas.js";
import { readPair, requirementsOf } from "../../providers/quotes.js";

export const createExternalAccounts = idempotentRoute("customer", {
  method: "POST",
  path: "/v1/customers/external-accounts",
  summary: "Register a pair of external accounts for a currency pair",
  description: "Intents name them as `externalAccountId`.",
  body: ExternalAccountsBody,
  response: { status: 201, schema: ExternalAccountsView, description: "Both accounts." },
  errors: ["UNKNOWN_CURRENCY", "UNSUPPORTED_PATH", "INVALID_ACCOUNT_DETAILS"],
  work: (call) => ({ prepare: () => registerAccounts(call) }),
});

/** Both accounts and the answer are one transaction. */
async function registerAccounts({
  ramp,
  caller,
  body,
}: CustomerRequest<ExternalAccountsBody>): Promise<PreparedOperation | RampError> {
  const pair = readPair(ramp, body.src, body.dest, ["/src", "/dest"]);
  if (isRampError(pair)) return pair;
  const requirements = requirementsOf(await ramp.providers.list(caller.projectId), pair, {});
  if (isRampError(requirements)) return requirements;
  const details = [
    ...violations(requirements.src.schema, body.source, "/source"),
    ...violations(requirements.dest.schema, body.destination, "/destination"),
  ];
  if (details.length > 0) return rampError("INVALID_ACCOUNT_DETAILS", { details });
  const add = (tx: ProjectTransaction, currency: Currency, given: ExternalAccount["metadata"]) => {
    const account = { customerId: caller.customerId, currencyCode: currency.code };
    const added = addExternalAccount(tx, { ...account, metadata: withUpperCountry(given) });
    return externalAccountView(added, currency);
  };
  const begin = (tx: ProjectTransaction): Promise<RampResponse> => {
    const source = add(tx, pair.src, body.source);
    return Promise.resolve(jsonResponse(201, { source, destination: add(tx, pair.dest, body.destination) }));
  };
  return { resourceId: newId(), begin };
}

function externalAccountView(account: ExternalAccount, currency: Currency): ExternalAccountView {
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
