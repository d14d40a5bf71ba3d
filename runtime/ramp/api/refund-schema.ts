import {
  described,
  flag,
  oneOf,
  openRecord,
  type Schema,
  text,
  textOf,
  time,
  type ValueOf,
} from "@routewright/runtime/internal/core/model/schema.js";
import { REFUND_STATUSES } from "../intents/refund-transitions.js";

const Uuid = textOf({ format: "uuid" });
const DateTime = time as Schema as Schema<Date>;

/** A refund as its project reads it. */
export const RefundView = openRecord(
  {
    id: Uuid,
    intentId: Uuid,
    amount: described("What goes back to the source.", text),
    currencyCode: text,
    status: oneOf(REFUND_STATUSES),
    origin: described(
      "Who made it: you asked for it, or the provider made it alone.",
      oneOf(["REQUEST", "PROVIDER"]),
    ),
    reason: text,
    createdAt: DateTime,
    updatedAt: DateTime,
  },
  {
    providerRefundId: described("The provider's own id of it.", text),
    failureReason: text,
    cancelRequested: described("true: the provider is being asked to cancel it.", flag),
  },
  { $id: "Refund" },
);
export type RefundView = ValueOf<typeof RefundView>;
