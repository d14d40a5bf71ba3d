import { listOf, named } from "@routewright/runtime/internal/core/model/schema.js";
import { sleep } from "@routewright/runtime/internal/core/model/timer.js";
import type { IdempotentOperation, Preparation } from "../../core/idempotency.js";
import { jsonResponse, rampError, type RampError } from "../../core/ramp-errors.js";
import { isUuid, type ProjectId } from "../../database/id.js";
import type { ProjectTransaction } from "../../database/transaction.js";
import {
  listDepositAccounts,
  lockDepositAccount,
  readDepositAccount,
  requestClose,
  type StoredDepositAccount,
} from "../../intents/deposit-account.js";
import { processDepositAccount } from "../../intents/process-deposit-account.js";
import {
  DepositAccountsQuery,
  DepositAccountView,
  OpenDepositAccountBody,
} from "../deposit-account-schemas.js";
import { listResponse } from "../intent-view.js";
import { prepareAccount } from "../open-deposit-account.js";
import { EmptyBody, PageQuery } from "../request-schemas.js";
import {
  type CustomerRequest,
  idempotentRoute,
  type ProjectRequest,
  type RampContext,
  route,
} from "../route.js";

export const openDepositAccount = idempotentRoute("customer", {
  method: "POST",
  path: "/v1/customers/deposit-accounts",
  summary: "Open a deposit account: standing instructions of a provider",
  description:
    "Each payment that arrives there becomes an intent of its own. The customer needs an intent at the provider whose checks are complete.",
  body: OpenDepositAccountBody,
  response: {
    status: 201,
    schema: DepositAccountView,
    description: "The account: ACTIVE, or PENDING while the provider has not answered.",
  },
  errors: [
    ...(["UNKNOWN_CURRENCY", "UNKNOWN_COUNTRY", "INVALID_ACCOUNT_DETAILS", "UNSUPPORTED_PATH"] as const),
    ...(["PROVIDER_NOT_AVAILABLE", "COMPLIANCE_NOT_COMPLETE", "TOO_MANY_DEPOSIT_ACCOUNTS"] as const),
  ],
  work: (call) => accountOperation(call, 201, () => prepareAccount(call)),
});

export const getDepositAccounts = route("customer", {
  method: "GET",
  path: "/v1/customers/deposit-accounts",
  summary: "List the customer's deposit accounts, newest first",
  query: PageQuery,
  response: { status: 200, schema: listOf(named("DepositAccount")), description: "Accounts." },
  errors: [],
  handle: (call) =>
    listResponse(call, (tx, page) => listDepositAccounts(tx, call.caller.customerId, page), accountView),
});

export const getDepositAccount = route("customer", {
  method: "GET",
  path: "/v1/customers/deposit-accounts/{id}",
  summary: "Get a deposit account of the customer",
  response: { status: 200, schema: DepositAccountView, description: "The account." },
  errors: ["NOT_FOUND"],
  async handle({ ramp, caller, parameters: { id = "" } }) {
    if (!isUuid(id)) return rampError("NOT_FOUND");
    const account = await ramp.database.inProject(caller.projectId, (tx) =>
      readDepositAccount(tx, id, caller.customerId),
    );
    return account === null ? rampError("NOT_FOUND") : jsonResponse(200, accountView(account));
  },
});

const CLOSING = {
  description:
    "Takes no body. The provider closes it at once or later (`closeRequested`); what arrives after that goes back to its sender.",
  body: EmptyBody,
  response: { status: 202, schema: DepositAccountView, description: "The account." },
  errors: ["NOT_FOUND", "DEPOSIT_ACCOUNT_CLOSED"],
} as const;

export const closeDepositAccount = idempotentRoute("customer", {
  method: "POST",
  path: "/v1/customers/deposit-accounts/{id}/close",
  summary: "Close a deposit account of the customer",
  ...CLOSING,
  work: (call) => closing(call, call.caller.customerId),
});

export const getProjectDepositAccounts = route("project", {
  method: "GET",
  path: "/v1/deposit-accounts",
  summary: "List the project's deposit accounts, newest first",
  query: DepositAccountsQuery,
  response: { status: 200, schema: listOf(named("DepositAccount")), description: "Accounts." },
  errors: [],
  handle: (call) =>
    listResponse(
      call,
      (tx, page) => listDepositAccounts(tx, call.query.customerId?.toLowerCase(), page),
      accountView,
    ),
});

export const closeProjectDepositAccount = idempotentRoute("project", {
  method: "POST",
  path: "/v1/deposit-accounts/{id}/close",
  summary: "Close a deposit account of the project",
  ...CLOSING,
  work: (call) => closing(call),
});

type AnyRequest = CustomerRequest<unknown> | ProjectRequest<unknown>;

/** Records what is to be done, asks the provider, and answers with what is recorded then, at the latest after `answerWithinMs`. */
function accountOperation(
  { ramp, caller: { projectId } }: AnyRequest,
  status: number,
  prepare: () => Promise<Preparation>,
): IdempotentOperation {
  return {
    prepare,
    async finish(id, store) {
      await processedInTime(ramp, projectId, id);
      return ramp.database.inProject(projectId, async (tx) => {
        const account = await readDepositAccount(tx, id);
        if (account === null) throw new Error(`The deposit account ${id} does not exist.`);
        return store(tx, jsonResponse(status, accountView(account)));
      });
    },
  };
}

async function processedInTime(ramp: RampContext, projectId: ProjectId, id: string): Promise<void> {
  const processing: Promise<void> = processDepositAccount(ramp, projectId, id)
    .catch((error: unknown) =>
      ramp.log.warn({ depositAccount: id, err: error }, "deposit account not processed: polled later"),
    )
    .finally(() => ramp.continued.delete(processing));
  ramp.continued.add(processing);
  await Promise.race([processing, sleep(ramp.polling.answerWithinMs)]);
}

function closing(call: AnyRequest, customerId?: string): IdempotentOperation {
  const { id = "" } = call.parameters;
  return accountOperation(call, 202, () => {
    if (!isUuid(id)) return Promise.resolve(rampError("NOT_FOUND"));
    const begin = async (tx: ProjectTransaction): Promise<RampError | null> => {
      const account = await lockDepositAccount(tx, id, customerId);
      if (account === null) return rampError("NOT_FOUND");
      if (account.status === "REFUSED" || account.status === "CLOSED")
        return rampError("DEPOSIT_ACCOUNT_CLOSED");
      requestClose(tx, account);
      return null;
    };
    return Promise.resolve({ resourceId: id.toLowerCase(), begin });
  });
}

function accountView(account: StoredDepositAccount): DepositAccountView {
  const {
    id,
    customerId,
    status,
    type,
    src,
    dest,
    rail,
    provider,
    connectionId,
    providerCode,
    failureReason,
  } = account;
  return {
    ...{ id, customerId, status, type, src, dest, rail, provider, providerId: connectionId, providerCode },
    instructions: [...account.instructions],
    ...{ createdAt: account.createdAt, updatedAt: account.updatedAt },
    ...(failureReason !== null && { failureReason }),
    ...(account.isCloseRequested && account.status !== "CLOSED" && { closeRequested: true }),
    ...(account.sandbox && { sandbox: true }),
  };
}
