import type { Preparation } from "../core/idempotency.js";
import { isRampError, rampError, type RampError } from "../core/ramp-errors.js";
import { newId } from "../database/id.js";
import { OF_PROJECT, type ProjectTransaction } from "../database/transaction.js";
import { withUpperCountry } from "../accounts/account-details.js";
import { type AccountSides, payableCandidates, providerNames, readBank } from "../intents/choose-provider.js";
import {
  completedOnboarding,
  countOpenAccounts,
  insertDepositAccount,
  type StoredDepositAccount,
} from "../intents/deposit-account.js";
import type { DepositAccountOrder } from "../providers/deposit-messages.js";
import {
  acceptedCandidates,
  type Candidate,
  type CurrencyPair,
  readPair,
} from "../providers/payment-path.js";
import type { OpenDepositAccountBody } from "./deposit-account-schemas.js";
import { readSides } from "./intent-operations.js";
import type { CustomerRequest } from "./route.js";

/** Of a customer, open at a time: each costs look-ups for as long as it is open (runtime/ramp/docs/limits.md). */
const MOST_OPEN = 20;

/** The providers that could give the account, and the account as each would. */
export async function prepareAccount(call: CustomerRequest<OpenDepositAccountBody>): Promise<Preparation> {
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
