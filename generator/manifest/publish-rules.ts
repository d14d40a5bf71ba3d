import { listOf, name, oneOf, record, type Schema, TIERS, type ValueOf } from "@routewright/runtime/model";
import type { GraphNode } from "./graph.js";
import type { Manifest } from "./manifest.js";
import type { Model } from "./model.js";
import { NAME_PATTERNS, type NameParts, namePartsIn } from "./name-pattern.js";
import { isPublished } from "./publishing.js";
import { accessOf, criteriaIn, isSelected, SELECTION } from "./selection.js";

const PUBLISH_RULE = record(
  { select: SELECTION, tier: oneOf(TIERS) },
  { exclude: SELECTION, name: NAME_PATTERNS, category: name },
);

/** `publish` of the config file. */
export const PUBLISH: Schema<readonly ValueOf<typeof PUBLISH_RULE>[]> = listOf(PUBLISH_RULE);
export type PublishRules = ValueOf<typeof PUBLISH>;
type PublishRule = PublishRules[number];

type Verdict = { readonly parts: NameParts } | { readonly refused: string } | { readonly left: string };

/** The manifest as if each model that the rules name had the tags `production` and `api:<resource>`, and those of its name and tier. */
export function withPublished(manifest: Manifest, rules: PublishRules = []): Manifest {
  if (rules.length === 0) return manifest;
  const named = new Map<string, string>();
  const refused = new Map<string, string>();
  const left = new Map<string, string>();
  const graph = new Map(manifest.graph);
  const isUsed = rules.map(() => false);
  const models = manifest.models.map((model) => {
    const node = graph.get(model.uniqueId);
    if (node === undefined) return model;
    const at = rules.findIndex((rule) => isNamed(rule, model, node, manifest));
    const rule = rules[at];
    if (rule === undefined) return model;
    isUsed[at] = true;
    if (isPublished(model.tags)) return model;
    const verdict = verdictOf(rule, model, node);
    if ("refused" in verdict) refused.set(model.uniqueId, verdict.refused);
    if ("left" in verdict) left.set(model.uniqueId, verdict.left);
    if (!("parts" in verdict)) return model;
    named.set(model.uniqueId, placeOf(at));
    const published = tagged(model, rule, verdict.parts);
    graph.set(model.uniqueId, { ...node, json: { ...node.json, tags: published.tags } });
    return published;
  });
  const warnings = rules.flatMap(({ select }, at) =>
    isUsed[at] === true
      ? []
      : [`${placeOf(at)} names no model: ${criteriaIn(select).join(" ")} (dbt's selection).`],
  );
  return {
    ...manifest,
    models,
    graph,
    publishing: { rules: named, refused, left },
    warnings: [...manifest.warnings, ...warnings],
  };
}

const placeOf = (at: number): string => `publish[${String(at)}]`;

function verdictOf(rule: PublishRule, model: Model, node: GraphNode): Verdict {
  if (node.materialized === "ephemeral") return { left: "ephemeral: it has no relation" };
  if (model.successor !== null) return { left: `an older version: the latest is ${model.successor}` };
  const parts = rule.name === undefined ? { resource: model.name } : namePartsIn(rule.name, model);
  if (parts === null)
    return { left: `its name fits no pattern of \`name\`: ${[rule.name].flat().join(", ")}` };
  if (accessOf(node.json) === "private") return { refused: "its access is private" };
  if (model.isPrivate) return { refused: "it is marked as private data" };
  const columns = model.columns.filter((column) => column.isPrivate).map((column) => column.name);
  return columns.length > 0
    ? { refused: `it has private data: ${columns.slice(0, 5).join(", ")}` }
    : { parts };
}

/** A model's own tags win. Its category is that of its name, or of the rule: tags of a dbt project say other things too. */
function tagged(model: Model, { tier, category }: PublishRule, parts: NameParts): Model {
  const { tags, configTags, routewright } = model;
  const has = (start: string): boolean => tags.some((tag) => tag.startsWith(start));
  const added = [
    ...(tags.includes("production") ? [] : ["production"]),
    ...(has("api:") ? [] : [`api:${parts.resource ?? model.name}`]),
    ...(parts.granularity === undefined || has("granularity:") ? [] : [`granularity:${parts.granularity}`]),
    ...(parts.window === undefined || has("window:") ? [] : [`window:${parts.window}`]),
    ...(tags.some((tag) => TIERS.some((known) => known === tag)) ? [] : [tier]),
  ];
  const named = parts.category ?? category;
  return {
    ...model,
    tags: [...tags, ...added],
    configTags: configTags.length === 0 ? [] : [...configTags, ...added],
    routewright: named === undefined ? routewright : { category: named, ...routewright },
  };
}

function isNamed(
  { select, exclude }: PublishRule,
  model: Model,
  node: GraphNode,
  manifest: Manifest,
): boolean {
  const fits = (selection: PublishRule["select"]): boolean => isSelected(selection, model, node, manifest);
  return fits(select) && (exclude === undefined || !fits(exclude));
}
