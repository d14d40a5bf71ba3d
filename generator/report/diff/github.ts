import { oneLine } from "../one-line.js";
import { annotation, type AnnotationLevel } from "../workflow-command.js";
import { type Change, KINDS, type Severity, severityOf } from "../../diff/change.js";
import type { Accepted, StaleEntry } from "../../diff/judgement.js";
import type { Report } from "./report.js";
import { differenceText, groundsText, placeText, staleText, summaryText } from "./words.js";

const COMMANDS = {
  breaking: "error",
  warning: "warning",
  compatible: "notice",
} as const satisfies Record<Severity, AnnotationLevel>;

/**
 * The report as commands of GitHub's workflows, which show each change at its model's file. GitHub keeps ten of each
 * level per step: the most serious come first, and the last line, for the log, sums up.
 */
export function githubReport(report: Report): string {
  const lines = [
    ...report.open.map(changeCommand),
    ...report.accepted.map(acceptedCommand),
    ...report.stale.map((stale) => staleCommand(stale, report.acceptFile)),
    `${summaryText(report)}: from ${oneLine(report.base)} to ${oneLine(report.head)}`,
  ];
  return `${lines.join("\n")}\n`;
}

function changeCommand(change: Change): string {
  return annotation(COMMANDS[severityOf(change)], change.file, titleOf(change), changeMessage(change));
}

function acceptedCommand({ change, entry }: Accepted): string {
  const message = `${changeMessage(change)}\nAccepted: ${groundsText(entry, oneLine)}`;
  return annotation("notice", change.file, titleOf(change), message);
}

function staleCommand(stale: StaleEntry, file: string | null): string {
  return annotation("error", file, `Stale accept entry: ${titleOf(stale.entry)}`, staleText(stale));
}

function titleOf({ kind, endpoint }: Pick<Change, "kind" | "endpoint">): string {
  return `${KINDS[kind].title}: ${oneLine(endpoint)}`;
}

function changeMessage(change: Change): string {
  const difference = differenceText(change, oneLine);
  const place = `(${placeText(change, oneLine)})`;
  const details = change.details.map(oneLine);
  return [difference === "" ? place : `${difference} ${place}`, ...details].join("\n");
}
