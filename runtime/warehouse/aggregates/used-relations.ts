import { type Grouping, type Leaf, leavesOf, METRIC_TIME } from "../../model/aggregate.js";
import { type Condition, OWN_ROWS } from "../../model/query.js";
import { dimensionsIn } from "./leaves.js";

/** Names of the relations that a grouping may read, so that one which it does not read need not exist. */
export function usedRelations({ aggregate, groups, measures }: Grouping, conditions: readonly Condition[]): readonly string[] {
  const leaves = measures.flatMap(({ metric }) => leavesOf(metric));
  const filters = [...measures.flatMap(({ metric }) => filtersIn(metric)), ...(aggregate.saved?.filters ?? [])];
  const names = new Set([
    ...groups.map(({ name }) => name),
    ...conditions.filter(({ name }) => name !== OWN_ROWS).map(({ column }) => column),
    ...dimensionsIn(filters),
    ...leaves.flatMap(({ nonAdditive }) => (nonAdditive === undefined ? [] : [nonAdditive.dimension, ...nonAdditive.groupings])),
  ]);
  const ofLeaves = leaves.flatMap((leaf) => [leaf.fact, ...joinedBy(aggregate, leaf, names)]);
  return [...new Set([...ofLeaves, ...aggregate.spines.map(({ relation }) => relation)])];
}

function filtersIn(metric: Grouping["measures"][number]["metric"]): Leaf["filters"] {
  if (metric.kind === "leaf") return metric.filters;
  return [...metric.filters, ...metric.inputs.flatMap((input) => [...input.filters, ...filtersIn(input.metric)])];
}

function joinedBy({ facts, dimensions }: Grouping["aggregate"], { fact, time }: Leaf, names: ReadonlySet<string>): readonly string[] {
  const joins = facts.find(({ relation }) => relation === fact)?.joins ?? [];
  const isUsed = (name: string): boolean => names.has(name) || (name === time && names.has(METRIC_TIME));
  return dimensions.flatMap(({ name, places }) => {
    const place = isUsed(name) ? places.find((each) => each.fact === fact) : undefined;
    const joined = place?.join === undefined ? undefined : joins[place.join];
    return joined === undefined ? [] : [joined.to];
  });
}
