import { byText } from "../manifest/json.js";
import type { Sentence } from "../report/sentence.js";
import type { FailOn } from "./options.js";

/** How much a finding concerns consumers: data that they should not get, calls that go wrong or slow, rough edges. */
export type Severity = "error" | "warning" | "notice";

/** In the order in which findings are told. */
export const SEVERITIES = ["error", "warning", "notice"] as const satisfies readonly Severity[];

/** What is looked for in an endpoint. A new one is added here, and the build names what must handle it. */
export type CheckId =
  | "private-data"
  | "higher-tier-data"
  | "unstable-pagination"
  | "unlimited-response"
  | "unindexed-column"
  | "untyped-column"
  | "undescribed-parameter";

/** What a finding can be of: a check, or how a model turns checks off. */
export type RuleId = CheckId | "invalid-suppression" | "stale-suppression";

/** How serious a rule is, and its name for people. */
export const RULES: Readonly<Record<RuleId, { readonly severity: Severity; readonly title: string }>> = {
  "private-data": { severity: "error", title: "Private data below its tier" },
  "invalid-suppression": { severity: "error", title: "Rule turned off wrongly" },
  "higher-tier-data": { severity: "warning", title: "Data of a higher tier" },
  "unstable-pagination": { severity: "warning", title: "Pages without a total order" },
  "unlimited-response": { severity: "warning", title: "Whole table in one response" },
  "unindexed-column": { severity: "warning", title: "Filter or sort without an index" },
  "untyped-column": { severity: "warning", title: "Columns without a type" },
  "stale-suppression": { severity: "warning", title: "Rule turned off in vain" },
  "undescribed-parameter": { severity: "notice", title: "Parameter without a description" },
};

/** All rules, in the order of the table: that of their severities. */
export const RULE_IDS = Object.keys(RULES) as readonly RuleId[];

/** What a rule finds in one model. */
export interface Finding {
  readonly rule: RuleId;
  /** dbt's `unique_id`. */
  readonly model: string;
  /** The model's file in its dbt project; null where the manifest does not tell. */
  readonly file: string | null;
  /** The endpoint's path; null for a model without one. */
  readonly endpoint: string | null;
  /** Where in the model's node, as a JSON path. */
  readonly path: string;
  /** What is wrong, and why that matters to consumers. */
  readonly message: Sentence;
  /** What to do about it. */
  readonly hint: Sentence;
}

export function severityOf({ rule }: { readonly rule: RuleId }): Severity {
  return RULES[rule].severity;
}

/** Errors first, then warnings, then notices; each by rule, endpoint and model. Those of one rule and model keep their order. */
export function inOrder(a: Finding, b: Finding): number {
  return (
    RULE_IDS.indexOf(a.rule) - RULE_IDS.indexOf(b.rule) ||
    byText(a.endpoint ?? "", b.endpoint ?? "") ||
    byText(a.model, b.model)
  );
}

/** How many findings there are of each severity. */
export function countsOf(findings: readonly Finding[]): Readonly<Record<Severity, number>> {
  const count = (severity: Severity): number =>
    findings.filter((finding) => severityOf(finding) === severity).length;
  return { error: count("error"), warning: count("warning"), notice: count("notice") };
}

/** Whether the findings fail a run. */
export function crosses(findings: readonly Finding[], failOn: FailOn): boolean {
  const { error, warning, notice } = countsOf(findings);
  switch (failOn) {
    case "error":
      return error > 0;
    case "warning":
      return error + warning > 0;
    case "any":
      return error + warning + notice > 0;
    case "none":
      return false;
  }
}
