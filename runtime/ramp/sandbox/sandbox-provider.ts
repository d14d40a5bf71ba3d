import Big from "big.js";
import { createHash, randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type {
  Callback,
  Capabilities,
  Execution,
  ExecutionOrder,
  Onboarding,
  OnboardingOrder,
  ProviderQuote,
  ProviderRequirement,
  QuoteRequest,
  Receipt,
  RefundOrder,
  Submission,
} from "../providers/protocol.js";
import { sendRequest } from "../../http/outbound-http.js";
import { callbackHeaders } from "../providers/signature.js";
import type { Switches } from "./behaviour.js";
import {
  instructionOf,
  namesReceiver,
  paymentDueAt,
  priceOfOrder,
  type Profile,
  quoteFor,
} from "./profiles.js";

/** Why an order is refused. */
export interface Rejection {
  readonly status: 404 | 409 | 422;
  readonly error: string;
  readonly message: string;
}

export function isRejection(value: unknown): value is Rejection {
  return typeof value === "object" && value !== null && "error" in value;
}

interface StoredOnboarding {
  readonly order: OnboardingOrder;
  requirement: ProviderRequirement;
}

interface StoredExecution {
  /** Null: cancelled before it was ordered. */
  readonly order: ExecutionOrder | null;
  execution: Execution;
}

const FORM = {
  type: "object",
  properties: {
    fullName: { type: "string", title: "Full name", minLength: 1, maxLength: 140 },
    dateOfBirth: { type: "string", title: "Date of birth", format: "date" },
    decision: { type: "string", title: "Sandbox decision", enum: ["approve", "reject"] },
  },
  required: ["fullName", "dateOfBirth", "decision"],
} as const;

/** One sandbox provider: a method for each operation, given its message, and the id and the code of its path. Orders are kept in memory. */
export class SandboxProvider {
  readonly #profile: Profile;
  readonly #switches: () => Switches;
  readonly #onboardings = new Map<string, StoredOnboarding>();
  readonly #executions = new Map<string, StoredExecution>();
  /** Quotes that are held, by id; `until` in milliseconds since 1970. */
  readonly #heldQuotes = new Map<string, { readonly quote: ProviderQuote; readonly until: number }>();
  /** Customers and wallets whose identity is known. */
  readonly #known = new Set<string>();

  constructor(profile: Profile, switches: () => Switches) {
    this.#profile = profile;
    this.#switches = switches;
  }

  capabilities(): Capabilities {
    return this.#profile.capabilities;
  }

  /** Ids of the executions that were carried out; a repeated order is not carried out again. */
  get executed(): readonly string[] {
    return [...this.#executions].filter(([, { order }]) => order !== null).map(([id]) => id);
  }

  quote(request: QuoteRequest): { readonly quote: ProviderQuote | null } {
    const quote = quoteFor(this.#profile, request);
    const { holdMs } = this.#profile;
    if (quote === null || holdMs === null) return { quote };
    const until = Date.now() + holdMs;
    const quoteId = randomUUID();
    this.#heldQuotes.set(quoteId, { quote, until });
    const expiresAt = new Date(until).toISOString();
    return { quote: { ...quote, hasIndicativePrice: false, quoteId, expiresAt } };
  }

  startOnboarding(order: OnboardingOrder): Onboarding | Rejection {
    const stored = this.#onboardings.get(order.id);
    if (stored) return isDeepStrictEqual(stored.order, order) ? onboardingOf(stored) : CONFLICT;
    const { quoteId } = order.movement;
    if (quoteId !== undefined && (this.#heldQuotes.get(quoteId)?.until ?? 0) <= Date.now())
      return refused("QUOTE_EXPIRED", "The quote has expired.");
    if (!namesReceiver(this.#profile, order.movement)) return NO_RECEIVER;
    const { onboarding } = this.#switches();
    if (onboarding === "refuse")
      return refused("CUSTOMER_REFUSED", "The provider does not serve this customer.");
    const isKnown = this.#isKnown(order);
    const requirement: ProviderRequirement = {
      code: "KYC_VERIFICATION",
      title: "Identity check",
      status: isKnown ? "COMPLETED" : "PENDING",
      failureReason: null,
      form: isKnown ? null : FORM,
    };
    const made = { order, requirement };
    this.#onboardings.set(order.id, made);
    if (!isKnown && onboarding !== "wait") this.#later(() => this.#decide(made, onboarding));
    return onboardingOf(made);
  }

  #isKnown({ customerReference, wallets, movement }: OnboardingOrder): boolean {
    const { uncheckedUpTo } = this.#profile;
    if (uncheckedUpTo !== null && new Big(movement.srcAmount).lte(uncheckedUpTo)) return true;
    return [customerReference, ...wallets].some((name) => this.#known.has(name));
  }

  onboarding(_message: null, id: string): Onboarding | Rejection {
    const stored = this.#onboardings.get(id);
    return stored ? onboardingOf(stored) : UNKNOWN;
  }

  submit({ fields }: Submission, id: string, code: string): Onboarding | Rejection {
    const stored = this.#onboardings.get(id);
    if (!stored || stored.requirement.code !== code) return UNKNOWN;
    const { decision } = fields;
    if (decision !== "approve" && decision !== "reject")
      return refused("INVALID_FIELDS", "`decision` must be approve or reject.");
    if (stored.requirement.status !== "PENDING") return onboardingOf(stored);
    stored.requirement = { ...stored.requirement, status: "IN_PROGRESS", form: null };
    this.#notify(stored.order.callbackUrl, "onboarding.updated", id);
    this.#later(() => this.#decide(stored, decision));
    return onboardingOf(stored);
  }

  #decide(stored: StoredOnboarding, decision: "approve" | "reject" | "refuse"): void {
    const isApproved = decision === "approve";
    const { order, requirement } = stored;
    if (requirement.status === "COMPLETED" || requirement.status === "FAILED") return;
    if (isApproved) for (const name of [order.customerReference, ...order.wallets]) this.#known.add(name);
    stored.requirement = {
      ...requirement,
      form: null,
      status: isApproved ? "COMPLETED" : "FAILED",
      failureReason: isApproved ? null : "The identity could not be confirmed.",
    };
    this.#notify(order.callbackUrl, "onboarding.updated", order.id);
  }

  execute(order: ExecutionOrder): Execution | Rejection {
    const stored = this.#executions.get(order.id);
    if (stored)
      return stored.order === null || isDeepStrictEqual(stored.order, order) ? stored.execution : CONFLICT;
    const onboarding = this.#onboardings.get(order.onboardingId);
    if (onboarding?.requirement.status !== "COMPLETED")
      return refused("NOT_ONBOARDED", "The customer is not onboarded.");
    if (!namesReceiver(this.#profile, order.movement)) return NO_RECEIVER;
    if (this.#switches().execution === "refuse")
      return refused("REFUSED", "The provider does not take this order.");
    const reference = `${this.#profile.capabilities.code}-${String(this.#executions.size + 1).padStart(6, "0")}`;
    const instructions = [instructionOf(this.#profile, order, reference)];
    const common = { id: order.id, reference, failureReason: null, instructions };
    const execution = { ...common, paymentDueAt: paymentDueAt(order) };
    const made: StoredExecution = { order, execution: { ...execution, status: "AWAITING_FUNDS" } };
    this.#executions.set(order.id, made);
    if (this.#switches().execution !== "stall") this.#later(() => this.#receiveFunds(made, order));
    return made.execution;
  }

  #receiveFunds(stored: StoredExecution, order: ExecutionOrder): void {
    if (stored.execution.status !== "AWAITING_FUNDS") return;
    stored.execution = { ...stored.execution, status: "PROCESSING" };
    this.#notify(order.callbackUrl, "execution.updated", order.onboardingId);
    this.#later(() => {
      const isFailed = this.#switches().execution === "fail";
      stored.execution = {
        ...stored.execution,
        ...(isFailed
          ? { status: "FAILED", failureReason: "The transfer was returned." }
          : { status: "SUCCESS", receipt: this.#receiptOf(order) }),
      };
      this.#notify(order.callbackUrl, "execution.updated", order.onboardingId);
    });
  }

  #receiptOf({ id, movement }: ExecutionOrder): Receipt {
    const { src, dest, srcAmount, rail, quoteId = "" } = movement;
    const codes = { srcCurrencyCode: src.currencyCode, destCurrencyCode: dest.currencyCode };
    const { sentPercent } = this.#switches();
    const [, fraction = ""] = srcAmount.split(".");
    const amountSent = new Big(srcAmount).times(sentPercent).div(100).toFixed(fraction.length);
    const held = sentPercent === 100 ? this.#heldQuotes.get(quoteId)?.quote : undefined;
    const quote = held ?? priceOfOrder(this.#profile, { ...codes, srcAmount: amountSent, rail });
    if (quote === null) return { amountSent };
    const { destAmount, fees, exchangeRate } = quote;
    const proof =
      movement.type === "ONRAMP"
        ? { transactionHash: `0x${createHash("sha256").update(id).digest("hex")}` }
        : { bankReference: id };
    return { amountSent, amountReceived: destAmount, fees, exchangeRate, ...proof };
  }

  /** A repeated refund changes nothing. */
  refund(order: RefundOrder, id: string): Execution | Rejection {
    const stored = this.#executions.get(id);
    if (!stored?.order) return UNKNOWN;
    const { execution } = stored;
    const { refunds = [] } = execution;
    if (refunds.some((refund) => refund.id === order.id)) return execution;
    const left = refunds.reduce(
      (rest, { amount }) => rest.minus(amount),
      new Big(execution.receipt?.amountSent ?? 0),
    );
    if (execution.status !== "SUCCESS" || left.lt(order.amount))
      return refused("NOT_REFUNDABLE", "The amount is not there to refund.");
    const status = left.eq(order.amount) ? "REFUNDED" : "SUCCESS";
    stored.execution = { ...execution, status, refunds: [...refunds, order] };
    this.#notify(stored.order.callbackUrl, "execution.updated", stored.order.onboardingId);
    return stored.execution;
  }

  execution(_message: null, id: string): Execution | Rejection {
    return this.#executions.get(id)?.execution ?? UNKNOWN;
  }

  cancel(_message: null, id: string): Execution {
    const stored = this.#executions.get(id) ?? { order: null, execution: NEVER_MADE(id) };
    // A payment that has arrived cannot be cancelled.
    if (stored.execution.status === "AWAITING_FUNDS")
      stored.execution = { ...stored.execution, status: "CANCELLED" };
    this.#executions.set(id, stored);
    return stored.execution;
  }

  #later(act: () => void): void {
    setTimeout(act, this.#switches().settleMs).unref();
  }

  #notify(url: string, type: "onboarding.updated" | "execution.updated", onboardingId: string): void {
    const { mute, duplicates } = this.#switches();
    if (mute) return;
    const body = JSON.stringify({ type, onboardingId } satisfies Callback);
    const signed = callbackHeaders(this.#profile.secret, `cb_${randomUUID()}`, new Date(), body);
    const headers = { "content-type": "application/json", ...signed };
    // One that is lost is not repeated: the ramp looks its orders up.
    for (let copy = 0; copy <= duplicates; copy++)
      void sendRequest({ url: new URL(url), method: "POST", headers, body, timeoutMs: 5_000 });
  }
}

function refused(error: string, message: string): Rejection {
  return { status: 422, error, message };
}

const NO_RECEIVER = refused("NO_RECEIVER", "The order does not say who receives the money.");
const UNKNOWN: Rejection = { status: 404, error: "UNKNOWN_ORDER", message: "There is no such order." };
const CONFLICT: Rejection = { status: 409, error: "ORDER_CONFLICT", message: "Another order has this id." };

const NEVER_MADE = (id: string): Execution => ({
  id,
  reference: `never-made-${id}`,
  status: "CANCELLED",
  failureReason: null,
  instructions: [],
});

function onboardingOf({ order, requirement }: StoredOnboarding): Onboarding {
  return { id: order.id, requirements: [requirement] };
}
