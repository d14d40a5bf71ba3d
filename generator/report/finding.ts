import type { Sentence } from "../manifest/strings.js";

/** All severities, most serious first: the one order of every report. */
const SEVERITIES = ["exposing", "breaking", "error", "warning", "compatible"] as const;
export type Severity = (typeof SEVERITIES)[number];

/** Severities of `lint` and `verify`. */
export const FINDING_SEVERITIES = ["error", "warning"] as const;
export type FindingSeverity = (typeof FINDING_SEVERITIES)[number];

/** Findings that fail a run of `lint` or `verify`. */
export const FAIL_ON = ["error", "warning", "none"] as const;
export type FailOn = (typeof FAIL_ON)[number];

/** What can be found: its default severity, its name for people, and why it matters. */
export interface Rule<Each extends Severity = Severity> {
  readonly severity: Each | "off";
  readonly title: string;
  readonly reason: string;
}

/** Makes rules of one severity; those that are `off` a project turns on. */
export function ruleOf<Each extends Severity | "off">(severity: Each) {
  return (title: string, reason: string) => ({ severity, title, reason });
}

export const error = ruleOf("error");
export const warning = ruleOf("warning");

/** Severities that a repository chooses; `off` turns a rule off everywhere. */
export type Severities<Id extends string, Each extends Severity> = Readonly<
  Partial<Record<Id, Each | "off">>
>;

/** The severity of a rule that is in force; null where it is off. */
export function severityOf<Id extends string, Each extends Severity>(
  rules: Readonly<Record<Id, Rule<Each>>>,
  rule: Id,
  severities?: Severities<Id, Each>,
): Each | null {
  const severity: Each | "off" = severities?.[rule] ?? rules[rule].severity;
  return severity === "off" ? null : severity;
}

/** Where something is found. */
export interface FindingPlace {
  /** The endpoint's path; null for a model without one. */
  readonly endpoint: string | null;
  /** dbt's `unique_id`, or the model's name. */
  readonly model: string;
  /** The model's file in its dbt project; null where the manifest does not name it. */
  readonly file: string | null;
  /** Who answers for the model; absent without an owner. */
  readonly owner?: string;
}

/** What a rule finds. */
export interface Finding<Id extends string = string> extends FindingPlace {
  readonly rule: Id;
  readonly severity: FindingSeverity;
  /** What is wrong, and why that matters to consumers. */
  readonly message: Sentence;
  /** How to fix it. */
  readonly hint: Sentence;
}

interface Rated {
  readonly severity: Severity;
}

/** Most serious first. */
export function bySeverity(a: Rated, b: Rated): number {
  return SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity);
}

/** How many there are of each of these severities. */
export function countsOf<Each extends Severity>(
  severities: readonly Each[],
  found: readonly Rated[],
): Readonly<Record<Each, number>> {
  const counts = severities.map((each) => [each, found.filter(({ severity }) => severity === each).length]);
  return Object.fromEntries(counts) as Record<Each, number>;
}

/** Whether findings fail a run. */
export function shouldFail(findings: readonly Rated[], failOn: FailOn): boolean {
  if (failOn === "none") return false;
  return findings.some(({ severity }) => severity === "error" || failOn === "warning");
}
