import {
  type Leaf,
  leavesOf,
  type MetricTree,
  needsSpine,
  resultsIn,
  type SpineUnits,
  withoutMetricTime,
} from "../core/model/aggregate/metric.js";
import {
  type Aggregate,
  type AskedGrouping,
  joinsTo,
  ownerValue,
} from "../core/model/aggregate/aggregate.js";
import { columnsOf, type Condition, OWN_ROWS } from "../core/model/query.js";
import { dimensionsIn } from "./row-filters.js";

/** The values of each relation that a grouping may read: one that it does not read need not exist. */
export function usedValues(
  { aggregate, groups, measures }: AskedGrouping,
  conditions: readonly Condition[],
): ReadonlyMap<string, ReadonlySet<string>> {
  const used = new Map<string, Set<string>>();
  const names = [
    ...groups.map(({ name }) => name),
    ...conditions.filter(({ name }) => name !== OWN_ROWS).flatMap(columnsOf),
  ];
  const filters = filtersOf({ aggregate, measures });
  const metrics = measures.map(({ metric }) => metric);
  useMetrics(aggregate, { metrics, names, filters }, used);
  for (const { relation, value } of aggregate.spines)
    if (metrics.some(needsSpine)) useValue(aggregate, used, relation, value);
  for (const { spine, value } of metrics.flatMap(unitsIn)) useValue(aggregate, used, spine, value);
  return used;
}

interface UsedMetrics {
  readonly metrics: readonly MetricTree[];
  readonly names: readonly string[];
  readonly filters: Leaf["filters"];
}

type UsedValues = Map<string, Set<string>>;

function useValue(aggregate: Aggregate, used: UsedValues, relation: string, value: string): void {
  used.set(relation, (used.get(relation) ?? ownValues(aggregate, relation)).add(value));
}

/** What metrics read, and those that their filters compare. */
function useMetrics(
  aggregate: Aggregate,
  { metrics, names: asked, filters }: UsedMetrics,
  used: UsedValues,
): void {
  const leaves = metrics.flatMap(leavesOf);
  const names = new Set([...asked, ...dimensionsIn(filters)]);
  const use: Use = (relation, value) => {
    useValue(aggregate, used, relation, value);
  };
  for (const { fact } of leaves) if (!used.has(fact)) used.set(fact, ownValues(aggregate, fact));
  for (const leaf of leaves) useLeaf(aggregate, leaf, names, use);
  for (const { fact, converted } of leaves) {
    if (converted === undefined) continue;
    if (!used.has(converted.fact)) used.set(converted.fact, ownValues(aggregate, converted.fact));
    useLeaf(aggregate, { ...converted, kind: "leaf", aggregation: "count" }, names, use);
    for (const [value, of] of converted.on) {
      use(fact, value);
      use(converted.fact, of);
    }
  }
  for (const { metric, by } of resultsIn(filters))
    useMetrics(aggregate, { metrics: [metric], names: [by], filters: filtersIn(metric) }, used);
}

/** Whether SQL of the project is in a statement: of a value, a filter or a formula. */
export function hasProjectSql(
  { aggregate, measures }: AskedGrouping,
  used: ReadonlyMap<string, ReadonlySet<string>>,
): boolean {
  const isFormula = (metric: MetricTree): boolean =>
    metric.kind !== "leaf" &&
    (metric.kind !== "ratio" || metric.inputs.some((input) => isFormula(input.metric)));
  return (
    filtersOf({ aggregate, measures }).length > 0 ||
    measures.some(({ metric }) => isFormula(metric)) ||
    aggregate.relations.some(({ name, values }) =>
      values.some((value) => "sql" in value && used.get(name)?.has(value.name) === true),
    )
  );
}

const filtersOf = ({
  aggregate,
  measures,
}: Pick<AskedGrouping, "aggregate" | "measures">): Leaf["filters"] => [
  ...measures.flatMap(({ metric }) => filtersIn(metric)),
  ...(aggregate.saved?.filters ?? []),
];

/** The value that says whose a row is. */
function ownValues({ relations }: Aggregate, name: string): Set<string> {
  const relation = relations.find((each) => each.name === name);
  return new Set(relation?.rows === undefined ? [] : [ownerValue(relation, relation.rows.column)]);
}

type Use = (relation: string, value: string) => void;

function useLeaf({ facts, dimensions }: Aggregate, leaf: Leaf, names: ReadonlySet<string>, use: Use): void {
  const { fact, time, value, nonAdditive } = leaf;
  const joins = facts.find(({ relation }) => relation === fact)?.joins ?? [];
  const nameOf = (position: number | undefined): string => joins[position ?? -1]?.to ?? fact;
  const used = new Set([...names].map((name) => withoutMetricTime(name, time)));
  const own = new Set([time, nonAdditive?.dimension, ...(nonAdditive?.groupings ?? [])]);
  for (const { name, places } of dimensions) {
    const place = places.find((each) => each.fact === fact);
    const isUsed = used.has(name) || own.has(name);
    if (place === undefined || !isUsed) continue;
    use(nameOf(place.join), place.value);
    for (const position of place.join === undefined ? [] : joinsTo(joins, place.join)) {
      const { from, on = [], onFact = [], valid } = joins[position] ?? {};
      for (const [key] of on) use(nameOf(from), key);
      for (const [key] of onFact) use(fact, key);
      for (const [, toKey] of [...on, ...onFact]) use(nameOf(position), toKey);
      for (const bound of valid === undefined ? [] : [valid.from, valid.until]) use(nameOf(position), bound);
    }
  }
  if (value !== undefined) use(fact, value);
}

const unitsIn = (metric: MetricTree): readonly SpineUnits[] =>
  metric.kind === "leaf"
    ? []
    : metric.inputs.flatMap(({ offsetUnits, metric: input }) => [
        ...unitsIn(input),
        ...(offsetUnits === undefined ? [] : [offsetUnits]),
      ]);

function filtersIn(metric: AskedGrouping["measures"][number]["metric"]): Leaf["filters"] {
  if (metric.kind === "leaf") return [...metric.filters, ...(metric.converted?.filters ?? [])];
  return [
    ...metric.filters,
    ...metric.inputs.flatMap((input) => [...input.filters, ...filtersIn(input.metric)]),
  ];
}
