import {
  described,
  openRecord,
  textOf,
  type ValueOf,
} from "@routewright/runtime/internal/core/model/schema.js";
import { AmountField, Id, nullable, statuses, Text } from "./message-fields.js";

/** The messages about refunds (protocol.ts). */

/** Between years that every calendar knows. */
export const OccurredAt = textOf({
  format: "date-time",
  pattern: "^20",
  description: "the provider's own date of the movement",
});

/** A return or refund after SUCCESS; a payment can come back in parts. */
export const Refund = described(
  "return or refund after SUCCESS",
  openRecord(
    {
      // A path cannot name `.` and `..`: `…/refunds/../cancel` would cancel the payment.
      id: textOf({
        minLength: 1,
        maxLength: 128,
        pattern: "[^.]",
        description: "id of the refund, yours or that of the ramp's order; percent-encoded in paths",
      }),
      amount: AmountField("what goes back to the source, in its currency"),
      reason: Text("why"),
    },
    {
      orderId: Id("id of the ramp's order of the refund, where `id` is another"),
      status: statuses(
        ["PENDING", "SUCCEEDED", "FAILED", "CANCELLED"],
        "state of the refund; without one it has succeeded",
      ),
      failureReason: nullable(Text("why it failed")),
      occurredAt: OccurredAt,
    },
  ),
);
export type Refund = ValueOf<typeof Refund>;

/** A refund that the operator orders. */
export const RefundOrder = openRecord({
  id: Id("id of the refund"),
  amount: AmountField("what goes back to the source, in its currency"),
  reason: Text("why"),
});
export type RefundOrder = ValueOf<typeof RefundOrder>;
