/**
 * What moves a refund (runtime/ramp/docs/intents.md, Refunds). The database refuses all other moves; tests compare this table with the
 * database's and with the page's.
 */
export const REFUND_TRANSITIONS = {
  REQUESTED: {
    PENDING: "the provider takes it, or lists it as `PENDING`",
    SUCCEEDED: "the provider lists it",
    FAILED:
      "the provider refuses it or lists it as `FAILED`; or it was sent, and the payment is returned, charged back or resolved before there is an answer",
    CANCELLED:
      "you cancel it, or the payment is returned, charged back or resolved as failed, before it is sent; or the provider cancels it",
  },
  PENDING: {
    SUCCEEDED: "the provider lists it",
    FAILED:
      "the provider lists it as `FAILED`; or the payment is returned, charged back or resolved, and the provider does not list it",
    CANCELLED: "the provider cancels it",
  },
  SUCCEEDED: { FAILED: "it comes back: the provider lists it as `FAILED` or `CANCELLED`, or no longer" },
  FAILED: { SUCCEEDED: "the provider lists it after all" },
  CANCELLED: { SUCCEEDED: "the provider lists it after all" },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;

export type RefundStatus = keyof typeof REFUND_TRANSITIONS;

export const REFUND_STATUSES = Object.keys(REFUND_TRANSITIONS) as readonly RefundStatus[];

export function canRefundMove(from: RefundStatus, to: RefundStatus): boolean {
  return to in REFUND_TRANSITIONS[from];
}
