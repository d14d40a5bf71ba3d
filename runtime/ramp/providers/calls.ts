import { ATTEMPTS, DEFAULT_CALL_POLICY } from "./call-policy.js";

/** How a call is made (runtime/ramp/docs/provider-protocol.md, Timing; a test compares the page). */
export interface CallRule {
  /** Time limit of one attempt. */
  readonly timeoutMs: number;
  /** Attempts at once, where the provider cannot be reached, times out or answers with 5xx. */
  readonly attempts: number;
  readonly when: string;
}

const ORDER = { timeoutMs: DEFAULT_CALL_POLICY.timeoutMs, attempts: ATTEMPTS };
const QUOTE = { timeoutMs: DEFAULT_CALL_POLICY.quoteTimeoutMs, attempts: 1 };

const UNTIL_ANSWERED =
  "again until it is answered, after 1 s, then twice as long each time, up to a minute, until the intent expires";

export const CALLS = {
  capabilities: { ...ORDER, when: "at `provider connect`, by `doctor`, and every 5 minutes" },
  quote: { ...QUOTE, when: "for `GET /v1/intent/quote`, and where an intent needs a price" },
  startOnboarding: { ...ORDER, when: `when an intent is made; ${UNTIL_ANSWERED}` },
  onboarding: {
    ...ORDER,
    when: "right after an order without a usable answer; after a callback; before the payment; else after a minute, then at a quarter of the time since the last change, up to 10 minutes",
  },
  submit: {
    ...ORDER,
    when: "when the customer sends the form, who is told of a refusal and can send it again",
  },
  execute: { ...ORDER, when: `when the payment is made; ${UNTIL_ANSWERED}` },
  execution: {
    ...ORDER,
    when: "as an onboarding, but first after 15 s; for 60 days after the end too, first after a minute, then at a quarter of the time since the end, up to once a day",
  },
  cancel: {
    ...ORDER,
    when: "when an intent expires or is cancelled, and after an order that is refused, but for its price; again until it is answered",
  },
  refund: { ...ORDER, when: "one after the other; again until it is answered" },
  cancelRefund: { ...ORDER, when: "when a refund is cancelled that was sent; again until it is answered" },
  openDepositAccount: { ...ORDER, when: "when an account is opened; again until it is answered" },
  depositAccount: {
    ...ORDER,
    when: "after a callback; else after a minute, then at a quarter of the time since the last change, up to 10 minutes; for 60 days after it is closed too, up to once a day",
  },
  closeDepositAccount: { ...ORDER, when: "when an account is closed; again until it is answered" },
} as const satisfies Readonly<Record<string, CallRule>>;

/** For people: what the provider has to meet. */
export function ruleText(name: keyof typeof CALLS): string {
  const { timeoutMs, attempts, when }: CallRule = CALLS[name];
  const tries = attempts === 1 ? "once" : `up to ${String(attempts)} times at once`;
  return `Called ${when}. Answer within ${String(timeoutMs / 1_000)} s; tried ${tries}.`;
}
