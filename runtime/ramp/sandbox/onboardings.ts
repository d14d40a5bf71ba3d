import { Amount } from "../accounts/amount.js";
import { isDeepStrictEqual } from "node:util";
import type {
  ExecutionOrder,
  Onboarding,
  OnboardingOrder,
  ProviderRequirement,
  Submission,
} from "../providers/protocol.js";
import type { RefusalReason } from "../providers/refusal-reasons.js";
import { check } from "../core/json-schema.js";
import { TRAVEL_RULE, TravelRule } from "../providers/travel-rule.js";
import { type HeldQuotes, QUOTE_EXPIRED } from "./held-quotes.js";
import { namesReceiver } from "./profiles.js";
import {
  CONFLICT,
  NO_RECEIVER,
  type ProviderState,
  refused,
  type Rejection,
  UNKNOWN,
} from "./provider-state.js";

interface StoredOnboarding {
  readonly order: OnboardingOrder;
  requirement: ProviderRequirement;
  /** Of an amount from which originator and beneficiary are asked for. */
  travelRule: ProviderRequirement | null;
  /** How often its list has the check. */
  listed: 0 | 1 | 2;
  /** Whether its list says that more may follow. */
  isOpen: boolean;
  /** Until when the price is held that it accepted; null: until the payment. */
  readonly priceEnd: Date | null;
}

/** Outcomes of an identity check. */
const DECISIONS = ["approve", "reject", "more"] as const;
type Decision = (typeof DECISIONS)[number];

function isDecision(value: unknown): value is Decision {
  return DECISIONS.some((known) => known === value);
}

const FORM = {
  type: "object",
  properties: {
    fullName: { type: "string", title: "Full name", minLength: 1, maxLength: 140 },
    dateOfBirth: { type: "string", title: "Date of birth", format: "date" },
    decision: {
      type: "string",
      title: "Sandbox decision",
      oneOf: [
        { const: "approve", title: "Approve" },
        { const: "reject", title: "Reject" },
        { const: "more", title: "Ask for more" },
      ],
    },
  },
  required: ["fullName", "dateOfBirth", "decision"],
} as const;

/** Identity checks of one sandbox provider; orders are kept in memory. */
export class Onboardings {
  readonly #state: ProviderState;
  readonly #quotes: HeldQuotes;
  /** Bounded by the orders of the ramp beside it, until the sandbox ends. */
  readonly #stored = new Map<string, StoredOnboarding>();
  /** Customers and wallets whose identity is known. Bounded by the same orders. */
  readonly #known = new Set<string>();

  /** Bounded by the same orders. */
  readonly #refusedOnce = new Set<string>();

  constructor(state: ProviderState, quotes: HeldQuotes) {
    this.#state = state;
    this.#quotes = quotes;
  }

  /** @param pageUrl the provider's own page of the check */
  start(order: OnboardingOrder, pageUrl: string): Onboarding | Rejection {
    const stored = this.#stored.get(order.id);
    if (stored) return isDeepStrictEqual(stored.order, order) ? onboardingOf(stored) : CONFLICT;
    const wrongQuote = this.#quotes.problem(order.movement, true);
    if (wrongQuote !== null) return wrongQuote;
    if (!namesReceiver(this.#state.profile, order.movement)) return NO_RECEIVER;
    const { onboarding, refusal, keepMs } = this.#state.switchesFor(order.movement.srcAmount);
    if (onboarding === "refuse" && this.#isRefused(order.id, refusal))
      return refused("CUSTOMER_REFUSED", MESSAGES[refusal], refusal);
    const isKnown = this.#isKnown(order);
    const isHere = !isKnown && onboarding !== "page" && onboarding !== "stall";
    const requirement: ProviderRequirement = {
      code: "KYC_VERIFICATION",
      title: "Identity check",
      status: isKnown ? "COMPLETED" : onboarding === "stall" ? "IN_PROGRESS" : "PENDING",
      failureReason: null,
      form: isHere ? FORM : null,
      ...(!isKnown && onboarding === "page" && { url: pageUrl }),
    };
    const isLater = onboarding === "later";
    const listed = isLater ? 0 : onboarding === "twice" ? 2 : 1;
    const travelRule = this.#needsTravelRule(order) ? ASKED : null;
    const now = this.#state.clock.now().getTime();
    const isKept = order.movement.quoteId === undefined || keepMs === null;
    const priceEnd = isKept ? null : new Date(now + keepMs);
    const made: StoredOnboarding = { order, requirement, travelRule, listed, isOpen: isLater, priceEnd };
    this.#stored.set(order.id, made);
    if (!isKnown && isDecision(onboarding)) this.#state.later(() => this.#decide(made, onboarding));
    if (isLater) this.#state.later(() => this.#list(made, 1));
    if (onboarding === "withdraw") this.#state.later(() => this.#list(made, 0));
    return onboardingOf(made);
  }

  #needsTravelRule({ movement: { src, dest, rail, srcAmount } }: OnboardingOrder): boolean {
    const pair = this.#state.profile.capabilities.pairs.find(
      (offered) =>
        offered.srcCurrencyCode === src.currencyCode &&
        offered.destCurrencyCode === dest.currencyCode &&
        offered.rail === rail,
    );
    return pair?.travelRuleFrom !== undefined && !Amount.of(srcAmount).isLess(pair.travelRuleFrom);
  }

  /** What passes is refused once. */
  #isRefused(id: string, reason: RefusalReason): boolean {
    const isPassing = reason === "PRICE" || reason === "MAINTENANCE";
    if (isPassing && this.#refusedOnce.has(id)) return false;
    this.#refusedOnce.add(id);
    return true;
  }

  #isKnown({ customerReference, wallets, movement: { srcAmount } }: OnboardingOrder): boolean {
    if (this.#state.switchesFor(srcAmount).checkAll) return false;
    const { uncheckedUpTo } = this.#state.profile;
    if (uncheckedUpTo !== null && !Amount.of(srcAmount).isMore(uncheckedUpTo)) return true;
    return [customerReference, ...wallets].some((name) => this.#known.has(name));
  }

  get(id: string): Onboarding | Rejection {
    const stored = this.#stored.get(id);
    return stored ? onboardingOf(stored) : UNKNOWN;
  }

  /** The order of an onboarding whose check is complete; null: it is not. */
  completed(id: string): OnboardingOrder | null {
    const stored = this.#stored.get(id);
    const isMet = stored?.requirement.status === "COMPLETED" || stored?.listed === 0;
    const isNamed = stored?.travelRule == null || stored.travelRule.status === "COMPLETED";
    return isMet && isNamed && !stored.isOpen ? stored.order : null;
  }

  /** What is wrong with the quote of an execution: the accepted one holds, another one has to be held still. */
  quoteProblem({ onboardingId, movement }: ExecutionOrder): Rejection | null {
    const { order, priceEnd = null } = this.#stored.get(onboardingId) ?? {};
    const isAccepted = movement.quoteId === order?.movement.quoteId;
    if (isAccepted && priceEnd !== null && priceEnd <= this.#state.clock.now()) return QUOTE_EXPIRED;
    return this.#quotes.problem(movement, !isAccepted);
  }

  submit({ fields }: Submission, id: string, code: string): Onboarding | Rejection {
    const stored = this.#stored.get(id);
    if (stored?.travelRule && code === TRAVEL_RULE) {
      if (!check(TravelRule, fields))
        return refused("INVALID_FIELDS", "The fields are not those of IVMS101.2023.");
      stored.travelRule = { ...stored.travelRule, status: "COMPLETED" };
      this.#notify(stored);
      return onboardingOf(stored);
    }
    const { decision } = fields;
    if (!stored || stored.requirement.code !== code) return UNKNOWN;
    if (!isDecision(decision))
      return refused("INVALID_FIELDS", "`decision` must be approve, reject or more.");
    this.#submitted(stored, decision);
    return onboardingOf(stored);
  }

  /** The customer has decided on the provider's own page. Returns the order. */
  decideOnPage(id: string, decision: string): OnboardingOrder | null {
    const stored = this.#stored.get(id);
    if (stored?.requirement.url === undefined) return null;
    if (isDecision(decision)) this.#submitted(stored, decision);
    return stored.order;
  }

  #submitted(stored: StoredOnboarding, decision: Decision): void {
    if (stored.requirement.status !== "PENDING") return;
    stored.requirement = { ...stored.requirement, status: "IN_PROGRESS", failureReason: null };
    this.#notify(stored);
    this.#state.later(() => this.#decide(stored, decision));
  }

  #decide(stored: StoredOnboarding, decision: Decision): void {
    const { order, requirement } = stored;
    const { status, attempt = 1 } = requirement;
    if (status === "COMPLETED" || status === "FAILED") return;
    if (decision === "approve")
      for (const name of [order.customerReference, ...order.wallets]) this.#known.add(name);
    const outcome = OUTCOMES[decision];
    stored.requirement = { ...requirement, ...outcome, ...(decision === "more" && { attempt: attempt + 1 }) };
    this.#notify(stored);
  }

  /** From now on the list has the check, or no longer, and is complete. */
  #list(stored: StoredOnboarding, listed: 0 | 1): void {
    Object.assign(stored, { listed, isOpen: false });
    this.#notify(stored);
  }

  #notify({ order }: StoredOnboarding): void {
    this.#state.notify(order, { type: "onboarding.updated", onboardingId: order.id });
  }
}

const ASKED: ProviderRequirement = {
  code: TRAVEL_RULE,
  title: "Sender and receiver",
  status: "PENDING",
  failureReason: null,
  form: null,
};

const MESSAGES: Readonly<Record<RefusalReason, string>> = {
  IDENTITY: "The provider does not serve this customer.",
  PRICE: "The quote has expired.",
  MAINTENANCE: "The provider takes no orders for a moment.",
  LIMIT: "The amount is beyond the customer's limit.",
  COUNTRY: "The provider does not serve this country.",
  ACCOUNT: "The provider does not take this account.",
};

const OUTCOMES: Readonly<Record<Decision, Pick<ProviderRequirement, "status" | "failureReason">>> = {
  approve: { status: "COMPLETED", failureReason: null },
  reject: { status: "FAILED", failureReason: "The identity could not be confirmed." },
  more: { status: "PENDING", failureReason: "The photo cannot be read." },
};

/** What is not to be met shows neither form nor page. */
function onboardingOf({
  order,
  requirement,
  travelRule,
  listed,
  isOpen,
  priceEnd,
}: StoredOnboarding): Onboarding {
  const { url, ...rest } = requirement;
  const isAsked = requirement.status === "PENDING";
  const shown = isAsked ? { ...rest, ...(url !== undefined && { url }) } : { ...rest, form: null };
  // In front of the check as it is: as one that is complete.
  const again: ProviderRequirement = { ...shown, status: "COMPLETED", failureReason: null, form: null };
  const requirements = [
    ...(listed === 2 ? [again] : []),
    ...(listed === 0 ? [] : [shown]),
    ...(travelRule ? [travelRule] : []),
  ];
  const held = priceEnd === null ? {} : { priceExpiresAt: priceEnd.toISOString() };
  return { id: order.id, requirements, ...(isOpen && { complete: false }), ...held };
}
