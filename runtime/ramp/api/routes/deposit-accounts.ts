import { listOf, named } from "@routewright/runtime/internal/core/model/schema.js";
import { sleep } from "@routewright/runtime/internal/core/model/timer.js";
import type { IdempotentOperation, Preparation } from "../../core/idempotency.js";
import { isRampError, jsonResponse, rampError, type RampError } from "../../core/ramp-errors.js";
import { isUuid, newId, type ProjectId } from "../../database/id.js";
import { OF_PROJECT, type ProjectTransaction } from "../../database/transaction.js";
import {
  type AccountSides,
  payableCandidates,
  providerNames,
  readBank,
} from "../../intents/choose-provider.js";
import {
  completedOnboarding,
  countOpenAccounts,
  insertDepositAccount,
  listDepositAccounts,
  lockDepositAccount,
  readDepositAccount,
  requestClose,
  type StoredDepositAccount,
} from "../../intents/deposit-account.js";
import { processDepositAccount } from "../../intents/process-deposit-account.js";
import { withUpperCountry } from "../../accounts/account-details.js";
import {
  acceptedCandidates,
  type Candidate,
  type CurrencyPair,
  readPair,
} from "../../providers/payment-path.js";
import type { DepositAccountOrder } from "../../providers/deposit-messages.js";
import {
  DepositAccountsQuery,
  DepositAccountView,
  OpenDepositAccountBody,
} from "../deposit-account-schemas.js";
import { readSides } from "../intent-operations.js";
import { listResponse } from "../intent-view.js";
import { EmptyBody, PageQuery } from "../request-schemas.js";
import {
  type CustomerRequest,
  idempotentRoute,
  type ProjectRequest,
  type RampContext,
  route,
} from "../route.js";

/** Of a customer, open at a time: each costs look-ups for as long as it is open (runtime/ramp/docs/limits.md). */
const MOST_OPEN = 20;

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

/** The providers that could give the account, and the account as each would. */
async function prepareAccount(call: CustomerRequest<OpenDepositAccountBody>): Promise<Preparation> {
  const { ramp, caller, body } = call;
  // Nothing need be known of the wallet that pays.
  const sides = await readSides(ramp, caller, { ...body, src: { details: {}, ...body.src } });
  if (isRampError(sides)) return sides;
  const pair = readPair(ramp, sides.src.currencyCode, sides.dest.currencyCode, [
    "/src/currencyCode",
    "/dest/currencyCode",
  ]);
  if (isRampError(pair)) return pair;
  const candidates = await depositCandidates(call, sides, pair);
  if (isRampError(candidates)) return candidates;
  const id = newId();
  const begin = async (tx: ProjectTransaction): Promise<RampError | null> => {
    // Of several requests at once each counts the accounts of those before.
    tx.write("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [
      `ramp.deposit_accounts ${caller.customerId}`,
    ]);
    if ((await countOpenAccounts(tx, caller.customerId)) >= MOST_OPEN)
      return rampError("TOO_MANY_DEPOSIT_ACCOUNTS");
    for (const candidate of candidates) {
      const onboardingId = await completedOnboarding(tx, caller.customerId, candidate.connection.id);
      if (onboardingId === null) continue;
      const account = accountOf(call, id, pair, sides, candidate);
      const orderBody = await orderOf(tx, account, onboardingId, candidate.connection.callbackUrl);
      const { leaseMs } = ramp.polling;
      insertDepositAccount(
        tx,
        { ...account, orderBody, createdAt: tx.now, updatedAt: tx.now },
        new Date(tx.now.getTime() + leaseMs),
      );
      return null;
    }
    return rampError("COMPLIANCE_NOT_COMPLETE", {
      message: `Make an intent with ${candidates.map(({ connection }) => connection.code).join(" or ")} first (POST /v1/intent): the account can be opened once its checks are complete.`,
    });
  };
  return { resourceId: id, begin };
}

async function depositCandidates(
  { ramp, caller, body }: CustomerRequest<OpenDepositAccountBody>,
  sides: AccountSides,
  pair: CurrencyPair,
): Promise<readonly Candidate[] | RampError> {
  const bank = readBank(pair, sides);
  if (isRampError(bank)) return bank;
  const path = { ...pair, ...bank, srcAmount: null };
  const connections = await ramp.providers.list(caller.projectId);
  const offering = connections.filter(({ capabilities }) => capabilities.depositAccounts === true);
  const { providerId = null } = body;
  const candidates = acceptedCandidates(offering, path, providerNames({ ...sides, providerId }));
  if (isRampError(candidates)) return candidates;
  // From a chain any wallet may pay.
  const isAnyWallet = pair.type === "OFFRAMP" && sides.src.details["address"] === undefined;
  return payableCandidates(candidates, pair, sides, isAnyWallet ? ["dest"] : ["src", "dest"]);
}

function accountOf(
  { caller }: CustomerRequest<OpenDepositAccountBody>,
  id: string,
  { type, src, dest }: CurrencyPair,
  sides: AccountSides,
  { connection, rails: [{ code: rail }] }: Candidate,
): Omit<StoredDepositAccount, "orderBody" | "createdAt" | "updatedAt"> {
  const { projectId, customerId } = caller;
  return {
    ...{ id, projectId, customerId, type, rail },
    status: "PENDING",
    ...{ connectionId: connection.id, connectionVersion: connection.version },
    ...{ provider: connection.capabilities.name, providerCode: connection.code },
    sandbox: connection.capabilities.sandbox ?? false,
    src: { currencyCode: src.code, details: withUpperCountry(sides.src.details) },
    dest: { currencyCode: dest.code, details: withUpperCountry(sides.dest.details) },
    ...{
      instructions: [],
      failureReason: null,
      lastDeposit: null,
      isCloseRequested: false,
      attention: null,
      failedAttempts: 0,
    },
  };
}

/** The bytes of the order, stored before they are sent. */
async function orderOf(
  tx: ProjectTransaction,
  {
    id,
    type,
    src,
    dest,
    rail,
    customerId,
  }: Pick<StoredDepositAccount, "id" | "type" | "src" | "dest" | "rail" | "customerId">,
  onboardingId: string,
  callbackUrl: string,
): Promise<string> {
  const customer = await tx.row<{ readonly reference: string }>(
    `SELECT reference FROM ramp.customers WHERE ${OF_PROJECT} AND id = $1`,
    [customerId],
  );
  if (customer === null) throw new Error("The customer of the deposit account does not exist.");
  const order: DepositAccountOrder = {
    id,
    onboardingId,
    customerReference: customer.reference,
    type,
    src,
    dest,
    rail,
    callbackUrl,
  };
  return JSON.stringify(order);
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
