import { catalogueOf } from "../catalogue/build.js";
import type { CatalogueEntry } from "../catalogue/catalogue.js";
import type { Manifest } from "../manifest/manifest.js";
import type { Model } from "../manifest/model.js";
import { plain, sentence } from "../report/sentence.js";
import { type CheckId, type Finding, inOrder, type RuleId } from "./finding.js";
import { ancestorsOf } from "./project/lineage.js";
import type { Node } from "./project/node.js";
import type { Context, Remark, Subject } from "./rules/check.js";
import { CHECK_IDS, CHECKS } from "./rules/checks.js";
import { type Suppression, suppressionsOf } from "./suppression.js";

/** A finding whose rule its model turns off. */
export interface SuppressedFinding extends Finding {
  readonly reason: string;
}

/** A check that cannot be made, and why. */
export interface Unchecked {
  readonly rule: CheckId;
  readonly why: string;
}

/** What a run found, everything in order. */
export interface LintResult {
  readonly findings: readonly Finding[];
  readonly suppressed: readonly SuppressedFinding[];
  readonly unchecked: readonly Unchecked[];
  /** How many endpoints were looked at. */
  readonly endpoints: number;
  /** How many models are tagged for the API and yet have no endpoint, through a fault that `generate` tells. */
  readonly skipped: number;
}

/** Looks at every endpoint of a manifest. Pure: same manifest, same result. */
export function lint(manifest: Manifest, context: Context): LintResult {
  const { entries, skipped } = catalogueOf(manifest, { defaultTier: context.defaultTier });
  const published = new Map(entries.map((entry) => [entry.uniqueId, entry]));
  const passedOver = new Set(skipped.map(({ model }) => model));
  const unchecked = uncheckedOf(context);
  const told = manifest.models
    .filter(({ uniqueId }) => !passedOver.has(uniqueId))
    .map((model) => lintModel(model, published.get(model.uniqueId) ?? null, context, unchecked));
  return {
    findings: told.flatMap(({ findings }) => findings).sort(inOrder),
    suppressed: told.flatMap(({ suppressed }) => suppressed).sort(inOrder),
    unchecked,
    endpoints: entries.length,
    skipped: skipped.filter(({ reason }) => reason !== "excluded").length,
  };
}

function uncheckedOf({ project }: Context): readonly Unchecked[] {
  return CHECK_IDS.flatMap((rule) => {
    const why = CHECKS[rule].blindTo?.(project) ?? null;
    return why === null ? [] : [{ rule, why }];
  });
}

type Told = Pick<LintResult, "findings" | "suppressed">;

function lintModel(
  model: Model,
  entry: CatalogueEntry | null,
  context: Context,
  unchecked: readonly Unchecked[],
): Told {
  const node = context.project.nodes.get(model.uniqueId);
  if (node === undefined) return { findings: [], suppressed: [] };
  const blind = unchecked.map(({ rule }) => rule);
  const found = entry === null ? [] : findingsOf({ model, entry, node }, context, blind);
  const { valid, faults } = suppressionsOf(node);
  const reasons = new Map(valid.map(({ rule, reason }) => [rule as RuleId, reason]));
  const stale = valid.filter(({ rule }) => !blind.includes(rule) && !found.some((one) => one.rule === rule));
  const finding = (rule: RuleId, remark: Remark): Finding => findingOf(rule, remark, node, entry);
  return {
    findings: [
      ...found.filter(({ rule }) => !reasons.has(rule)),
      ...faults.map((fault) => finding("invalid-suppression", fault)),
      ...stale.map((suppression) => finding("stale-suppression", staleRemark(suppression, entry))),
    ],
    suppressed: found.flatMap((one) => {
      const reason = reasons.get(one.rule);
      return reason === undefined ? [] : [{ ...one, reason }];
    }),
  };
}

interface Published {
  readonly model: Model;
  readonly entry: CatalogueEntry;
  readonly node: Node;
}

function findingsOf(
  { model, entry, node }: Published,
  context: Context,
  blind: readonly CheckId[],
): readonly Finding[] {
  const ancestors = ancestorsOf(node, context.project);
  const subject: Subject = { entry, node, ancestors, apiPath: model.api?.path ?? "$.meta.api" };
  return CHECK_IDS.filter((rule) => !blind.includes(rule)).flatMap((rule) =>
    CHECKS[rule].find(subject, context).map((remark) => findingOf(rule, remark, node, entry)),
  );
}

function findingOf(
  rule: RuleId,
  { path, message, hint }: Remark,
  node: Node,
  entry: CatalogueEntry | null,
): Finding {
  const { uniqueId: model, file } = node;
  return { rule, model, file, endpoint: entry?.endpoint.path ?? null, path, message, hint };
}

function staleRemark({ rule, path }: Suppression, entry: CatalogueEntry | null): Remark {
  const message =
    entry === null
      ? sentence`The rule ${rule} is turned off in a model that has no endpoint, where it finds nothing.`
      : sentence`The rule ${rule} is turned off and finds nothing here any more: the next such fault would go unseen.`;
  return { path, message, hint: plain("Delete the line.") };
}
