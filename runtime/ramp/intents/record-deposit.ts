import type { AmountText } from "../accounts/amount.js";
import { readCustomerFacts } from "../core/customer-facts.js";
import { depositIntentIdOf, newId, orderIdOf } from "../database/id.js";
import { OF_PROJECT, type ProjectTransaction } from "../database/transaction.js";
import { readAmount } from "../accounts/currency.js";
import { exactQuote, quoteProblem } from "../providers/check-reply.js";
import type { Deposit } from "../providers/deposit-messages.js";
import type { Price } from "../providers/quotes.js";
import { applyExecution, approved, NO_PROBLEMS } from "./apply-reply.js";
import { bookOrder } from "./book.js";
import type { StoredDepositAccount } from "./deposit-account.js";
import type { Intent } from "./intent.js";
import { recordIntent } from "./intent-rows.js";
import type { IntentContext } from "./lease.js";
import { recordAttention } from "./transitions.js";

/** A payment to a deposit account, read: what the intent needs of it, or why it cannot be one. */
export type ReadDeposit =
  | { readonly deposit: Deposit; readonly srcAmount: AmountText; readonly price: Price | null }
  | { readonly problem: string };

/** Checks a payment as a quote is checked: its price follows from its own rate and fees. */
export function readDeposit(
  { currencies }: Pick<IntentContext, "currencies">,
  { dest: to, rail }: StoredDepositAccount,
  deposit: Deposit,
): ReadDeposit {
  const { id, srcCurrencyCode, price } = deposit;
  const about = (problem: string): ReadDeposit => ({ problem: `deposit ${id}: ${problem}` });
  const src = currencies.find(srcCurrencyCode);
  if (src === null || src.code !== srcCurrencyCode)
    return about(`the currency ${srcCurrencyCode} is not known: add it to the assets`);
  const dest = currencies.get(to.currencyCode);
  const reading = readAmount(deposit.srcAmount, src);
  if (!reading.ok) return about(`srcAmount is not an amount of ${src.code}`);
  const { value: srcAmount } = reading;
  if (price === undefined || deposit.returnReason !== undefined) return { deposit, srcAmount, price: null };
  const offered = { ...price, rail, hasIndicativePrice: false };
  const problem = quoteProblem(offered, { src, dest, srcAmount, destAmount: null, rails: [rail] });
  if (problem !== null) return about(problem);
  const { destAmount, exchangeRate, fees } = exactQuote(offered, { src, dest });
  return { deposit, srcAmount, price: { destAmount, exchangeRate, fees, hasIndicativePrice: false } };
}

/**
 * Makes the intent of a payment, in the transaction that has locked its account: its id follows from the provider's id of the payment, so that
 * a payment that is listed twice, or read by two servers, or read again after a restore, is one intent. Nothing is ordered: the provider has
 * the money, and its execution has the id of the payment. False: the intent exists.
 */
export async function recordDeposit(
  ramp: IntentContext,
  tx: ProjectTransaction,
  account: StoredDepositAccount,
  { deposit, srcAmount, price }: Exclude<ReadDeposit, { readonly problem: string }>,
): Promise<boolean> {
  const id = depositIntentIdOf(account.id, deposit.id);
  const known = await tx.row(`SELECT id FROM ramp.intents WHERE ${OF_PROJECT} AND id = $1`, [id]);
  if (known !== null) return false;
  const { reference = null } = deposit;
  const twin = reference === null ? null : await sameReference(tx, account.id, reference);
  const { customerId, connectionId, connectionVersion, provider, providerCode, type, dest, rail, sandbox } =
    account;
  const intent = recordIntent(
    tx,
    {
      ...{ id, customerId, connectionId, connectionVersion, provider, providerCode, type, rail, sandbox },
      src: { ...account.src, currencyCode: deposit.srcCurrencyCode },
      ...{
        dest,
        srcAmount,
        price,
        metadata: null,
        maxSlippage: null,
        leaseOwner: newId(),
        autoExecute: true,
        isProviderNamed: true,
      },
      ...{ onboardingRedirectUrl: null, checkoutRedirectUrl: null, callbackUrl: "" },
      depositAccountId: account.id,
      depositId: deposit.id,
      depositReference: account.orderBody === null ? null : reference,
      returnReason: price === null ? (deposit.returnReason ?? "NOT_SERVED") : null,
    },
    await readCustomerFacts(tx, customerId),
    ramp.polling,
  );
  const arrived = arrive(tx, account.orderBody === null ? erased(tx, intent) : intent);
  if (twin !== null) flagTwin(tx, arrived, deposit.id, twin);
  tx.update("intents", id, { leaseOwner: null, leaseExpiresAt: null, nextPollAt: tx.now });
  return true;
}

/** The checks were complete when the account was given, and the money is at the provider. */
function arrive(tx: ProjectTransaction, intent: Intent): Intent {
  const payable = approved(tx, intent);
  const id = orderIdOf(intent.id);
  const times = { createdAt: tx.now, updatedAt: tx.now };
  tx.insert("transactions", { id, intentId: intent.id, status: "PENDING", ...times });
  const transaction: NonNullable<Intent["transaction"]> = {
    ...{
      id,
      status: "PENDING",
      providerReference: null,
      instructions: [],
      failureReason: null,
      paymentDueAt: null,
    },
    ...{ receipt: null, refunds: [], orderBody: null, orderAttempt: 1, refusalReason: null, ...times },
  };
  const opened = { ...payable, transaction };
  const priced = intent.price === null ? opened : bookOrder(tx, opened, intent.price);
  const report = { id, reference: "", status: "PROCESSING", failureReason: null, instructions: [] } as const;
  return applyExecution(tx, priced, { ...report, ...NO_PROBLEMS });
}

/** Money that arrives after its customer was erased: nothing of the customer is kept with it. */
function erased(tx: ProjectTransaction, intent: Intent): Intent {
  tx.update("intents", intent.id, { onboardingOrder: null });
  return { ...intent, onboardingOrder: null };
}

/** The provider's id of another payment to the account with this reference. */
async function sameReference(
  tx: ProjectTransaction,
  accountId: string,
  reference: string,
): Promise<string | null> {
  const row = await tx.row<{ readonly depositId: string }>(
    `SELECT deposit_id AS "depositId" FROM ramp.intents WHERE ${OF_PROJECT} AND deposit_account_id = $1 AND deposit_reference = $2
     ORDER BY created_at, id LIMIT 1`,
    [accountId, reference],
  );
  return row?.depositId ?? null;
}

/** Money is never dropped on a likeness: both payments are intents, and an operator decides. */
function flagTwin(tx: ProjectTransaction, intent: Intent, depositId: string, twin: string): void {
  const attention = { ...intent.attention, DUPLICATE_DEPOSIT: `${depositId} has the reference of ${twin}` };
  recordAttention(tx, { ...intent, attention });
}
