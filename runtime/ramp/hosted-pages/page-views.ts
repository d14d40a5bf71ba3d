import type { Intent, NewPrice } from "../intents/intent.js";
import { isPriceHeld } from "../intents/payment.js";
import { wordsOf } from "../intents/refusal.js";
import { elsewhere, formatAmount, instructionView } from "./instruction-view.js";
import { refundLines } from "./refund-lines.js";
import { redirectUrlOf, type Stage, type StageOutcome } from "./stage.js";
import { errorSummary, fieldViews, type FormState } from "./requirement-form.js";
import { fieldsOf } from "../providers/form.js";
import { type Html, html } from "@routewright/runtime/internal/core/http/html.js";
import type { Layout } from "./layout.js";
import type { Currencies, Currency } from "../accounts/currency.js";

/** What a page shows of an intent. */
export interface PageContext {
  readonly intent: Intent;
  readonly projectName: string;
  readonly currencies: Currencies;
  /** Address of the page. */
  readonly url: string;
}

type PageView = Pick<Layout, "title" | "content">;

/** The page of a stage; `state` is that of the form. */
export function viewOf(shown: PageContext, stage: Stage, state: FormState): PageView {
  switch (stage.kind) {
    case "form":
      return formView(shown, stage, state);
    case "elsewhere":
      return elsewhereView(shown, stage);
    case "waiting":
      return waitingView(shown, WAITING[stage.for]);
    case "refused":
      return waitingView(shown, ["Not yet", wordsOf(stage.refusal)]);
    case "offer":
      return offerView(shown, stage.newPrice);
    case "confirm":
      return confirmView(shown, state);
    case "pay":
      return payView(shown, stage);
    case "end":
      return endView(shown, stage.outcome);
  }
}

function formView(shown: PageContext, stage: Stage & { kind: "form" }, state: FormState): PageView {
  const { code, title, form, reason } = stage.requirement;
  const fields = fieldsOf(form);
  const content = html`${heading(shown, title)} ${errorSummary(fields, state)} ${moreNeeded(shown, reason)}
    ${amounts(shown)}
    <p>${shown.intent.provider} must check your identity before it can move the money.</p>
    <p>
      What you enter goes to ${shown.intent.provider} alone. It is not stored here, and ${shown.projectName}
      does not get it from here.
    </p>
    <form method="post" novalidate>
      <input type="hidden" name="action" value="submit" />
      <input type="hidden" name="requirement" value="${code}" />
      ${fieldViews(fields, state)}
      <button>Continue</button>
    </form>
    ${yourPayment(shown, "Open until")} ${LEAVE}`;
  return { title: state.errors.size > 0 ? `Error: ${title}` : title, content };
}

function elsewhereView(
  shown: PageContext,
  { requirement: { title, url, reason } }: Stage & { kind: "elsewhere" },
): PageView {
  const content = html`${heading(shown, title)} ${moreNeeded(shown, reason)} ${amounts(shown)}
    <p>
      ${shown.intent.provider} must check your identity before it can move the money. It does so on a page of
      its own, and what you enter there stays with it.
    </p>
    ${elsewhere(shown.url, url)}
    <p class="live" role="status">Waiting for the result. This page refreshes automatically.</p>
    ${yourPayment(shown, "Open until")} ${LEAVE}`;
  return { title, content };
}

/** Why the provider asks again. */
function moreNeeded({ intent }: PageContext, reason: string | null): Html | null {
  return reason === null ? null : html`<p class="note">${intent.provider} needs more: ${reason}</p>`;
}

function offerView(shown: PageContext, { quoteId, expiresAt, order }: NewPrice): PageView {
  const title = "The price has changed";
  const before = shown.intent.price?.destAmount ?? shown.intent.acceptedAmount;
  const offered = { ...shown, intent: { ...shown.intent, ...order } };
  const content = html`${heading(offered, title)}
    <p>
      ${order.provider} no longer holds the price that you have
      seen.${before === null ? null : html` By that you would have received ${formatAmount(before)}.`} You can
      accept the new one until ${timeOf(new Date(expiresAt))}. Nothing is ordered before you do.
    </p>
    ${movement(offered, "Open until")}
    <form method="post">
      <input type="hidden" name="action" value="accept" />
      <input type="hidden" name="quoteId" value="${quoteId}" />
      <button>Accept the new price</button>
    </form>
    ${LEAVE}`;
  return { title, content };
}

function confirmView(shown: PageContext, state: FormState): PageView {
  const { price, provider } = shown.intent;
  const title = "Ready to pay";
  const content = html`${heading(shown, title)} ${errorSummary([], state)}
    <p>Your details are complete. Continue to see how to send the money.</p>
    ${price === null ? html`<p>${provider} gives the price when you continue; you see it before you pay.</p>` : null}
    ${price?.expiresAt === undefined ? null : holds(shown.intent, price.expiresAt)}
    ${movement(shown, "Open until")}
    <form method="post">
      <input type="hidden" name="action" value="execute" />
      <button>Continue to payment</button>
    </form>
    ${LEAVE}`;
  return { title, content };
}

function holds(intent: Intent, expiresAt: string): Html {
  return isPriceHeld(intent)
    ? html`<p>${intent.provider} holds the price until ${timeOf(new Date(expiresAt))}.</p>`
    : html`<p>
        ${intent.provider} no longer holds the price. It gives a new one when you continue; you see it before
        you pay.
      </p>`;
}

const WAITING = {
  provider: ["Getting ready", "We are checking what the provider needs from you."],
  check: [
    "Checking your details",
    "This usually takes a moment. You can leave this page open or come back later.",
  ],
  review: [
    "We are reviewing your payment",
    "The payment was carried out with another amount than expected. We clear it up with the provider.",
  ],
  payment: ["Preparing your payment", "The payment details are on their way."],
} as const;

function waitingView(shown: PageContext, [title, text]: readonly [string, string]): PageView {
  const content = html`${heading(shown, title)}
    <p>${text}</p>
    ${movement(shown)}
    <p class="live" role="status">Waiting for an update. This page refreshes automatically.</p>
    ${LEAVE}`;
  return { title, content };
}

function payView(shown: PageContext, { transaction }: Stage & { kind: "pay" }): PageView {
  const title = `Send ${formatAmount(shown.intent.srcAmount)} ${shown.currencies.get(shown.intent.src.currencyCode).ticker}`;
  const content = html`${heading(shown, title)}
    ${transaction.instructions.map((instruction, at) => instructionView(shown.url, instruction, at))}
    <p id="copied" class="hint" role="status"></p>
    ${yourPayment(shown, "Pay by")}
    <p class="live" role="status">
      Waiting for your money to arrive and settle. This page refreshes automatically.
    </p>
    ${LEAVE}`;
  return { title, content };
}

/** Title, text and tone. */
const ENDS: Readonly<Record<StageOutcome, readonly [string, string, "good" | "bad" | ""]>> = {
  APPROVED: ["Identity check complete", "Nothing more is needed here.", "good"],
  COMPLETED: ["Payment complete", "The money has arrived and was sent on.", "good"],
  COMPLIANCE_FAILED: ["Identity check not passed", "The payment cannot go on.", "bad"],
  REFUSED: ["Payment not possible", "Please do not send any money for it.", "bad"],
  TRANSACTION_FAILED: ["Payment failed", "The money was not sent on.", "bad"],
  REFUNDED: ["Payment refunded", "The money was sent back.", "bad"],
  EXPIRED: ["Payment expired", "It was not paid in time. Please do not send any money for it.", "bad"],
  CANCELLED: ["Payment cancelled", "Please do not send any money for it.", "bad"],
  DISMISSED: [
    "You have left",
    "Nothing was cancelled: until the payment expires, the same link brings you back to it.",
    "",
  ],
};

function endView(shown: PageContext, outcome: StageOutcome): PageView {
  const [title, text, tone] = ENDS[outcome];
  const url = redirectUrlOf(shown.intent);
  const reason = outcome === "DISMISSED" ? null : shown.intent.failureReason;
  const content = html`${from(shown)}
    <h1 class="${tone}">${title}</h1>
    <p>${outcome === "REFUSED" ? wordsOf(shown.intent.refusal) : ""} ${text}</p>
    ${reason === null ? null : html`<p>${shown.intent.provider} says: ${reason}</p>`} ${movement(shown)}
    ${
      url === null
        ? html`<p>You can close this page.</p>`
        : html`<p>In a moment you are taken back to ${new URL(url).host}.</p>
            <a class="button" href="${url}">Go back now</a>`
    }
    ${outcome === "DISMISSED" ? html`<form method="get"><button class="quiet">Return to the payment</button></form>` : null}`;
  return { title, content };
}

function from({ projectName, intent }: PageContext): Html {
  return html`<p class="from">${projectName}</p>
    ${intent.sandbox ? SANDBOX : null}`;
}

const SANDBOX = html`<p class="note sandbox">
  Sandbox: no real money moves. Enter made-up details only, and send nothing.
</p>`;

function heading(shown: PageContext, title: string): Html {
  return html`${from(shown)}
    <h1>${title}</h1>`;
}

/** Changes nothing: the customer leaves and can come back. */
const LEAVE = html`<form method="get">
  <button class="quiet" name="leave" value="yes">Leave without finishing</button>
</form>`;

function named({ code, ticker, blockchain }: Currency): string {
  return blockchain === null ? code : `${ticker} on ${blockchain.name}`;
}

/** What a payment is about, in a line above what is to be done: on a phone that stands in the first screen. */
function amounts({ intent, currencies }: PageContext): Html {
  const [src, dest] = [intent.src, intent.dest].map((side) => named(currencies.get(side.currencyCode)));
  const { price } = intent;
  const about = price?.hasIndicativePrice ? "about " : "";
  const received = price === null ? "" : `${about}${formatAmount(price.destAmount)} `;
  return html`<p>
    You pay ${formatAmount(intent.srcAmount)} ${src ?? ""} and receive ${received}${dest ?? ""}.
  </p>`;
}

/** The whole of it, below what is to be done. */
function yourPayment(shown: PageContext, deadline: string): Html {
  return html`<h2>Your payment</h2>
    ${movement(shown, deadline)}`;
}

/** What is to be paid, for what, by which provider, and until when where something is to be done. */
function movement({ intent, currencies }: PageContext, deadline: string | null = null): Html {
  const src = currencies.get(intent.src.currencyCode);
  const dest = currencies.get(intent.dest.currencyCode);
  const target = targetOf(intent);
  const received = intent.transaction?.receipt?.amountReceived;
  const amount = received ?? intent.price?.destAmount;
  return html`<dl>
    <div>
      <dt>You pay</dt>
      <dd>${formatAmount(intent.srcAmount)} ${named(src)}</dd>
    </div>
    <div>
      <dt>${received === undefined ? "You receive" : "You received"}</dt>
      <dd>
        ${amount === undefined ? null : `${received === undefined && intent.price?.hasIndicativePrice ? "about " : ""}${formatAmount(amount)} `}${named(dest)}
      </dd>
    </div>
    ${feeLine(intent, currencies)}
    ${refundLines(intent, (sum) => `${formatAmount(sum.text(src.decimals))} ${named(src)}`)}
    ${
      target === null
        ? null
        : html`<div>
            <dt>${intent.type === "ONRAMP" ? "To the wallet" : "To the account"}</dt>
            <dd class="code">${target}</dd>
          </div>`
    }
    <div>
      <dt>By</dt>
      <dd>${intent.type === "ONRAMP" ? `${intent.rail} transfer` : "Crypto transfer"}</dd>
    </div>
    <div>
      <dt>Provider</dt>
      <dd>${intent.provider}</dd>
    </div>
    ${
      deadline === null
        ? null
        : html`<div>
            <dt>${deadline}</dt>
            <dd>${timeOf(intent.transaction?.paymentDueAt ?? intent.expiresAt)}</dd>
          </div>`
    }
  </dl>`;
}

/** What the provider keeps: by its receipt, before by its quote. It is part of what the customer pays. */
function feeLine({ transaction, price }: Intent, currencies: Currencies): Html | null {
  const fees = transaction?.receipt?.fees ?? price?.fees;
  if (fees === undefined) return null;
  const about =
    transaction?.receipt?.fees === undefined && price?.hasIndicativePrice === true ? "about " : "";
  return html`<div>
    <dt>Fees, included</dt>
    <dd>${about}${formatAmount(fees.totalFee)} ${currencies.get(fees.currencyCode).ticker}</dd>
  </div>`;
}

const TIME = new Intl.DateTimeFormat("en", {
  ...{ day: "numeric", month: "long", year: "numeric", hour: "2-digit", minute: "2-digit" },
  ...{ timeZone: "UTC", hourCycle: "h23", timeZoneName: "short" },
});

/** In UTC; the page's script shows it in the customer's time zone. */
function timeOf(time: Date): Html {
  return html`<time datetime="${time.toISOString()}">${TIME.format(time)}</time>`;
}

/** The destination; of a bank account only the last digits, enough for its owner to recognize it. */
function targetOf({ type, dest: { details } }: Intent): string | null {
  const { address, iban, accountNumber, key } = details;
  if (type === "ONRAMP") return typeof address === "string" ? address : null;
  const account = [iban, accountNumber, key].find((value) => typeof value === "string");
  return account === undefined ? null : `•••• ${account.slice(-4)}`;
}
