import {
  type Aggregate,
  type AggregateGroup,
  compareGrains,
  GROUP_PAGES,
  type Leaf,
  leavesOf,
  METRIC_TIME,
  type MetricTree,
  needsSpine,
  type SavedQuery,
  type Tier,
  TIERS,
  withoutMetricTime,
} from "@routewright/runtime/model";
import { textOr } from "../../manifest/json.js";
import { knownColumns, type Model } from "../../manifest/model.js";
import type { SemanticMetric, SemanticModel } from "../../manifest/semantic-layer.js";
import { type CatalogueEntry, complaint, type Problem, type Skipped } from "../catalogue.js";
import type { Context } from "../endpoint.js";
import { type ModelTags, pathOf } from "../path.js";
import { type AggregateParts, isSpine, type NotCompiled } from "./aggregate-parts.js";
import { type DeclaredTypes, type DescribedMeasure, groupedColumns, groupFilters } from "./metric-columns.js";
import { rollUpsOf } from "./roll-ups.js";
import type { ReachableDimension, SemanticIndex } from "./semantic-index.js";

/** Endpoints, and what is skipped. */
export interface Made {
  readonly entries: readonly CatalogueEntry[];
  readonly skipped: readonly Skipped[];
}

/** A metric or a saved query with a valid path. */
export interface Tagged<T> {
  readonly of: T;
  readonly node: Model;
  readonly tags: ModelTags;
  readonly path: string;
}

export function skip(
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

export function notCompiled(node: Model, error: NotCompiled): Skipped {
  return skip(
    node,
    complaint("$.type_params", error.message, "Serve another metric, or take its api: tag away."),
  );
}

export function measureOf(
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

/** The title that a node says: its setting, else dbt's label where it is more than the name. */
export function titleOf(node: Model, label: string): { readonly title?: string } {
  const own = textOr(node.routewright["title"], "").trim();
  const title = own || (label === node.name ? "" : label.trim());
  return title === "" ? {} : { title };
}

export const strictest = (tiers: readonly Tier[]): Tier =>
  tiers.toSorted((a, b) => TIERS.indexOf(b) - TIERS.indexOf(a))[0] ?? "tier3";

export interface TaggedNode {
  readonly node: Model;
  readonly tags: ModelTags;
  readonly tier: Tier;
  readonly description: string;
  /** In words; absent where neither `meta.routewright.title` nor dbt's `label` says it. */
  readonly title?: string;
  /** Other words by which a search finds it. */
  readonly synonyms: readonly string[];
}

export interface Content {
  readonly parts: AggregateParts;
  readonly measures: readonly DescribedMeasure[];
  readonly saved?: SavedQuery;
}

export function entryOf(
  index: SemanticIndex,
  context: Context,
  named: TaggedNode,
  { parts, measures, saved }: Content,
): CatalogueEntry {
  const { node, tags, description, title, synonyms } = named;
  const readsSpines = measures.some(({ metric }) => needsSpine(metric));
  const made = parts.parts(readsSpines);
  const types = declaredTypes(index, measures, index.manifest.adapter === "clickhouse");
  const all = uniqueGroups(measures);
  const groups = saved === undefined ? all : savedGroups(saved);
  const rollUps = rollUpsOf(
    context.rollUps,
    parts,
    measures.map(({ metric }) => metric),
  );
  const aggregate: Aggregate = {
    of: "metrics",
    ...made,
    measures,
    columns:
      saved === undefined ? groupedColumns(all, measures, types) : savedColumns(saved, measures, types),
    filters: saved === undefined ? groupFilters(groups, types) : [],
    ...(saved && { saved }),
    ...(rollUps.length > 0 && { rollUps }),
  };
  const models = parts.models;
  const tier = strictest([
    named.tier,
    ...[...models, ...(made.relations.some(isSpine) ? index.manifest.semantics.spines : [])]
      .map((model) => index.tierOf(model, context.defaultTier))
      .filter((each) => each !== null),
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
    ...(title !== undefined && { title }),
    ...(synonyms.length > 0 && { synonyms }),
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
    ...(changesOnBuild(index, made.relations) && { changes: "on_build" as const }),
    ...(own !== undefined && { rows: { column: own, equals: "org" as const } }),
    deprecationDate: null,
    successor: null,
  };
}

/** Whether the team promises of every relation, the time spines too, that its rows change only with builds. */
function changesOnBuild({ manifest }: SemanticIndex, relations: Aggregate["relations"]): boolean {
  return relations.every(({ relation: [schema, alias] }) => {
    const node = manifest.models.find((model) => model.schema === schema && model.alias === alias);
    return node?.routewright["changes"] === "on_build";
  });
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
  const leaves = measures.flatMap(({ metric }) => leavesOf(metric));
  const isTimePrivate = leaves.some(({ fact, time = "" }) => {
    const model = index.model(fact);
    return model !== undefined && index.reachable(model).get(time)?.isPrivate === true;
  });
  const typeOf = (model: SemanticModel, expr: string): string | null =>
    index.columns(model).find(({ name }) => name.toLowerCase() === expr.toLowerCase())?.type ?? null;
  const dimensionsNamed = (name: string): readonly ReachableDimension[] =>
    leaves.flatMap(({ fact, time }) => {
      const model = index.model(fact);
      const own = name === METRIC_TIME ? name : withoutMetricTime(name, time);
      return (model === undefined ? undefined : index.reachable(model).get(own)) ?? [];
    });
  const groupType = ({ model, expr, derived }: ReachableDimension): string | null => {
    if (derived === undefined) return typeOf(model, expr);
    if ("part" in derived) return isClickhouse ? "Int32" : "integer";
    const node = index.node(derived.spine);
    const columns = node === undefined ? [] : knownColumns(node);
    return columns.find(({ name }) => name.toLowerCase() === derived.column.toLowerCase())?.type ?? null;
  };
  return {
    isClickhouse,
    isPrivate: (measure) => index.metrics.get(measure)?.node.isPrivate === true,
    group: (name) => {
      const all = dimensionsNamed(name);
      const [found] = all;
      if (found === undefined)
        return {
          type: null,
          description: name === METRIC_TIME ? "The time of the metric." : "",
          isPrivate: name === METRIC_TIME && isTimePrivate,
        };
      const isPrivate = all.some((each) => each.isPrivate);
      return { type: groupType(found), description: found.description, isPrivate };
    },
    value: ({ fact, value }: Leaf) => {
      const model = index.model(fact);
      return model === undefined || value === undefined ? null : typeOf(model, value);
    },
  };
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
