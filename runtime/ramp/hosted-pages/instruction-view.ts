import type { Instruction } from "../providers/protocol.js";
import { type Html, html } from "@routewright/runtime/internal/core/http/html.js";
import { humanize } from "../providers/form.js";
import { withReturn } from "./stage.js";

/** The way to a page of the provider's own, and back. */
export function elsewhere(returnUrl: string, url: string): Html {
  return html`<a class="button" href="${withReturn(url, returnUrl)}" rel="noreferrer" data-elsewhere
    >Continue at ${/^\w+:\/\/([^/?#]*)/.exec(url)?.[1] ?? ""}</a
  >`;
}

/** An amount without trailing zeros, but with at least two of its decimals. */
export function formatAmount(amount: string): string {
  return amount.replace(/(\.\d{2}\d*?)0+$/, "$1");
}

/** Labels of the known parts, in display order; other parts follow under their own names. */
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

/** Payment instructions, with a button to copy each part. */
export function instructionView(returnUrl: string, instruction: Instruction, serial: number): Html {
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
  const title = instruction.type === "BANK" ? "Bank transfer" : "Crypto transfer";
  const { url } = instruction;
  return html`<h2>${url === undefined ? title : "Pay on the provider's page"}</h2>
    ${url === undefined ? html`<p class="note">${adviceOf(instruction)}</p>` : elsewhere(returnUrl, url)}
    ${rows.length === 0 ? null : html`<dl class="parts">${rows}</dl>`}`;
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
