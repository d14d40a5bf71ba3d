import { catalogueOf } from "../catalogue/build.js";
import type { CatalogueEntry } from "../catalogue/catalogue.js";
import type { Manifest } from "../manifest/manifest.js";
import type { Model } from "../manifest/model.js";
import {
  CHECK_IDS,
  type CheckId,
  type Context,
  type Finding,
  inOrder,
  type Remark,
  type RuleId,
  RULES,
  type Subject,
} from "./finding.js";
import { ancestorsOf, type Node } from "./project.js";
import { CHECK_CODE } from "./rules/index.js";
import { plain, sentence } from "./sentence.js";
import { type Suppression, suppressionsOf } from "./suppression.js";

/** A finding whose rule its model turns off. */
export interface SuppressedFinding extends Finding {
  readonly reason: string;
}

/** A check that cannot judge this project, and why. */
export interface Unchecked {
  readonly rule: CheckId;
  readonly why: string;
}

/** What a run found, everything in order. */
export interface LintResult {
  readonly findings: readonly Finding[];
  readonly suppressed: readonly SuppressedFinding[];
  readonly unchecked: readonly Unchecked[];
  /** How many endpoints were checked. */
  readonly endpoints: number;
  /** How many models are tagged for the API and have no endpoint, through a problem that `generate` reports. */
  readonly skipped: number;
}

/** Checks every endpoint of a manifest. Pure: same manifest, same result. */
export function lint(manifest: Manifest, context: Context): LintResult {
  const { entries, skipped } = catalogueOf(manifest, { defaultTier: context.defaultTier });
  const published = new Map(entries.map((entry) => [entry.uniqueId, entry]));
  const left = new Set(skipped.map(({ model }) => model));
  const run = { context, ...activeChecks(context), categories: countsByCategory(entries) };
  const results = manifest.models
    .filter(({ uniqueId }) => !left.has(uniqueId))
    .map((model) => lintModel(model, published.get(model.uniqueId) ?? null, run));
  return {
    findings: results.flatMap(({ findings }) => findings).sort(inOrder),
    suppressed: results.flatMap(({ suppressed }) => suppressed).sort(inOrder),
    unchecked: run.unchecked,
    endpoints: entries.length,
    skipped: skipped.filter(({ reason }) => reason !== "excluded").length,
  };
}

/** What all models of a run share. */
interface Run {
  readonly context: Context;
  readonly active: readonly CheckId[];
  readonly unchecked: readonly Unchecked[];
  readonly categories: Subject["categories"];
}

function activeChecks({ project, severities }: Context): Pick<Run, "active" | "unchecked"> {
  const on = CHECK_IDS.filter((rule) => severities?.[rule] !== "off");
  const unchecked = on.flatMap((rule) => {
    const why = CHECK_CODE[rule].skipReason?.(project) ?? null;
    return why === null ? [] : [{ rule, why }];
  });
  return { active: on.filter((id) => !unchecked.some(({ rule }) => rule === id)), unchecked };
}

function countsByCategory(entries: readonly CatalogueEntry[]): Subject["categories"] {
  const counts = new Map<string, number>();
  for (const { category } of entries) counts.set(category, (counts.get(category) ?? 0) + 1);
  return counts;
}

function lintModel(
  model: Model,
  entry: CatalogueEntry | null,
  run: Run,
): Pick<LintResult, "findings" | "suppressed"> {
  const node = run.context.project.nodes.get(model.uniqueId);
  if (node === undefined) return { findings: [], suppressed: [] };
  const report = (rule: RuleId, remark: Remark): Finding[] =>
    findingOf(rule, remark, node, entry, run.context);
  const found =
    entry === null
      ? []
      : remarksOf({ model, entry, node }, run).flatMap(([rule, remark]) => report(rule, remark));
  const { valid, invalid } = suppressionsOf(node);
  const reasons = new Map<RuleId, string>(valid.map(({ rule, reason }) => [rule, reason]));
  const unused = valid.filter(
    ({ rule }) => run.active.includes(rule) && !found.some((one) => one.rule === rule),
  );
  return {
    findings: [
      ...found.filter(({ rule }) => !reasons.has(rule)),
      ...invalid.flatMap((remark) => report("invalid-suppression", remark)),
      ...unused.flatMap((suppression) => report("unused-suppression", unusedRemark(suppression, entry))),
    ],
    suppressed: found.flatMap((finding) => {
      const reason = reasons.get(finding.rule);
      return reason === undefined ? [] : [{ ...finding, reason }];
    }),
  };
}

interface Published {
  readonly model: Model;
  readonly entry: CatalogueEntry;
  readonly node: Node;
}

function remarksOf({ model, entry, node }: Published, run: Run): readonly (readonly [CheckId, Remark])[] {
  const ancestors = ancestorsOf(node, run.context.project);
  const apiPath = model.api?.path ?? "$.meta.api";
  const subject: Subject = { entry, node, ancestors, apiPath, categories: run.categories };
  return run.active.flatMap((rule) =>
    CHECK_CODE[rule].find(subject, run.context).map((remark) => [rule, remark] as const),
  );
}

function findingOf(
  rule: RuleId,
  { path, message, hint }: Remark,
  { uniqueId: model, file }: Node,
  entry: CatalogueEntry | null,
  { severities }: Context,
): Finding[] {
  const severity = severities?.[rule] ?? RULES[rule].severity;
  const endpoint = entry?.endpoint.path ?? null;
  return severity === "off" ? [] : [{ rule, severity, model, file, endpoint, path, message, hint }];
}

function unusedRemark({ rule, path }: Suppression, entry: CatalogueEntry | null): Remark {
  const message =
    entry === null
      ? sentence`Unused suppression: ${rule} is turned off in a model without an endpoint.`
      : sentence`Unused suppression: ${rule} finds nothing here, and would not report the next finding.`;
  return { path, message, hint: plain("Delete the line.") };
}
