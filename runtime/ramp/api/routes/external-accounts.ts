import { withUpperCountry } from "../../accounts/account-details.js";
import type { Currency } from "../../accounts/currency.js";
import { newId } from "../../database/id.js";
import { OF_PROJECT, type ProjectTransaction } from "../../database/transaction.js";
import type { Preparation } from "../../core/idempotency.js";
import { providerViolations } from "../../core/json-schema.js";
import { isRampError, jsonResponse, rampError, type RampResponse } from "../../core/ramp-errors.js";
import { accountType } from "../intent-view.js";
import { type CustomerRequest, idempotentRoute } from "../route.js";
import { ExternalAccountsBody } from "../request-schemas.js";
import { type ExternalAccountView, ExternalAccountsView } from "../response-schemas.js";
import { readPair, requirementsOf } from "../../providers/payment-path.js";

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
async function registerAccounts(call: CustomerRequest<ExternalAccountsBody>): Promise<Preparation> {
  const { ramp, caller, body } = call;
  const pair = readPair(ramp, body.src, body.dest, ["/src", "/dest"]);
  if (isRampError(pair)) return pair;
  const requirements = requirementsOf(await ramp.providers.list(caller.projectId), pair, {});
  if (isRampError(requirements)) return requirements;
  const details = [
    ...providerViolations(requirements.src.schema, body.source, "/source"),
    ...providerViolations(requirements.dest.schema, body.destination, "/destination"),
  ];
  if (details.length > 0) return rampError("INVALID_ACCOUNT_DETAILS", { details });
  const resourceId = newId();
  const begin = (tx: ProjectTransaction): Promise<RampResponse> => {
    const add = addExternalAccount.bind(null, tx, caller.customerId);
    const source = add(resourceId, pair.src, body.source);
    const destination = add(newId(), pair.dest, body.destination);
    return Promise.resolve(jsonResponse(201, { source, destination }));
  };
  return { resourceId, begin };
}

function currencyView({ blockchain, ...currency }: Currency): ExternalAccountView["currency"] {
  if (blockchain === null) return currency;
  const { id, name, code } = blockchain;
  return { ...currency, blockchainId: id, blockchain: { id, name, code } };
}

/** An account that a customer registered, as intents name it by its id (runtime/ramp/docs/customers.md, External accounts). */
export interface ExternalAccount {
  readonly id: string;
  readonly currencyCode: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

function addExternalAccount(
  tx: ProjectTransaction,
  customerId: string,
  id: string,
  currency: Currency,
  given: ExternalAccount["metadata"],
): ExternalAccountView {
  const metadata = withUpperCountry(given);
  const times = { createdAt: tx.now, updatedAt: tx.now };
  const account = { id, customerId, metadata, label: labelOf(metadata, currency.code), ...times };
  tx.insert("external_accounts", { ...account, currencyCode: currency.code });
  return {
    ...account,
    metadata: { ...metadata },
    type: accountType(currency.type),
    currencyId: currency.id,
    currency: currencyView(currency),
  };
}

/** Default label of an account: enough to recognize it, too little to pay with. */
function labelOf(metadata: Readonly<Record<string, unknown>>, currencyCode: string): string {
  if (typeof metadata["label"] === "string") return metadata["label"];
  const number = ["accountNumber", "iban", "key", "address"]
    .map((name) => metadata[name])
    .find((value) => typeof value === "string");
  return number === undefined ? currencyCode : `${currencyCode} …${number.slice(-4)}`;
}

/** A customer's accounts with these ids; deleted ones and those of others are not found. */
export async function readExternalAccounts(
  tx: ProjectTransaction,
  customerId: string,
  ids: readonly string[],
): Promise<readonly ExternalAccount[]> {
  return tx.rows<ExternalAccount>(
    `SELECT id, currency_code AS "currencyCode", metadata FROM ramp.external_accounts WHERE ${OF_PROJECT} AND customer_id = $1 AND id = ANY($2::uuid[]) AND deleted_at IS NULL`,
    [customerId, ids],
  );
}
