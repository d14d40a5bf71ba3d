import { countsOf, FINDING_SEVERITIES } from "../report/finding.js";
import { findingItem, sectionsOf } from "../report/finding-items.js";
import { type ModelFinding, RULE_IDS, RULES } from "./checks.js";
import type { LintResult, SuppressedFinding } from "./linter.js";
import { plain, sentence } from "../manifest/strings.js";
import { counted, type Item, OPEN_ITEMS, plainText, type Report } from "../report/report.js";

/** A lint run with its outcome. */
export interface LintOutcome extends LintResult {
  readonly failed: boolean;
  /** How many findings the base has too; null when the run was not compared with one. */
  readonly known: number | null;
  /** How many findings the baseline accepts. */
  readonly baseline: number;
}

export function lintReport(result: LintOutcome): Report {
  const { findings, suppressed, failed } = result;
  const { error, warning } = countsOf(FINDING_SEVERITIES, findings);
  const causes = [
    ...(error === 0 ? [] : [counted(error, "error")]),
    ...(warning === 0 ? [] : [counted(warning, "warning")]),
  ];
  return {
    title: "API lint",
    verdict: failed ? `fails, ${causes.join(", ")}` : findings.length === 0 ? "passes, no finding" : "passes",
    summary: plain(summaryText(result)),
    notes: [],
    sections: [
      ...sectionsOf(findings, lintItem, OPEN_ITEMS),
      { heading: "Suppressed", items: suppressed.map(suppressedItem), open: 0 },
    ],
    blocks: [],
    json: jsonOf(result),
  };
}

function summaryText({ findings, suppressed, endpoints, known, baseline }: LintOutcome): string {
  const { error, warning } = countsOf(FINDING_SEVERITIES, findings);
  const isNew = known === null ? "" : "new ";
  const counts = `${counted(error, `${isNew}error`)}, ${counted(warning, `${isNew}warning`)} in ${counted(endpoints, "endpoint")}`;
  const more = [
    ...(known === null || known === 0 ? [] : [`${String(known)} known from the base`]),
    ...(baseline === 0 ? [] : [`${String(baseline)} accepted by the baseline`]),
    ...(suppressed.length === 0 ? [] : [`${String(suppressed.length)} suppressed`]),
  ];
  return [counts, ...more].join("; ");
}

function lintItem(finding: ModelFinding): Item {
  return findingItem({ id: finding.rule, title: RULES[finding.rule].title }, finding, [finding.path]);
}

function suppressedItem(finding: SuppressedFinding): Item {
  const item = lintItem(finding);
  return { ...item, level: "notice", label: "suppressed", details: [sentence`Reason: ${finding.reason}`] };
}

function jsonOf({ findings, suppressed, endpoints, skipped, failed, known, baseline }: LintOutcome): unknown {
  const counts = RULE_IDS.map((id) => [id, findings.filter(({ rule }) => rule === id).length] as const);
  return {
    version: 2,
    failed,
    summary: {
      ...countsOf(FINDING_SEVERITIES, findings),
      suppressed: suppressed.length,
      known,
      baseline,
      endpoints,
      skipped,
    },
    rules: Object.fromEntries(counts.filter(([, count]) => count > 0)),
    findings: findings.map(findingJson),
    suppressed: suppressed.map((finding) => ({ ...findingJson(finding), reason: finding.reason })),
  };
}

function findingJson({ message, hint, rule, severity, model, file, owner, endpoint, path }: ModelFinding) {
  const where = { model, file, ...(owner !== undefined && { owner }), endpoint, path };
  return { rule, severity, ...where, message: plainText(message), hint: plainText(hint) };
}
