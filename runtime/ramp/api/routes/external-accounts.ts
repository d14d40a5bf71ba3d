import { Type } from "@sinclair/typebox";
import { withUpperCountry } from "../../accounts/account-details.js";
import type { Currency } from "../../accounts/currency.js";
import {
  addExternalAccount,
  deleteExternalAccount,
  type ExternalAccount,
  listExternalAccounts,
} from "../../accounts/external-account.js";
import { isUuid, newId } from "../../database/id.js";
import type { ProjectTransaction } from "../../database/ramp-database.js";
import type { IdempotentOperation, PreparedOperation } from "../../core/idempotency.js";
import { type Violation, violations } from "../../core/json-schema.js";
import {
  isRampError,
  jsonResponse,
  rampError,
  type RampError,
  type RampResponse,
} from "../../core/ramp-errors.js";
import { accountType, listResponse } from "../intent-view.js";
import { type CustomerRequest, idempotentRoute, route } from "../route.js";
import { ExternalAccountsBody, PageQuery } from "../request-schemas.js";
import { type ExternalAccountView, ExternalAccountsView } from "../response-schemas.js";
import { type CurrencyPair, readPair, requirementsOf } from "../../providers/payment-path.js";

export const createExternalAccounts = idempotentRoute("customer", {
  method: "POST",
  path: "/v1/customers/external-accounts",
  summary: "Register a pair of external accounts for a currency pair",
  description: "Intents name them as `externalAccountId`.",
  body: ExternalAccountsBody,
  response: { status: 201, schema: ExternalAccountsView, description: "Both accounts." },
  errors: ["UNKNOWN_CURRENCY", "UNSUPPORTED_PATH", "INVALID_ACCOUNT_DETAILS"],
  work: (call) => new AccountRegistration(call),
});

/** Both accounts and the answer are one transaction: there is nothing to finish later. */
class AccountRegistration implements IdempotentOperation {
  readonly #call: CustomerRequest<ExternalAccountsBody>;

  constructor(call: CustomerRequest<ExternalAccountsBody>) {
    this.#call = call;
  }

  async prepare(): Promise<PreparedOperation | RampError> {
    const { ramp, caller, body } = this.#call;
    const pair = readPair(ramp, body.src, body.dest, ["/src", "/dest"]);
    if (isRampError(pair)) return pair;
    const requirements = requirementsOf(await ramp.providers.list(caller.projectId), pair, {});
    if (isRampError(requirements)) return requirements;
    const details = [
      ...under("/source", violations(requirements.src.schema, body.source)),
      ...under("/destination", violations(requirements.dest.schema, body.destination)),
    ];
    if (details.length > 0) return rampError("INVALID_ACCOUNT_DETAILS", { details });
    return { resourceId: newId(), begin: (tx) => Promise.resolve(this.#begin(tx, pair)) };
  }

  #begin(tx: ProjectTransaction, { src, dest }: CurrencyPair): RampResponse {
    const { caller, body } = this.#call;
    const add = (currency: Currency, details: Readonly<Record<string, unknown>>): ExternalAccountView => {
      const account = { customerId: caller.customerId, currencyCode: currency.code };
      return externalAccountView(
        addExternalAccount(tx, { ...account, metadata: withUpperCountry(details) }),
        currency,
      );
    };
    return jsonResponse(201, { source: add(src, body.source), destination: add(dest, body.destination) });
  }

  finish(): Promise<RampResponse> {
    return Promise.reject(new Error("The claim of external accounts holds its answer from the start."));
  }
}

function under(prefix: string, found: readonly Violation[]): readonly Violation[] {
  return found.map(({ path, message }) => ({ path: prefix + path, message }));
}

export const getExternalAccounts = route("customer", {
  method: "GET",
  path: "/v1/customers/external-accounts",
  summary: "List the customer's external accounts, newest first",
  query: PageQuery,
  response: { status: 200, schema: Type.Array(Type.Ref("ExternalAccount")), description: "Accounts." },
  errors: [],
  handle: (call) =>
    listResponse(
      call,
      call.caller.projectId,
      (tx, page) => listExternalAccounts(tx, call.caller.customerId, page),
      (account) => externalAccountView(account, call.ramp.currencies.get(account.currencyCode)),
    ),
});

export const removeExternalAccount = route("customer", {
  method: "DELETE",
  path: "/v1/customers/external-accounts/{id}",
  summary: "Delete an external account",
  description: "Its details are erased; intents keep those that they were created with.",
  response: { status: 204, schema: null, description: "Deleted." },
  errors: ["NOT_FOUND"],
  async handle({ ramp, caller, parameters }) {
    const id = parameters["id"] ?? "";
    const isDeleted =
      isUuid(id) &&
      (await ramp.database.inProject(caller.projectId, (tx) =>
        deleteExternalAccount(tx, caller.customerId, id),
      ));
    return isDeleted ? { status: 204, body: "" } : rampError("NOT_FOUND");
  },
});

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
