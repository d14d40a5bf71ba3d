import type { Tier } from "@routewright/runtime/model";
import type { CatalogueEntry } from "../catalogue/catalogue.js";
import { byText } from "../manifest/json.js";
import type { Ancestor, Node, Project } from "./project.js";
import type { Sentence } from "./sentence.js";

/** Severities of findings, most serious first. */
export const SEVERITIES = ["error", "warning"] as const;
export type FindingSeverity = (typeof SEVERITIES)[number];

/** Findings that fail a run. Loaded by the command line, so it imports no more than it needs. */
export const FAIL_ON = ["error", "warning", "none"] as const;
export type LintFailOn = (typeof FAIL_ON)[number];

/** A rule's default severity, its name for people, and why it matters. */
export interface RuleInfo {
  readonly severity: FindingSeverity;
  readonly title: string;
  readonly reason: string;
}

/** Rules that a model or the config file can turn off (generator/README.md, Lint). */
export const CHECKS = {
  "private-data": {
    severity: "error",
    title: "Private data below its tier",
    reason: "Callers read what the project marks as private.",
  },
  "private-access": {
    severity: "error",
    title: "Private model published",
    reason: "`access: private` says that nobody outside its group may use the model.",
  },
  "missing-tier-tag": {
    severity: "warning",
    title: "No tier tag",
    reason: "The endpoint is open to everybody because nobody decided.",
  },
  "category-typo": {
    severity: "warning",
    title: "Category looks misspelt",
    reason: "A path is a promise: correcting it later breaks consumers.",
  },
  "higher-tier-data": {
    severity: "warning",
    title: "Data of a higher tier",
    reason: "Lower-tier callers can read data of a higher tier.",
  },
  "view-on-table": {
    severity: "warning",
    title: "View on a table that dbt replaces",
    reason: "dbt drops the view when it rebuilds the table; until it rebuilds the view, requests fail.",
  },
  "unstable-pagination": {
    severity: "warning",
    title: "Pages without a total order",
    reason: "A caller who follows `offset` gets some rows twice and others never.",
  },
  "unlimited-response": {
    severity: "warning",
    title: "Whole table in one response",
    reason: "The response grows with the table until clients time out.",
  },
  "unindexed-column": {
    severity: "warning",
    title: "Filter or sort without an index",
    reason: "Each request reads the whole table.",
  },
  "zoneless-timestamp": {
    severity: "warning",
    title: "Timestamp without a time zone",
    reason: "It is served as UTC, which may not be what it means.",
  },
  "untyped-column": {
    severity: "warning",
    title: "Columns without a type",
    reason: "OpenAPI and typed clients know nothing about the values.",
  },
  "undescribed-parameter": {
    severity: "warning",
    title: "Parameter without a description",
    reason: "Callers see its name and type only.",
  },
} as const satisfies Readonly<Record<string, RuleInfo>>;

export type CheckId = keyof typeof CHECKS;

/** All rules: the checks, and how a model turns them off. */
export const RULES = {
  ...CHECKS,
  "invalid-suppression": {
    severity: "error",
    title: "Invalid suppression",
    reason: "The rule stays on, against what the model says.",
  },
  "unused-suppression": {
    severity: "warning",
    title: "Unused suppression",
    reason: "It would hide the next finding of the rule.",
  },
} as const satisfies Readonly<Record<string, RuleInfo>>;

export type RuleId = keyof typeof RULES;
export const CHECK_IDS = Object.keys(CHECKS) as readonly CheckId[];
export const RULE_IDS = Object.keys(RULES) as readonly RuleId[];

export function isCheckId(text: string): text is CheckId {
  return Object.hasOwn(CHECKS, text);
}

/** Severities that a repository chooses; `off` turns a rule off everywhere. */
export type RuleSeverities = Readonly<Partial<Record<RuleId, FindingSeverity | "off">>>;

/** What a rule finds in one model. */
export interface Finding {
  readonly rule: RuleId;
  readonly severity: FindingSeverity;
  /** dbt's `unique_id`. */
  readonly model: string;
  /** The model's file in its dbt project; null where the manifest does not name it. */
  readonly file: string | null;
  /** The endpoint's path; null for a model without one. */
  readonly endpoint: string | null;
  /** Where in the model's node, as a JSON path. */
  readonly path: string;
  /** What is wrong, and why that matters to consumers. */
  readonly message: Sentence;
  /** How to fix it. */
  readonly hint: Sentence;
}

/** What a check says of an endpoint: a finding without its rule and model. */
export type Remark = Pick<Finding, "path" | "message" | "hint">;

/** An endpoint with what stands behind it. */
export interface Subject {
  readonly entry: CatalogueEntry;
  readonly node: Node;
  /** Everything that feeds it, nearest first. */
  readonly ancestors: readonly Ancestor[];
  /** Where its `meta.api` is in the node, as a JSON path. */
  readonly apiPath: string;
  /** How many endpoints each category of the catalogue has. */
  readonly categories: ReadonlyMap<string, number>;
}

/** Settings of a run. */
export interface Context {
  readonly project: Project;
  /** Tier of an API model whose tags name none. */
  readonly defaultTier: Tier;
  /** Keys of a `meta` that mark data as private. */
  readonly privateKeys: readonly string[];
  readonly severities?: RuleSeverities;
}

export interface Check {
  readonly find: (subject: Subject, context: Context) => readonly Remark[];
  /** Why the check cannot judge this project; null, or left out, when it can. */
  readonly skipReason?: (project: Project) => string | null;
}

/** Errors first; each by rule, endpoint and model. Findings of one rule and model keep their order. */
export function inOrder(a: Finding, b: Finding): number {
  return (
    SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
    RULE_IDS.indexOf(a.rule) - RULE_IDS.indexOf(b.rule) ||
    byText(a.endpoint ?? "", b.endpoint ?? "") ||
    byText(a.model, b.model)
  );
}

/** How many findings there are of each severity. */
export function countsOf(findings: readonly Finding[]): Readonly<Record<FindingSeverity, number>> {
  const errors = findings.filter(({ severity }) => severity === "error").length;
  return { error: errors, warning: findings.length - errors };
}

/** Whether the findings fail a run. */
export function shouldFail(findings: readonly Finding[], failOn: LintFailOn): boolean {
  const { error, warning } = countsOf(findings);
  switch (failOn) {
    case "error":
      return error > 0;
    case "warning":
      return error + warning > 0;
    case "none":
      return false;
  }
}
