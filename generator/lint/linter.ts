import { catalogueOf, withServedEngine } from "../catalogue/build.js";
import type { CatalogueEntry, Skipped } from "../catalogue/catalogue.js";
import type { Manifest } from "../manifest/manifest.js";
import type { Model } from "../manifest/model.js";
import { sentence } from "../manifest/strings.js";
import {
  type Check,
  CHECK_IDS,
  type CheckId,
  type ModelFinding,
  inOrder,
  type LintContext,
  type LintSettings,
  type LintedEndpoint,
  type RuleId,
  ruleSeverity,
  type LintViolation,
  violation,
} from "./checks.js";
import type { FindingPlace } from "../report/finding.js";
import { ancestorsOf, type Node, projectOf } from "./dbt-graph.js";
import { aggregateRules } from "./rules/aggregates.js";
import { documentationRules } from "./rules/documentation.js";
import { exposureRules } from "./rules/exposure.js";
import { forgottenTags, namingRules, prefixOf } from "./rules/naming.js";
import { indexRules } from "./rules/indexes.js";
import { rollUpRules, unusedRollUp } from "./rules/roll-ups.js";
import { operationsRules } from "./rules/operations.js";
import {
  applyRuleSuppressions,
  suppressionsOf,
  type SuppressionUse,
  unusedSuppressions,
  unusedViolation,
} from "./rule-suppressions.js";

/** A finding whose rule its model turns off. */
export interface SuppressedFinding extends ModelFinding {
  readonly reason: string;
}

/** What a run found, everything in order. */
export interface LintResult {
  readonly findings: readonly ModelFinding[];
  readonly suppressed: readonly SuppressedFinding[];
  /** How many endpoints were checked. */
  readonly endpoints: number;
  /** How many models are tagged for the API and have no endpoint, through a problem (`skipped-model`). */
  readonly skipped: number;
}

/** Checks every endpoint of a manifest. Pure: same manifest and day, same result. */
export function lint(read: Manifest, settings: LintSettings): LintResult {
  const manifest = withServedEngine(read, settings.engine);
  const { entries, skipped, warnings } = catalogueOf(manifest, settings);
  const published = new Map(entries.map((entry) => [entry.uniqueId, entry]));
  const without = new Set(skipped.map(({ model }) => model));
  const withProblem = skipped.filter(({ reason }) => reason !== "excluded");
  const context: LintContext = {
    ...settings,
    project: projectOf(manifest),
    active: CHECK_IDS.filter((rule) => ruleSeverity(rule, settings.severities) !== null),
    warnings,
    endpoints: entries,
    relationSchemas: countsOf(entries.map(({ relation }) => relation[0])),
    prefix: prefixOf(entries.map(({ model }) => model)),
  };
  const results = manifest.models
    .filter(({ uniqueId }) => !without.has(uniqueId))
    .map((model) => {
      const node = context.project.nodes.get(model.uniqueId);
      return lintModel(model, node, published.get(model.uniqueId) ?? null, context);
    });
  const { metrics, queries } = manifest.semantics;
  const measured = [...metrics, ...queries].flatMap(({ node }) => {
    const entry = published.get(node.uniqueId);
    return entry === undefined
      ? []
      : [lintModel(node, context.project.nodes.get(node.uniqueId), entry, context)];
  });
  results.push(...measured);
  return {
    findings: [
      ...results.flatMap(({ findings }) => findings),
      ...withProblem.flatMap((model) => skippedFindings(model, context)),
      ...unusedFindings(
        results.flatMap(({ suppressions }) => suppressions),
        context,
      ),
    ].sort(inOrder),
    suppressed: results.flatMap(({ suppressed }) => suppressed).sort(inOrder),
    endpoints: entries.length,
    skipped: withProblem.length,
  };
}

function countsOf(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

interface ModelResult extends Pick<LintResult, "findings" | "suppressed"> {
  readonly suppressions: readonly (SuppressionUse & { readonly subject: FindingPlace })[];
}

function lintModel(
  model: Model,
  node: Node | undefined,
  entry: CatalogueEntry | null,
  context: LintContext,
): ModelResult {
  if (node === undefined) return { findings: [], suppressed: [], suppressions: [] };
  const owner = model.owner === null ? {} : { owner: model.owner };
  const subject = { model: node.uniqueId, file: node.file, ...owner, endpoint: entry?.path ?? null };
  const report = (rule: RuleId, violation: LintViolation): ModelFinding[] =>
    findingOf(rule, violation, subject, context);
  const violations =
    entry === null ? unpublishedViolations(model, context) : violationsIn(model, entry, node, context);
  const found = violations.flatMap(([rule, violation]) => report(rule, violation));
  const suppressions = suppressionsOf(node, context.today);
  const valid = suppressions.filter((one) => "rule" in one);
  const { unaccepted, accepted, unused } = applyRuleSuppressions(found, valid, context.today);
  return {
    findings: [
      ...unaccepted,
      ...suppressions.flatMap((one) => ("rule" in one ? [] : report("invalid-suppression", one))),
    ],
    suppressed: accepted.map(({ found, suppression }) => ({ ...found, reason: suppression.reason })),
    suppressions: valid.map((one) => ({ ...one, subject, isUsed: !unused.includes(one) })),
  };
}

function unusedFindings(all: ModelResult["suppressions"], context: LintContext): readonly ModelFinding[] {
  return unusedSuppressions(all, context.active).flatMap(({ subject, ...suppression }) =>
    unusedViolation(suppression).flatMap((found) => findingOf("unused-suppression", found, subject, context)),
  );
}

type RuleViolation = readonly [CheckId, LintViolation];

/** The rules about models without an endpoint. */
function unpublishedViolations(model: Model, context: LintContext): readonly RuleViolation[] {
  const { active, prefix } = context;
  const found: readonly RuleViolation[] = [
    ...forgottenTags(model, prefix).map((violation) => ["forgotten-tag", violation] as const),
    ...unusedRollUp(model, context).map((violation) => ["unused-roll-up", violation] as const),
  ];
  return found.filter(([rule]) => active.includes(rule));
}

function violationsIn(
  model: Model,
  entry: CatalogueEntry,
  node: Node,
  context: LintContext,
): readonly RuleViolation[] {
  const linted: LintedEndpoint = {
    endpoint: entry,
    model,
    node,
    ancestors: ancestorsOf(node, context.project),
    apiPath: model.api?.path ?? "$.meta.api",
    warnings: context.warnings.filter((warning) => warning.model === model.uniqueId),
  };
  // A metric has no columns and parameters of its own.
  const rules =
    entry.aggregate?.of === "metrics"
      ? context.active.filter((rule) => OF_METRICS.has(rule))
      : context.active;
  return rules.flatMap((rule) =>
    CHECK_CODE[rule](linted, context).map((violation) => [rule, violation] as const),
  );
}

const OF_METRICS: ReadonlySet<CheckId> = new Set<CheckId>([
  ...(Object.keys(aggregateRules) as CheckId[]),
  "private-data",
  "float-money",
  "missing-tier-tag",
]);

function findingOf(
  rule: RuleId,
  { path, message, hint }: LintViolation,
  subject: FindingPlace,
  { severities }: LintContext,
): ModelFinding[] {
  const severity = ruleSeverity(rule, severities);
  return severity === null ? [] : [{ rule, severity, ...subject, path, message, hint }];
}

/** One finding per problem that keeps a tagged model out of the API. */
function skippedFindings({ model, file, problems }: Skipped, context: LintContext): readonly ModelFinding[] {
  const subject = { model, file: file || null, endpoint: null };
  return problems
    .flatMap(({ path, message, hint }) => violation(path, sentence`${message}`, sentence`${hint}`))
    .flatMap((found) => findingOf("skipped-model", found, subject, context));
}

/** The code of every check. */
const CHECK_CODE: Readonly<Record<CheckId, Check>> = {
  ...exposureRules,
  ...aggregateRules,
  ...rollUpRules,
  ...documentationRules,
  ...operationsRules,
  ...indexRules,
  ...namingRules,
  // It is about models without an endpoint.
  "forgotten-tag": () => [],
};
