import type { Intent } from "../intent/intent.js";
import type { Ending } from "./ending.js";
import { fieldsOf } from "./form.js";
import { errorSummary, fieldViews, type FormState } from "./form-view.js";
import { type Html, html } from "./html.js";
import { type CurrencyOf, instructionView, movementView, shownAmount } from "./payment-view.js";
import type { Outcome, Stage } from "./stage.js";

/** All that a page says of an intent. */
export interface Shown {
  readonly intent: Intent;
  readonly projectName: string;
  readonly currencyOf: CurrencyOf;
  /** Proves that a form was made here, for this link. */
  readonly formToken: string;
}

export interface View {
  readonly title: string;
  readonly content: Html;
}

export function formView(shown: Shown, stage: Stage & { kind: "form" }, state: FormState): View {
  const { code, title, form } = stage.requirement;
  const fields = fieldsOf(form);
  const content = html`${heading(shown, title)} ${errorSummary(fields, state)} ${movement(shown)}
    <h2>About you</h2>
    <p>${shown.intent.provider} has to know who you are before it may move the money.</p>
    <form method="post" novalidate>
      ${hidden(shown, "submit")}
      <input type="hidden" name="requirement" value="${code}" />
      ${fieldViews(fields, state)}
      <button>Continue</button>
    </form>
    ${LEAVE}`;
  return { title: state.errors.size > 0 ? `Error: ${title}` : title, content };
}

export function confirmView(shown: Shown): View {
  const title = "Ready to pay";
  const content = html`${heading(shown, title)}
    <p>Nothing more is needed from you. Go on to see how to send the money.</p>
    ${movement(shown)}
    <form method="post">
      ${hidden(shown, "execute")}
      <button>Continue to payment</button>
    </form>
    ${LEAVE}`;
  return { title, content };
}

const WAITING = {
  provider: ["Getting ready", "The provider is being asked what it needs from you."],
  check: [
    "Checking your details",
    "This often takes moments only. You may leave this page open, or come back later.",
  ],
  payment: ["Preparing your payment", "The payment details are on their way."],
} as const;

export function waitingView(shown: Shown, stage: Stage & { kind: "waiting" }): View {
  const [title, text] = WAITING[stage.for];
  const content = html`${heading(shown, title)}
    <p>${text}</p>
    ${movement(shown)}
    <p class="live" role="status">Waiting for news. This page follows by itself.</p>
    ${LEAVE}`;
  return { title, content };
}

export function payView(shown: Shown, { transaction }: Stage & { kind: "pay" }): View {
  const title = `Send ${shownAmount(shown.intent.srcAmount)} ${shown.currencyOf(shown.intent.src.currencyCode).ticker}`;
  const content = html`${heading(shown, title)} ${transaction.instructions.map(instructionView)}
    <p id="copied" class="hint" role="status"></p>
    <h2>Your payment</h2>
    ${movement(shown)}
    <p class="live" role="status">
      Waiting for your money to arrive and settle. This page follows by itself.
    </p>
    ${LEAVE}`;
  return { title, content };
}

const ENDS: Readonly<
  Record<Outcome, { readonly title: string; readonly text: string; readonly tone: "good" | "bad" | "" }>
> = {
  APPROVED: { title: "Identity check complete", text: "Nothing more is needed here.", tone: "good" },
  COMPLETED: { title: "Payment complete", text: "The money has arrived and been passed on.", tone: "good" },
  COMPLIANCE_FAILED: { title: "Identity check not passed", text: "The payment cannot go on.", tone: "bad" },
  TRANSACTION_FAILED: { title: "Payment failed", text: "The money was not passed on.", tone: "bad" },
  EXPIRED: {
    title: "Payment expired",
    text: "Its time is over. Please do not send any money for it.",
    tone: "bad",
  },
  CANCELLED: { title: "Payment cancelled", text: "Please do not send any money for it.", tone: "bad" },
  DISMISSED: {
    title: "You have left",
    text: "Nothing was cancelled: until the payment expires, the same link brings you back to it.",
    tone: "",
  },
};

export function endView(shown: Shown, outcome: Outcome, { url }: Ending): View {
  const { title, text, tone } = ENDS[outcome];
  const reason = outcome === "DISMISSED" ? null : shown.intent.failureReason;
  const content = html`${from(shown)}
    <h1 class="${tone}">${title}</h1>
    <p>${text}</p>
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

/** A page that has nothing to show but why. */
export function problemView(title: string, text: string): View {
  return {
    title,
    content: html`<h1>${title}</h1>
      <p>${text}</p>`,
  };
}

function from({ projectName }: Shown): Html {
  return html`<p class="from">${projectName}</p>`;
}

function heading(shown: Shown, title: string): Html {
  return html`${from(shown)}
    <h1>${title}</h1>`;
}

function movement({ intent, currencyOf }: Shown): Html {
  return movementView(intent, currencyOf);
}

function hidden({ formToken }: Shown, action: string): Html {
  return html`<input type="hidden" name="form" value="${formToken}" /><input
      type="hidden"
      name="action"
      value="${action}"
    />`;
}

/** Changes nothing: the customer turns away and may come back. */
const LEAVE = html`<form method="get">
  <button class="quiet" name="leave" value="yes">Leave without finishing</button>
</form>`;
