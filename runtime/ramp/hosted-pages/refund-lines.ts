import { Amount } from "../accounts/amount.js";
import type { Intent } from "../intents/intent.js";
import { type IntentRefund, isOpenRefund, refundAmount } from "../intents/refund.js";
import { type Html, html } from "@routewright/runtime/internal/core/http/html.js";

/** What has gone back to the customer, and what is on its way. */
export function refundLines({ refunds }: Intent, show: (sum: Amount) => string): Html {
  const line = (title: string, which: readonly IntentRefund[]): Html | null => {
    if (which.length === 0) return null;
    const sum = Amount.sum(which.map(refundAmount));
    return html`<div>
      <dt>${title}</dt>
      <dd>${show(sum)}</dd>
    </div>`;
  };
  const done = refunds.filter(({ status }) => status === "SUCCEEDED");
  return html`${line("Refunded", done)} ${line("Refund on its way", refunds.filter(isOpenRefund))}`;
}
