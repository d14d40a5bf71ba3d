import { type AggregateGroup, groupedBy, hasTime, type MetricTree } from "@routewright/runtime/model";
import type { JsonObject } from "../../manifest/json.js";
import { textsOf } from "../../manifest/json.js";
import type { Model } from "../../manifest/model.js";
import type { SemanticMetric } from "../../manifest/semantic-layer.js";
import { type CatalogueEntry, type Complaint, complaint, type Skipped, type Warning } from "../catalogue.js";
import type { Context } from "../endpoint.js";
import { isExcluded } from "../settings/meta-api.js";
import { formatValue } from "../../manifest/strings.js";
import { isPublished } from "../../manifest/publishing.js";
import { readTags } from "../tags.js";
import { AggregateParts, NotCompiled } from "./aggregate-parts.js";
import type { DescribedMeasure } from "./metric-columns.js";
import {
  entryOf,
  type Made,
  measureOf,
  notCompiled,
  skip,
  strictest,
  type Tagged,
  titleOf,
} from "./metric-entry.js";
import { MetricGroups } from "./metric-groups.js";
import { unreadSettings } from "./metric-settings.js";
import { MetricTrees } from "./metric-tree.js";
import { savedEndpoint } from "./saved-queries.js";
import type { SemanticIndex } from "./semantic-index.js";

/** Endpoints of the metrics and saved queries with tags. A path belongs to models first, then to metrics. */
export function metricEndpoints(
  index: SemanticIndex,
  context: Context,
): Made & { readonly warnings: readonly Warning[] } {
  const { metrics, queries } = index.manifest.semantics;
  const skipped: Skipped[] = [];
  const warnings: Warning[] = [];
  const ofMetrics = tagged(metrics, context, { skipped, warnings });
  const entries: CatalogueEntry[] = [];
  for (const group of groupedBy(ofMetrics, ({ path }) => path).values()) {
    const made = endpointOf(index, context, group);
    entries.push(...made.entries);
    skipped.push(...made.skipped);
  }
  for (const query of tagged(queries, context, { skipped, warnings })) {
    const made = savedEndpoint(index, context, query);
    entries.push(...made.entries);
    skipped.push(...made.skipped);
  }
  return { entries, skipped, warnings };
}

/** Those with tags of the API whose path is theirs; the others with their problems. Metrics may share a path. */
function tagged<T extends { readonly node: Model; readonly json: JsonObject }>(
  all: readonly T[],
  { owners }: Context,
  { skipped, warnings }: { readonly skipped: Skipped[]; readonly warnings: Warning[] },
): readonly Tagged<T>[] {
  const before = new Map(owners);
  return all.flatMap((of): Tagged<T>[] => {
    const { node } = of;
    if (!isPublished(node.tags)) return [];
    if (isExcluded(node)) {
      skipped.push(skip(node, [], "excluded"));
      return [];
    }
    const { tags, path, ...ofTags } = readTags(node);
    const unread = unreadSettings(of.json, isMetric(node) ? "metric" : "savedQuery");
    const problems = [...ofTags.problems, ...unread.problems, ...expressionProblems(node)];
    for (const each of [...unread.warnings, ...ofTags.warnings])
      warnings.push({ model: node.uniqueId, ...each });
    const owner = path === null ? undefined : (before.get(path) ?? owners.get(path));
    const isShared =
      owner !== undefined && !before.has(path ?? "") && isMetric(node) && isMetric({ uniqueId: owner });
    const taken =
      owner === undefined || isShared
        ? []
        : complaint(
            "$.config.tags",
            `The path ${path ?? ""} belongs to ${owner}.`,
            "Give one of the two another resource, granularity or window tag.",
          );
    if (path === null || problems.length > 0 || taken.length > 0) {
      const reason = problems.length > 0 ? "invalid" : "path-taken";
      skipped.push(skip(node, [...problems, ...taken], reason));
      return [];
    }
    if (!owners.has(path)) owners.set(path, node.uniqueId);
    return [{ of, node, tags, path }];
  });
}

const isMetric = ({ uniqueId }: Pick<Model, "uniqueId">): boolean => uniqueId.startsWith("metric.");

/** The endpoint of the metrics of one path: those that are compiled. */
function endpointOf(index: SemanticIndex, context: Context, group: readonly Tagged<SemanticMetric>[]): Made {
  const skipped: Skipped[] = [];
  const parts = new AggregateParts(index);
  const trees = new MetricTrees(index, parts);
  const groups = new MetricGroups(index);
  const compiled: DescribedMeasure[] = [];
  for (const { of, node } of group) {
    const measure = compile(of, node);
    if (measure !== null) compiled.push(measure);
  }
  const kept = group.filter(({ of }) => compiled.some(({ name }) => name === of.name));
  const [first] = kept;
  if (first === undefined) return { entries: [], skipped };
  const tier = strictest(kept.map(({ tags }) => tags.tier ?? context.defaultTier));
  const synonyms = [...new Set(kept.flatMap(({ node }) => textsOf(node.routewright["synonyms"])))];
  const description = kept.map(({ of, node }) => node.description || of.label || of.name).join("\n\n");
  // Of several metrics none names all.
  const title = titleOf(first.node, kept.length === 1 ? first.of.label : "");
  const entry = entryOf(
    index,
    context,
    { node: first.node, tags: first.tags, tier, description, synonyms, ...title },
    { parts, measures: compiled },
  );
  return { entries: [takesExpression(kept, entry) ? { ...entry, filter: true } : entry], skipped };

  function compile(metric: SemanticMetric, node: Model): DescribedMeasure | null {
    try {
      // Of its own first: a metric that is not compiled leaves nothing behind.
      const own = new AggregateParts(index);
      const tried = new MetricTrees(index, own);
      const alone = tried.of(metric);
      checkExpression(node, new MetricGroups(index).of(metric, alone, own));
      checkTime(alone, compiled[0]);
      const tree = trees.of(metric);
      return measureOf(metric, tree, groups.of(metric, tree, parts));
    } catch (error) {
      if (!(error instanceof NotCompiled)) throw error;
      skipped.push(notCompiled(node, error));
      return null;
    }
  }
}

/** Whether callers combine conditions on the groups: all metrics of the path say so. */
function takesExpression(metrics: readonly Tagged<SemanticMetric>[], { aggregate }: CatalogueEntry): boolean {
  const filters = aggregate?.filters ?? [];
  return metrics.every(({ node }) => node.routewright["filter"] === true) && filters.length > 0;
}

function expressionProblems({ routewright }: Model): readonly Complaint[] {
  const { filter = false } = routewright;
  if (typeof filter === "boolean") return [];
  const message = `${formatValue(filter)} is no boolean.`;
  return complaint("meta.routewright.filter", message, "Write `filter: true`, or remove it.");
}

function checkExpression({ routewright }: Model, groups: readonly AggregateGroup[]): void {
  if (routewright["filter"] !== true || groups.every(({ name }) => name !== "filter")) return;
  throw new NotCompiled(
    "A group has the name `filter`, by which callers send an expression: rename the group, leave it out of `group_by`, or remove `filter: true`.",
  );
}

/** A range of dates holds for all metrics of a path. */
function checkTime(metric: MetricTree, first: DescribedMeasure | undefined): void {
  if (first === undefined || hasTime(first.metric) === hasTime(metric)) return;
  const [which, other] = hasTime(metric) ? ["has a time", "has none"] : ["has no time", "has one"];
  throw new NotCompiled(
    `The metric ${which}, and ${first.name} of the same path ${other}: \`start_date\` could not bound both.`,
  );
}
