import { oneLine } from "../one-line.js";
import { type Change, severityOf } from "../../diff/change.js";
import type { Accepted, StaleEntry } from "../../diff/judgement.js";
import type { Report } from "./report.js";
import { differenceText, groundsText, placeText, staleText, summaryText } from "./words.js";

/** The report for a terminal: a line per change, then one that sums up. */
export function textReport(report: Report): string {
  const lines = [
    ...report.open.flatMap((change) => changeLines(severityOf(change), change)),
    ...report.accepted.flatMap(acceptedLines),
    ...report.stale.flatMap(staleLines),
    `${summaryText(report)}: from ${oneLine(report.base)} to ${oneLine(report.head)}`,
  ];
  return `${lines.join("\n")}\n`;
}

/** Wide enough for `compatible`, the longest word in front of a line. */
const MARGIN = 12;

function changeLines(word: string, change: Change): string[] {
  const difference = differenceText(change, oneLine);
  const parts = [change.kind, oneLine(change.endpoint), ...(difference === "" ? [] : [difference])];
  return [
    `${word.padEnd(MARGIN)}${parts.join("  ")}  (${placeText(change, oneLine)})`,
    ...change.details.map((detail) => `${" ".repeat(MARGIN + 2)}${oneLine(detail)}`),
  ];
}

function acceptedLines({ change, entry }: Accepted): string[] {
  const [line = ""] = changeLines("accepted", change);
  return [line, `${" ".repeat(MARGIN + 2)}${groundsText(entry, oneLine)}`];
}

function staleLines(stale: StaleEntry): string[] {
  const { kind, endpoint, reason } = stale.entry;
  return [
    `${"stale".padEnd(MARGIN)}${kind}  ${oneLine(endpoint)}  ${oneLine(reason)}`,
    `${" ".repeat(MARGIN + 2)}${staleText(stale)}`,
  ];
}
