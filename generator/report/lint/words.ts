import { oneLine } from "../one-line.js";
import { type Sentence, sentenceText } from "../sentence.js";
import { countsOf, type Finding } from "../../lint/finding.js";
import type { LintResult, Unchecked } from "../../lint/lint.js";

/** A sentence for a terminal or a program: names in quotation marks, and on one line. */
export function plainText(sentence: Sentence): string {
  return sentenceText(sentence, (name) => `"${oneLine(name)}"`);
}

/** `1 error, 2 warnings, 0 notices in 28 endpoints`, and what was turned off. */
export function summaryText({ findings, suppressed, endpoints }: LintResult): string {
  const { error, warning, notice } = countsOf(findings);
  const counts = [counted(error, "error"), counted(warning, "warning"), counted(notice, "notice")];
  const off = suppressed.length === 0 ? "" : `; ${String(suppressed.length)} turned off`;
  return `${counts.join(", ")} in ${counted(endpoints, "endpoint")}${off}`;
}

export function counted(count: number, word: string): string {
  return `${String(count)} ${word}${count === 1 ? "" : "s"}`;
}

/** The endpoint, or for a model without one the model. */
export function subjectOf({ endpoint, model }: Finding): string {
  return endpoint ?? model;
}

/** What was left out of a run, for people. */
export function notesOf({ unchecked, skipped }: LintResult): readonly string[] {
  const left = skipped === 1 ? "1 model is tagged" : `${String(skipped)} models are tagged`;
  return [
    ...unchecked.map(uncheckedText),
    ...(skipped === 0
      ? []
      : [`${left} for the API without an endpoint and not looked at: \`routewright generate\` tells why.`]),
  ];
}

function uncheckedText({ rule, why }: Unchecked): string {
  return `${rule} was not checked: ${why}.`;
}
