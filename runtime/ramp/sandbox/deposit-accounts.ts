import { createHash, randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { flag, record, textOf, type ValueOf } from "@routewright/runtime/internal/core/model/schema.js";
import { Amount, type AmountText } from "../accounts/amount.js";
import type {
  Deposit,
  DepositAccount,
  DepositAccountOrder,
  DepositReturn,
} from "../providers/deposit-messages.js";
import type { ExecutionOrder, Instruction, Pair } from "../providers/protocol.js";
import type { Executions } from "./executions.js";
import type { Onboardings } from "./onboardings.js";
import { instructionOf, namesReceiver, priceOfOrder } from "./profiles.js";
import {
  CONFLICT,
  NO_RECEIVER,
  type ProviderState,
  refused,
  type Rejection,
  UNKNOWN,
} from "./provider-state.js";

/** A payment that arrives at the sandbox's bank (runtime/ramp/docs/sandbox.md, Deposit accounts). */
export const ArrivingDeposit = record(
  {
    depositAccountId: textOf({ format: "uuid" }),
    srcAmount: textOf({ pattern: "^[0-9]{1,20}(\\.[0-9]{1,18})?$" }),
  },
  {
    srcCurrencyCode: textOf({ pattern: "^[A-Za-z0-9_]{2,40}$" }),
    /** The payment's own id; one that has arrived is listed again. */
    id: textOf({ pattern: "^[A-Za-z0-9_-]{1,128}$" }),
    reference: textOf({ minLength: 1, maxLength: 128 }),
    unknownSender: flag,
  },
);
export type ArrivingDeposit = ValueOf<typeof ArrivingDeposit>;

interface StoredAccount {
  readonly order: DepositAccountOrder;
  readonly instructions: readonly Instruction[];
  readonly deposits: Deposit[];
  isOpen: boolean;
}

/** Deposit accounts of one sandbox provider; kept in memory. */
export class DepositAccounts {
  readonly #state: ProviderState;
  readonly #onboardings: Onboardings;
  readonly #executions: Executions;
  /** Bounded by the orders of the ramp beside it, until the sandbox ends. */
  readonly #stored = new Map<string, StoredAccount>();
  /** Closed before they were opened. Bounded in the same way. */
  readonly #never = new Set<string>();

  constructor(state: ProviderState, onboardings: Onboardings, executions: Executions) {
    this.#state = state;
    this.#onboardings = onboardings;
    this.#executions = executions;
  }

  open(order: DepositAccountOrder): DepositAccount | Rejection {
    const stored = this.#stored.get(order.id);
    if (stored) return isDeepStrictEqual(stored.order, order) ? accountOf(stored) : CONFLICT;
    if (this.#never.has(order.id)) return refused("CLOSED", "The account was closed before it was opened.");
    if (this.#onboardings.completed(order.onboardingId) === null)
      return refused("NOT_ONBOARDED", "The customer's checks are not complete.", "IDENTITY");
    if (!namesReceiver(this.#state.profile, order)) return NO_RECEIVER;
    const made: StoredAccount = {
      order,
      instructions: [this.#instructionOf(order)],
      deposits: [],
      isOpen: true,
    };
    this.#stored.set(order.id, made);
    return accountOf(made);
  }

  get(id: string, after: string | null): DepositAccount | Rejection {
    const stored = this.#stored.get(id);
    return stored ? accountOf(stored, after) : UNKNOWN;
  }

  close(id: string): DepositAccount {
    const stored = this.#stored.get(id);
    if (stored) stored.isOpen = false;
    else this.#never.add(id);
    return stored ? accountOf(stored) : { id, status: "CLOSED", instructions: [], deposits: [] };
  }

  /** Money arrives. The id of the payment; null: there is no such account. */
  arrive(arriving: ArrivingDeposit): string | null {
    const { depositAccountId, id = `deposit-${randomUUID()}`, srcAmount, reference } = arriving;
    const stored = this.#stored.get(depositAccountId);
    if (stored === undefined) return null;
    const { srcCurrencyCode = stored.order.src.currencyCode } = arriving;
    const what = { id, srcCurrencyCode, srcAmount, ...(reference !== undefined && { reference }) };
    const known = stored.deposits.find((deposit) => deposit.id === id);
    const deposit = known ?? this.#priced(stored, what, arriving.unknownSender === true);
    stored.deposits.push(deposit);
    if (known === undefined) this.#executions.receive(executionOrderOf(stored.order, deposit), deposit);
    return id;
  }

  #priced({ order, isOpen }: StoredAccount, deposit: Deposit, isUnknown: boolean): Deposit {
    const { profile } = this.#state;
    const { srcCurrencyCode, srcAmount } = deposit;
    if (!isOpen) return { ...deposit, returnReason: "ACCOUNT_CLOSED" };
    if (srcCurrencyCode !== order.src.currencyCode) return { ...deposit, returnReason: "WRONG_CURRENCY" };
    if (isUnknown) return { ...deposit, returnReason: "UNKNOWN_SENDER" };
    const path = { srcCurrencyCode, destCurrencyCode: order.dest.currencyCode, rail: order.rail };
    const returnReason = this.#beyondLimits(path, srcAmount);
    if (returnReason !== null) return { ...deposit, returnReason };
    const price = priceOfOrder(profile, { ...path, srcAmount });
    if (price === null) return { ...deposit, returnReason: "NOT_SERVED" };
    const { destAmount, exchangeRate, fees } = price;
    return { ...deposit, price: { destAmount, exchangeRate, fees } };
  }

  #beyondLimits(
    path: Pick<Pair, "srcCurrencyCode" | "destCurrencyCode" | "rail">,
    srcAmount: AmountText,
  ): DepositReturn | null {
    const pair = this.#state.profile.capabilities.pairs.find(
      ({ srcCurrencyCode, destCurrencyCode, rail }) =>
        srcCurrencyCode === path.srcCurrencyCode &&
        destCurrencyCode === path.destCurrencyCode &&
        rail === path.rail,
    );
    if (pair === undefined) return "NOT_SERVED";
    if (Amount.of(srcAmount).isLess(pair.minSrcAmount)) return "BELOW_MINIMUM";
    return Amount.of(srcAmount).isMore(pair.maxSrcAmount) ? "ABOVE_MAXIMUM" : null;
  }

  #instructionOf(order: DepositAccountOrder): Instruction {
    const reference = `${this.#state.profile.capabilities.code}-account-${String(this.#stored.size + 1).padStart(6, "0")}`;
    const { details: of } = instructionOf(
      this.#state.profile,
      executionOrderOf(order, { id: order.id, srcCurrencyCode: order.src.currencyCode, srcAmount: "1" }),
      reference,
    );
    const details = Object.fromEntries(Object.entries(of).filter(([name]) => name !== "amount"));
    const isChain = order.type === "OFFRAMP";
    const address = `0x${createHash("sha256").update(order.id).digest("hex").slice(0, 40)}`;
    return {
      encoding: "DISPLAY",
      type: isChain ? "CRYPTO" : "BANK",
      details: { ...details, ...(isChain && { address }) },
    };
  }
}

function accountOf(
  { order: { id }, instructions, deposits, isOpen }: StoredAccount,
  after: string | null = null,
): DepositAccount {
  const from = after === null ? 0 : deposits.findLastIndex((deposit) => deposit.id === after) + 1;
  return {
    id,
    status: isOpen ? "ACTIVE" : "CLOSED",
    instructions,
    deposits: deposits.slice(from, from + MOST_LISTED),
  };
}

/** Of one answer: fewer than are allowed, so that pages are tried. */
const MOST_LISTED = 10;

function executionOrderOf(
  { id: onboardingId, customerReference, type, src, dest, rail, callbackUrl }: DepositAccountOrder,
  { id, srcCurrencyCode, srcAmount }: Deposit,
): ExecutionOrder {
  const movement = { type, src: { ...src, currencyCode: srcCurrencyCode }, dest, srcAmount, rail };
  return { id, onboardingId, customerReference, movement, callbackUrl };
}
