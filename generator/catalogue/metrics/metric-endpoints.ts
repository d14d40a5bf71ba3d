import {
  type Aggregate,
  type AggregateGroup,
  type AskedGroup,
  compareGrains,
  GROUP_PAGES,
  groupKey,
  isGrain,
  type Leaf,
  leavesOf,
  METRIC_TIME,
  type MetricTree,
  type SavedQuery,
  type Tier,
  TIERS,
} from "@routewright/runtime/model";
import { readCall } from "../../manifest/filter-template.js";
import type { Model } from "../../manifest/model.js";
import type { SemanticMetric, SemanticQuery } from "../../manifest/semantics.js";
import { type CatalogueEntry, complaint, type Problem, type Skipped } from "../catalogue.js";
import type { Context } from "../endpoint.js";
import { type ModelTags, pathOf } from "../path.js";
import { isPublished, readTags } from "../tags.js";
import { AggregateParts, NotCompiled } from "./aggregate-parts.js";
import { type DeclaredTypes, type DescribedMeasure, groupedColumns, groupFilters } from "./metric-columns.js";
import { MetricGroups } from "./metric-groups.js";
import { MetricTrees } from "./metric-tree.js";
import { SemanticIndex } from "./semantic-index.js";

interface Made {
  readonly entries: readonly CatalogueEntry[];
  readonly skipped: readonly Skipped[];
}

/** A metric or a saved query with a valid path. */
interface Tagged<T> {
  readonly of: T;
  readonly node: Model;
  readonly tags: ModelTags;
  readonly path: string;
}

/** Endpoints of the metrics and saved queries with tags. A path belongs to models first, then to metrics. */
export function metricEndpoints(index: SemanticIndex, context: Context): Made {
  const { metrics, queries } = index.manifest.semantics;
  const skipped: Skipped[] = [];
  const ofMetrics = tagged(metrics, context, skipped);
  const entries: CatalogueEntry[] = [];
  for (const group of byPath(ofMetrics).values()) {
    const made = endpointOf(index, context, group);
    entries.push(...made.entries);
    skipped.push(...made.skipped);
  }
  for (const query of tagged(queries, context, skipped)) {
    const made = savedEndpoint(index, context, query);
    entries.push(...made.entries);
    skipped.push(...made.skipped);
  }
  return { entries, skipped };
}

function byPath<T>(all: readonly Tagged<T>[]): ReadonlyMap<string, readonly Tagged<T>[]> {
  const found = new Map<string, Tagged<T>[]>();
  for (const each of all) found.set(each.path, [...(found.get(each.path) ?? []), each]);
  return found;
}

/** Those with tags of the API whose path is theirs; the others with their problems. Metrics may share a path. */
function tagged<T extends { readonly node: Model }>(
  all: readonly T[],
  { owners }: Context,
  skipped: Skipped[],
): readonly Tagged<T>[] {
  const before = new Map(owners);
  return all.flatMap((of): Tagged<T>[] => {
    const { node } = of;
    if (!isPublished(node.tags)) return [];
    const { tags, path, problems } = readTags(node);
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

function skip(
  node: Model,
  problems: readonly Omit<Problem, "model">[],
  reason: Skipped["reason"] = "invalid",
): Skipped {
  return {
    model: node.uniqueId,
    file: node.file,
    reason,
    problems: problems.map((each) => ({ model: node.uniqueId, ...each })),
  };
}

function notCompiled(node: Model, error: NotCompiled): Skipped {
  return skip(
    node,
    complaint("$.type_params", error.message, "Serve another metric, or take its api: tag away."),
  );
}

/** The endpoint of the metrics of one path: those that are compiled. */
function endpointOf(index: SemanticIndex, context: Context, group: readonly Tagged<SemanticMetric>[]): Made {
  const skipped: Skipped[] = [];
  const parts = new AggregateParts(index);
  const trees = new MetricTrees(index, parts);
  const groups = new MetricGroups(index, trees);
  const compiled = group.flatMap(({ of, node }) => {
    const measure = compile(of, node);
    return measure === null ? [] : [measure];
  });
  const kept = group.filter(({ of }) => compiled.some(({ name }) => name === of.name));
  const [first] = kept;
  if (first === undefined) return { entries: [], skipped };
  const tier = strictest(kept.map(({ tags }) => tags.tier ?? context.defaultTier));
  const description = kept.map(({ of, node }) => node.description || of.label || of.name).join("\n\n");
  const entry = entryOf(
    index,
    context,
    { node: first.node, tags: first.tags, tier, description },
    { parts, measures: compiled },
  );
  return { entries: [entry], skipped };

  function compile(metric: SemanticMetric, node: Model): DescribedMeasure | null {
    try {
      // Of its own first: a metric that is not compiled leaves nothing behind.
      const own = new AggregateParts(index);
      const tried = new MetricTrees(index, own);
      new MetricGroups(index, tried).of(metric, tried.of(metric), own);
      const tree = trees.of(metric);
      return measureOf(metric, tree, groups.of(metric, tree, parts));
    } catch (error) {
      if (!(error instanceof NotCompiled)) throw error;
      skipped.push(notCompiled(node, error));
      return null;
    }
  }
}

function measureOf(
  { name, label, node }: SemanticMetric,
  metric: MetricTree,
  groups: readonly AggregateGroup[],
): DescribedMeasure {
  return {
    name,
    ...(label !== "" && { label }),
    ...(node.description.trim() !== "" && { description: node.description }),
    groups,
    metric,
  };
}

const strictest = (tiers: readonly Tier[]): Tier =>
  tiers.toSorted((a, b) => TIERS.indexOf(b) - TIERS.indexOf(a))[0] ?? "tier3";

interface Named {
  readonly node: Model;
  readonly tags: ModelTags;
  readonly tier: Tier;
  readonly description: string;
}

interface Content {
  readonly parts: AggregateParts;
  readonly measures: readonly DescribedMeasure[];
  readonly saved?: SavedQuery;
}

function entryOf(
  index: SemanticIndex,
  context: Context,
  named: Named,
  { parts, measures, saved }: Content,
): CatalogueEntry {
  const { node, tags, description } = named;
  const made = parts.parts();
  const types = declaredTypes(index, measures, index.manifest.adapter === "clickhouse");
  const all = uniqueGroups(measures);
  const groups = saved === undefined ? all : savedGroups(saved);
  const aggregate: Aggregate = {
    of: "metrics",
    ...made,
    measures,
    columns:
      saved === undefined ? groupedColumns(all, measures, types) : savedColumns(saved, measures, types),
    filters: saved === undefined ? groupFilters(groups, types) : [],
    ...(saved && { saved }),
  };
  const models = parts.models;
  const tier = strictest([
    named.tier,
    ...models.map((model) => index.tierOf(model, context.defaultTier)).filter((each) => each !== null),
  ]);
  const own = models.map((model) => index.ownRowsOf(model)).find((column) => column !== null);
  return {
    path: pathOf(tags),
    model: node.name,
    uniqueId: node.uniqueId,
    file: node.file,
    category: tags.category,
    resource: tags.resource,
    granularity: tags.granularity,
    window: tags.window,
    tier,
    hasTierTag: tags.tier !== null,
    private: false,
    description,
    relation: made.relations[0]?.relation ?? ["", ""],
    columns: [],
    methods: ["GET"],
    legacy: false,
    parameters: [],
    allowUnfiltered: true,
    requireAnyOf: [],
    pagination: GROUP_PAGES,
    sort: [],
    sortableFields: [],
    aggregate,
    ...(own !== undefined && { rows: { column: own, equals: "org" as const } }),
    deprecationDate: null,
    successor: null,
  };
}

function uniqueGroups(measures: readonly DescribedMeasure[]): readonly AggregateGroup[] {
  const found = new Map<string, AggregateGroup>();
  for (const group of measures.flatMap(({ groups }) => groups)) {
    const known = found.get(group.name);
    const grains = [...new Set([...(known?.grains ?? []), ...(group.grains ?? [])])].toSorted(compareGrains);
    found.set(group.name, { ...group, ...known, ...(grains.length > 0 && { grains }) });
  }
  return [...found.values()];
}

function declaredTypes(
  index: SemanticIndex,
  measures: readonly DescribedMeasure[],
  isClickhouse: boolean,
): DeclaredTypes {
  const facts = [...new Set(measures.flatMap(({ metric }) => leavesOf(metric)).map(({ fact }) => fact))];
  const models = facts.flatMap((name) => index.model(name) ?? []);
  const typeOf = (model: (typeof models)[number], expr: string): string | null =>
    index.columns(model).find(({ name }) => name.toLowerCase() === expr.toLowerCase())?.type ?? null;
  return {
    isClickhouse,
    group: (name) => {
      const found = models
        .map((model) => index.reachable(model).get(name))
        .find((each) => each !== undefined);
      if (found === undefined)
        return { type: null, description: name === METRIC_TIME ? "The time of the metric." : "" };
      return { type: typeOf(found.model, found.expr), description: found.description };
    },
    value: ({ fact, value }: Leaf) => {
      const model = index.model(fact);
      return model === undefined || value === undefined ? null : typeOf(model, value);
    },
  };
}

/** The endpoint of a saved query: its groups, its filters and its order are fixed. */
function savedEndpoint(
  index: SemanticIndex,
  context: Context,
  { of, node, tags }: Tagged<SemanticQuery>,
): Made {
  try {
    const parts = new AggregateParts(index);
    const trees = new MetricTrees(index, parts);
    const groups = new MetricGroups(index, trees);
    const measures = of.metrics.map((name) => {
      const metric = index.metrics.get(name);
      if (metric === undefined) throw new NotCompiled(`The manifest has no metric ${name}.`);
      const tree = trees.of(metric);
      return measureOf(metric, tree, groups.all(metric, tree));
    });
    if (measures.length === 0) throw new NotCompiled("The saved query names no metrics.");
    const asked = of.groupBy.map((text) => askedGroup(text, measures, parts, index));
    const filters = trees.fixed(
      of.filters,
      measures.map(({ metric }) => metric),
    );
    const saved: SavedQuery = {
      groups: asked,
      filters,
      sort: of.orderBy.map((text) => sortOf(text, asked, measures)),
      ...(of.limit !== null && { limit: of.limit }),
    };
    const tier = tags.tier ?? context.defaultTier;
    const description = node.description;
    return {
      entries: [entryOf(index, context, { node, tags, tier, description }, { parts, measures, saved })],
      skipped: [],
    };
  } catch (error) {
    if (!(error instanceof NotCompiled)) throw error;
    return { entries: [], skipped: [notCompiled(node, error)] };
  }
}

/** A group of a saved query: `Dimension('a__b')`, or the name itself. Groups of all facts; private ones are its author's choice. */
function askedGroup(
  text: string,
  measures: readonly DescribedMeasure[],
  parts: AggregateParts,
  index: SemanticIndex,
): AskedGroup {
  const [name, grain] = nameAndGrain(text);
  const found = measures.map(({ groups }) => groups.find((group) => group.name === name));
  const missing = found.indexOf(undefined);
  if (missing >= 0)
    throw new NotCompiled(`group_by names ${name}, which ${measures[missing]?.name ?? ""} does not have.`);
  const own = found.map((group) => group?.grain).filter((each) => each !== undefined);
  const asked = grain ?? own.toSorted(compareGrains).at(-1);
  if (asked !== undefined && found.some((group) => group?.grains?.includes(asked) !== true))
    throw new NotCompiled(`group_by asks ${name} by ${asked}, which it does not have.`);
  for (const { fact } of measures.flatMap(({ metric }) => leavesOf(metric))) {
    const model = index.model(fact);
    if (name !== METRIC_TIME && model !== undefined) parts.dimension(model, name);
  }
  return {
    key: asked === undefined ? name : groupKey(name, asked),
    name,
    ...(asked !== undefined && { grain: asked }),
  };
}

function nameAndGrain(text: string): readonly [name: string, grain: AskedGroup["grain"]] {
  const written = text.includes("(") ? readCall(text) : { dimension: text };
  if ("problem" in written) throw new NotCompiled(`group_by ${text}: ${written.problem}.`);
  const { dimension, grain = "" } = written as { dimension: string; grain?: string };
  if (grain !== "") {
    if (!isGrain(grain)) throw new NotCompiled(`The grain ${grain} is a custom one, which is not compiled.`);
    return [dimension, grain];
  }
  const [, name = "", suffix = ""] = /^(.*)__(\w+)$/.exec(dimension) ?? [];
  return isGrain(suffix) ? [name, suffix] : [dimension, undefined];
}

/** `Metric('revenue').descending(True)`, `-revenue`, or a name. */
function sortOf(
  text: string,
  groups: readonly AskedGroup[],
  measures: readonly DescribedMeasure[],
): SavedQuery["sort"][number] {
  const isDescending = text.startsWith("-") || /\.\s*descending\s*\(\s*(True|true)?\s*\)/.test(text);
  const plain = text.replace(/^-/, "").replace(/\.\s*descending\s*\(.*?\)/, "");
  const metric = /^Metric\s*\(\s*['"](\w+)['"]\s*\)$/.exec(plain.trim())?.[1] ?? plain.trim();
  if (measures.some(({ name }) => name === metric)) return [metric, isDescending ? "DESC" : "ASC"];
  const [name, grain] = nameAndGrain(plain.trim());
  const group = groups.find((each) => each.name === name && (grain === undefined || each.grain === grain));
  if (group === undefined)
    throw new NotCompiled(`order_by names ${text}, which the saved query does not select.`);
  return [group.key, isDescending ? "DESC" : "ASC"];
}

const savedGroups = ({ groups }: SavedQuery): readonly AggregateGroup[] =>
  groups.map(({ name }) => ({ name }));

function savedColumns(
  { groups }: SavedQuery,
  measures: readonly DescribedMeasure[],
  types: DeclaredTypes,
): Aggregate["columns"] {
  const all = groupedColumns(
    groups.map(({ name, grain }) => ({ name, ...(grain !== undefined && { grains: [grain] }) })),
    measures,
    types,
  );
  const names = new Set([...groups.map(({ key }) => key), ...measures.map(({ name }) => name)]);
  return all.filter(({ name }) => names.has(name));
}
