import { listOf, named } from "@routewright/runtime/internal/core/model/schema.js";
import { withUpperCountry } from "../../accounts/account-details.js";
import type { Currency } from "../../accounts/currency.js";
import { isUuid, newId } from "../../database/id.js";
import type { PageRequest } from "../../database/ramp-database.js";
import { OF_PROJECT, ofProject, type ProjectTransaction } from "../../database/transaction.js";
import type { Preparation } from "../../core/idempotency.js";
import { providerViolations } from "../../core/json-schema.js";
import {
  isRampError,
  jsonResponse,
  type RampAnswer,
  rampError,
  type RampResponse,
} from "../../core/ramp-errors.js";
import { authorize } from "../authenticate.js";
import { accountType, listResponse } from "../intent-view.js";
import { type CustomerRequest, idempotentRoute, route } from "../route.js";
import { ExternalAccountsBody, PageQuery } from "../request-schemas.js";
import { type ExternalAccountView, ExternalAccountsView } from "../response-schemas.js";
import { readPair, requirementsOf } from "../../providers/payment-path.js";

export const createExternalAccounts = idempotentRoute("customer", {
  method: "POST",
  path: "/v1/customers/external-accounts",
  summary: "Register a pair of external accounts for a currency pair",
  description:
    "Intents name them as `externalAccountId`. An account equal to one that the customer has is that one.",
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
  const begin = async (tx: ProjectTransaction): Promise<RampResponse> => {
    // Of two equal requests at once the second finds what the first has registered.
    tx.write("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [
      `ramp.external_accounts ${caller.customerId}`,
    ]);
    const { customerId } = caller;
    const source = await addExternalAccount(tx, customerId, resourceId, pair.src, body.source);
    const destination = await addExternalAccount(tx, customerId, newId(), pair.dest, body.destination);
    return jsonResponse(201, { source, destination });
  };
  return { resourceId, begin };
}

export const getExternalAccounts = route("customer", {
  method: "GET",
  path: "/v1/customers/external-accounts",
  summary: "List the customer's external accounts, newest first",
  query: PageQuery,
  response: { status: 200, schema: listOf(named("ExternalAccount")), description: "Accounts." },
  errors: [],
  handle: (call) =>
    listResponse(
      call,
      (tx, page) => listAccounts(tx, call.caller.customerId, page),
      (account) => accountView(account, call.ramp.currencies.get(account.currencyCode)),
    ),
});

export const deleteExternalAccount = route("customer", {
  method: "DELETE",
  path: "/v1/customers/external-accounts/{id}",
  summary: "Delete an external account of the customer",
  description: "Intents that were created with it keep its details.",
  response: { status: 204, schema: null, description: "Deleted." },
  errors: ["NOT_FOUND"],
  async handle({ ramp, caller, parameters: { id = "" } }) {
    if (!isUuid(id)) return rampError("NOT_FOUND");
    return ramp.database.inProject(caller.projectId, async (tx): Promise<RampAnswer> => {
      const error = await authorize(tx, caller);
      if (error !== null) return error;
      const deleted = await tx.row(
        `UPDATE ramp.external_accounts SET deleted_at = now(), updated_at = now()
         WHERE ${OF_PROJECT} AND customer_id = $1 AND id = $2 AND deleted_at IS NULL RETURNING id`,
        [caller.customerId, id],
      );
      return deleted === null ? rampError("NOT_FOUND") : { status: 204, body: "" };
    });
  },
});

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

interface AccountRecord extends ExternalAccount {
  readonly customerId: string;
  readonly label: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const COLUMNS = `id, customer_id AS "customerId", currency_code AS "currencyCode", metadata, label, created_at AS "createdAt", updated_at AS "updatedAt"`;
const OF_CUSTOMER = `${OF_PROJECT} AND customer_id = $1 AND deleted_at IS NULL`;

/** Registers an account, or gives the equal one that the customer has. */
async function addExternalAccount(
  tx: ProjectTransaction,
  customerId: string,
  id: string,
  currency: Currency,
  given: ExternalAccount["metadata"],
): Promise<ExternalAccountView> {
  const metadata = withUpperCountry(given);
  const known = await tx.row<AccountRecord>(
    `SELECT ${COLUMNS} FROM ramp.external_accounts WHERE ${OF_CUSTOMER} AND currency_code = $2 AND metadata = $3::jsonb
     ORDER BY created_at, id LIMIT 1`,
    [customerId, currency.code, JSON.stringify(metadata)],
  );
  if (known !== null) return accountView(known, currency);
  const times = { createdAt: tx.now, updatedAt: tx.now };
  const label = labelOf(metadata, currency.code);
  const account = { id, customerId, currencyCode: currency.code, metadata, label, ...times };
  tx.insert("external_accounts", account);
  return accountView(account, currency);
}

function accountView(account: AccountRecord, currency: Currency): ExternalAccountView {
  const { id, customerId, metadata, label, createdAt, updatedAt } = account;
  return {
    ...{ id, customerId, label, createdAt, updatedAt },
    metadata: { ...metadata },
    type: accountType(currency.type),
    currencyId: currency.id,
    currency: currencyView(currency),
  };
}

/** Accounts, newest first; one more than `limit` when there are more. Null: `startingAfter` names none. */
async function listAccounts(
  tx: ProjectTransaction,
  customerId: string,
  { limit, startingAfter }: PageRequest,
): Promise<readonly AccountRecord[] | null> {
  const after =
    startingAfter === null
      ? null
      : await tx.row<{ createdAt: Date; id: string }>(
          `SELECT created_at AS "createdAt", id FROM ramp.external_accounts WHERE ${OF_PROJECT} AND customer_id = $1 AND id = $2`,
          [customerId, startingAfter],
        );
  if (startingAfter !== null && after === null) return null;
  return tx.rows<AccountRecord>(
    `SELECT ${COLUMNS} FROM ramp.external_accounts a WHERE ${OF_CUSTOMER} AND ($2::uuid IS NULL OR (created_at, id) <
       (SELECT b.created_at, b.id FROM ramp.external_accounts b WHERE ${ofProject("b")} AND b.id = $2))
     ORDER BY created_at DESC, id DESC LIMIT $3`,
    [customerId, after?.id ?? null, limit + 1],
  );
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
