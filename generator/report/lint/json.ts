import { jsonText } from "../../render/openapi/json-text.js";
import { countsOf, type Finding, RULE_IDS, severityOf } from "../../lint/finding.js";
import type { LintResult } from "../../lint/lint.js";
import { plainText } from "./words.js";

/** The report for programs; `REPORT_SCHEMA` describes it. */
export function jsonReport({ findings, suppressed, unchecked, endpoints, skipped }: LintResult): string {
  return `${jsonText({
    version: 1,
    summary: { ...countsOf(findings), suppressed: suppressed.length, endpoints, skipped },
    rules: ruleCounts(findings),
    findings: findings.map(findingJson),
    suppressed: suppressed.map((finding) => ({ ...findingJson(finding), reason: finding.reason })),
    unchecked: unchecked.map(({ rule, why }) => ({ rule, why })),
  })}\n`;
}

/** Findings by rule, rules without any left out. */
function ruleCounts(findings: readonly Finding[]): Readonly<Record<string, number>> {
  const counts = RULE_IDS.map((id) => [id, findings.filter(({ rule }) => rule === id).length] as const);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

function findingJson(finding: Finding) {
  const { rule, model, file, endpoint, path, message, hint } = finding;
  const severity = severityOf(finding);
  const texts = { message: plainText(message), hint: plainText(hint) };
  return { rule, severity, model, file, endpoint, path, ...texts };
}
