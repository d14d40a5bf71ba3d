import {
  findingCounts,
  type Finding,
  type FindingSeverity,
  RULE_IDS,
  RULES,
  SEVERITIES,
} from "../lint/finding.js";
import type { LintResult, SuppressedFinding } from "../lint/linter.js";
import { plain, sentence } from "../manifest/strings.js";
import { counted, type Item, OPEN_ITEMS, plainText, type Report, type Section } from "./report.js";

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
  const { error, warning } = findingCounts(findings);
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

const HEADINGS = { error: "Errors", warning: "Warnings" } as const;

/** A section per severity. */
export function sectionsOf<Each extends { readonly severity: FindingSeverity }>(
  findings: readonly Each[],
  itemOf: (finding: Each) => Item,
  open: number,
): readonly Section[] {
  return SEVERITIES.map((severity) => {
    const items = findings.filter((finding) => finding.severity === severity).map(itemOf);
    return { heading: HEADINGS[severity], items, open };
  });
}

function summaryText({ findings, suppressed, endpoints, known, baseline }: LintOutcome): string {
  const { error, warning } = findingCounts(findings);
  const isNew = known === null ? "" : "new ";
  const counts = `${counted(error, `${isNew}error`)}, ${counted(warning, `${isNew}warning`)} in ${counted(endpoints, "endpoint")}`;
  const more = [
    ...(known === null || known === 0 ? [] : [`${String(known)} known from the base`]),
    ...(baseline === 0 ? [] : [`${String(baseline)} accepted by the baseline`]),
    ...(suppressed.length === 0 ? [] : [`${String(suppressed.length)} suppressed`]),
  ];
  return [counts, ...more].join("; ");
}

function lintItem(finding: Finding): Item {
  return findingItem({ id: finding.rule, title: RULES[finding.rule].title }, finding, [finding.path]);
}

/** What `lint` or `verify` found; `place`: where in the model's file. */
export function findingItem(
  rule: Pick<Item, "id" | "title">,
  finding: Omit<Finding, "rule" | "path">,
  place: readonly string[] = [],
): Item {
  const { severity, model, file, owner, endpoint, message, hint } = finding;
  return {
    ...rule,
    level: severity,
    label: severity,
    endpoints: [endpoint ?? model],
    difference: null,
    location: [
      model,
      ...(file === null ? [] : [file]),
      ...place,
      ...(owner === undefined ? [] : [`owner: ${owner}`]),
    ],
    file,
    details: [message, hint],
  };
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
      ...findingCounts(findings),
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

function findingJson({ message, hint, rule, severity, model, file, owner, endpoint, path }: Finding) {
  const where = { model, file, ...(owner !== undefined && { owner }), endpoint, path };
  return { rule, severity, ...where, message: plainText(message), hint: plainText(hint) };
}
