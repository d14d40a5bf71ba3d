import { Amount, type AmountText } from "../accounts/amount.js";
import type { Refund } from "../providers/protocol.js";
import type { RefundStatus } from "./refund-transitions.js";

/** A refund of a payment: asked for by the project or an operator, or made by the provider alone. */
export interface IntentRefund {
  readonly id: string;
  /** The id that the provider lists it with. */
  readonly providerId: string | null;
  readonly amount: AmountText;
  /** The amount that the provider lists it with; null: it does not list it. */
  readonly listedAmount: AmountText | null;
  readonly reason: string;
  readonly status: RefundStatus;
  readonly origin: "REQUEST" | "PROVIDER";
  readonly failureReason: string | null;
  /** Whether the provider can have it: recorded before it is sent. */
  readonly isSent: boolean;
  readonly isCancelRequested: boolean;
  /** Whether the provider lists it under an id that is not known, so that amount and time tell. */
  readonly isMatchedByAmount: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Whether it is still to be decided. */
export function isOpenRefund({ status }: Pick<IntentRefund, "status">): boolean {
  return status === "REQUESTED" || status === "PENDING";
}

/** What goes back to the source. */
export function refundAmount({ amount, listedAmount }: IntentRefund): Amount {
  return Amount.of(listedAmount ?? amount);
}

interface WithPayment {
  readonly transaction: { readonly status: string } | null;
}

/** Whether a payment was made, of which something can be left: also of one that was refunded whole, once a refund comes back. */
export function isRefundable({ transaction }: WithPayment): boolean {
  return transaction?.status === "SUCCESS" || transaction?.status === "REFUNDED";
}

/** The refund that is next at the provider, to be cancelled or to be sent. */
export function openRefund(
  intent: WithPayment & { readonly refunds: readonly IntentRefund[] },
): IntentRefund | undefined {
  const open = intent.refunds.filter(isOpenRefund);
  const cancelled = open.find(({ isCancelRequested }) => isCancelRequested);
  if (cancelled !== undefined || !isRefundable(intent)) return cancelled;
  return open.find(({ status }) => status === "REQUESTED");
}

/** How long after a provider has taken a refund it may be missing in its list: banks list on the next working day, after weekends and holidays. */
export const REFUND_LISTED_DAYS = 5;
const DAY_MS = 24 * 60 * 60_000;

/** Whether the provider should have decided a refund that it has taken. */
export function isOverdue({ status, updatedAt }: IntentRefund, now: Date): boolean {
  return status === "PENDING" && updatedAt.getTime() + REFUND_LISTED_DAYS * DAY_MS <= now.getTime();
}

/** Dates of providers can be days without a time, in any time zone. */
const DATE_TOLERANCE_MS = DAY_MS;

/** A listed refund and the known one that it is; null: it is a new one. */
interface RefundMatch {
  readonly listed: Refund;
  readonly known: IntentRefund | null;
  readonly isByAmount: boolean;
}

/**
 * Which known refunds a provider's list names: by the provider's id, by ours, else by amount and time, those that were sent first. Matched to no
 * request, a refund that the provider made under an id of its own would be made again. One that names an order that another listed one
 * is already is new: a payout that failed and was made again, or a part of it. Then the request is the one that the customer was paid with, in
 * whatever order the provider lists them: one that were told of as failed would be asked for, and paid, again.
 */
export function matchRefunds(
  known: readonly IntentRefund[],
  listed: readonly Refund[],
): readonly RefundMatch[] {
  const list = listed.toSorted((a, b) => placeOf(a) - placeOf(b));
  const free = new Set(known);
  const take = (found: IntentRefund | undefined): IntentRefund | null => {
    if (found !== undefined) free.delete(found);
    return found ?? null;
  };
  // All by one kind of id before any by the next: no two rows get one id of the provider.
  const byId = new Map<Refund, IntentRefund | null>();
  for (const isNamed of [hasProviderId, hasId])
    for (const listed of list)
      byId.set(listed, byId.get(listed) ?? take([...free].find((refund) => isNamed(refund, listed))));
  return list.map((listed) => {
    const named = byId.get(listed) ?? null;
    if (named !== null) return { listed, known: named, isByAmount: false };
    const isOfKnown = known.some((refund) => hasId(refund, listed));
    const alike = isOfKnown
      ? undefined
      : [...free].filter((refund) => isAlike(refund, listed)).sort(bySent)[0];
    return { listed, known: take(alike), isByAmount: alike !== undefined };
  });
}

/** Those that moved money, or still can, come first. */
const PLACES = { SUCCEEDED: 0, PENDING: 1, FAILED: 2, CANCELLED: 2 } as const;

function placeOf({ status = "SUCCEEDED" }: Refund): number {
  return PLACES[status];
}

function hasProviderId({ providerId }: IntentRefund, listed: Refund): boolean {
  return providerId === listed.id;
}

function hasId({ id }: IntentRefund, listed: Refund): boolean {
  return id === listed.id.toLowerCase() || id === listed.orderId?.toLowerCase();
}

/** Whether a listed refund can be this one: open, or listed under another id before. */
function isAlike(refund: IntentRefund, { amount, occurredAt }: Refund): boolean {
  const isCandidate = isOpenRefund(refund) || refund.status === "SUCCEEDED";
  const isAfter =
    occurredAt === undefined || Date.parse(occurredAt) >= refund.createdAt.getTime() - DATE_TOLERANCE_MS;
  return isCandidate && isAfter && refundAmount(refund).equals(amount);
}

const ORDER: readonly RefundStatus[] = ["PENDING", "REQUESTED", "SUCCEEDED"];

function bySent(a: IntentRefund, b: IntentRefund): number {
  return Number(b.isSent) - Number(a.isSent) || ORDER.indexOf(a.status) - ORDER.indexOf(b.status);
}
