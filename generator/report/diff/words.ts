import { MAX_SHOWN } from "../one-line.js";
import type { Quote } from "../sentence.js";
import type { AcceptEntry } from "../../diff/accept.js";
import type { Change, ChangeKind, Severity } from "../../diff/change.js";
import { countsOf, type StaleEntry } from "../../diff/judgement.js";
import type { Report } from "./report.js";

/** Of what two texts have in common, this much is shown before they part. */
const LEAD = 40;

/** Long texts that begin alike, from a little before they part, so that what is shown differs. */
function fromWhereTheyPart(before: string, after: string): readonly [string, string] {
  let common = 0;
  while (common < before.length && before[common] === after[common]) common++;
  const from = Math.max(before.length, after.length) > MAX_SHOWN ? common - LEAD : 0;
  return from <= 0 ? [before, after] : [`…${before.slice(from)}`, `…${after.slice(from)}`];
}

/** Kinds whose values only repeat the endpoint or the subject. */
const TOLD_BY_NAME: ReadonlySet<ChangeKind> = new Set([
  "endpoint-removed",
  "endpoint-retired",
  "endpoint-added",
  "method-removed",
  "method-added",
  "sortable-field-removed",
  "sortable-field-added",
]);

/**
 * Before → after, behind the name of what it is about: `value: UInt32 → UInt64`, `value: was UInt64`, `value: now
 * UInt64`. Empty where the change's kind and endpoint say all there is.
 */
export function differenceText({ kind, subject, before, after }: Change, quote: Quote): string {
  const name = subject === null || kind === "parameter-renamed" ? "" : quote(subject);
  const values = TOLD_BY_NAME.has(kind) ? "" : valuesText(before, after, quote);
  return [name, values].filter((part) => part !== "").join(": ");
}

function valuesText(before: string | null, after: string | null, quote: Quote): string {
  if (before !== null && after !== null) return fromWhereTheyPart(before, after).map(quote).join(" → ");
  if (before !== null) return `was ${quote(before)}`;
  return after === null ? "" : `now ${quote(after)}`;
}

/** The reason of an accepted change, and how long it holds. */
export function groundsText({ reason, expires }: AcceptEntry, quote: Quote): string {
  return expires === null ? quote(reason) : `${quote(reason)} (until ${expires})`;
}

/** `tier1, api_volume_daily, models/api_volume_daily.sql`. */
export function placeText({ tier, model, file }: Change, quote: Quote): string {
  return [tier, quote(model), ...(file === null ? [] : [quote(file)])].join(", ");
}

/** `2 breaking, 1 warning, 3 compatible`, and what the accept file adds to it. */
export function summaryText(report: Report): string {
  const { breaking, warning, compatible } = countsOf(report);
  const { accepted, stale } = report;
  const counts = [
    `${String(breaking)} breaking`,
    `${String(warning)} ${warning === 1 ? "warning" : "warnings"}`,
    `${String(compatible)} compatible`,
    ...(accepted.length === 0 ? [] : [`${String(accepted.length)} accepted`]),
    ...(stale.length === 0
      ? []
      : [`${String(stale.length)} stale ${stale.length === 1 ? "entry" : "entries"} in the accept file`]),
  ];
  return counts.join(", ");
}

export const HEADINGS = {
  breaking: "Breaking",
  warning: "Warnings",
  compatible: "Compatible",
} as const satisfies Record<Severity, string>;

/** Why an entry of the accept file should go. */
export function staleText({ entry, why }: StaleEntry): string {
  switch (why) {
    case "unmatched":
      return "There is no such change any more: delete the entry.";
    case "expired":
      return `It expired on ${entry.expires ?? ""}: undo the change, or agree on a new date.`;
  }
}
