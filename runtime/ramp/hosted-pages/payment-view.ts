import type { Currency } from "../accounts/currency.js";
import type { Intent } from "../intents/intent.js";
import type { Instruction } from "../providers/protocol.js";
import { humanize } from "./form.js";
import { type Html, html } from "./layout.js";

export type CurrencyOf = (code: string) => Currency;

function named({ code, ticker, blockchain }: Currency): string {
  return blockchain === null ? code : `${ticker} on ${blockchain.name}`;
}

/** What is to be paid, for what, by which provider. */
export function movementView(intent: Intent, currencyOf: CurrencyOf): Html {
  const src = currencyOf(intent.src.currencyCode);
  const dest = currencyOf(intent.dest.currencyCode);
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
  </dl>`;
}

/** Where the money goes. Of a bank account only as much as its owner needs to recognize it. */
function targetOf({ type, dest: { details } }: Intent): string | null {
  const { address, iban, accountNumber, key } = details;
  if (type === "ONRAMP") return typeof address === "string" ? address : null;
  const account = [iban, accountNumber, key].find((value) => typeof value === "string");
  return account === undefined ? null : `•••• ${account.slice(-4)}`;
}

/** The parts that are known, in the order in which they are needed; others come after them, under their own names. */
const PARTS: ReadonlyMap<string, string> = new Map([
  ["amount", "Amount"],
  ["beneficiary", "Beneficiary"],
  ["bankName", "Bank"],
  ["routingNumber", "Routing number"],
  ["accountNumber", "Account number"],
  ["iban", "IBAN"],
  ["bic", "BIC"],
  ["key", "PIX key"],
  ["address", "Address"],
  ["chain", "Network"],
  ["reference", "Reference"],
  ["rail", "Transfer by"],
]);
const ORDER = [...PARTS.keys()];

function partsOf(details: Readonly<Record<string, string>>): readonly (readonly [string, string])[] {
  const placeOf = (name: string): number => (PARTS.has(name) ? ORDER.indexOf(name) : ORDER.length);
  return Object.entries(details).sort(([left], [right]) => placeOf(left) - placeOf(right));
}

/** An amount without trailing zeros, but with at least two of its decimals. */
export function formatAmount(amount: string): string {
  return amount.replace(/(\.\d{2}\d*?)0+$/, "$1");
}

/** How to hand the money over, with a button to copy each part of it. */
export function instructionView(instruction: Instruction, serial: number): Html {
  const { currency, ...details } = instruction.details;
  const rows = partsOf(details).map(([name, value], at) => {
    const label = PARTS.get(name) ?? humanize(name);
    const shown = name === "amount" && currency !== undefined ? `${formatAmount(value)} ${currency}` : value;
    const id = `detail-${String(serial)}-${String(at)}`;
    return html`<div>
      <dt>${label}</dt>
      <dd>
        <span class="code" id="${id}">${shown}</span>
        <button
          type="button"
          class="copy"
          hidden
          data-copy="${value}"
          data-from="${id}"
          data-label="${label}"
          aria-label="Copy ${label}"
        >
          Copy
        </button>
      </dd>
    </div>`;
  });
  return html`<h2>${instruction.type === "BANK" ? "Bank transfer" : "Crypto transfer"}</h2>
    <p class="note">${adviceOf(instruction)}</p>
    <dl class="parts">${rows}</dl>`;
}

function adviceOf({ type, details }: Instruction): string {
  const { currency, chain } = details;
  switch (type) {
    case "BANK":
      return "Send exactly this amount from an account in your own name, with the reference: the provider matches your payment by it.";
    case "CRYPTO":
      return `Send ${currency ?? "the currency named here"} on ${chain ?? "the network named here"} only. Another currency, or another network, is lost.`;
  }
}
