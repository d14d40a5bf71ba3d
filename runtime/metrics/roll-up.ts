import { compareGrains, type DatePart, type Grain, isGrain } from "../core/model/aggregate/grains.js";
import {
  type FixedFilter,
  hasOffset,
  type Leaf,
  leavesOf,
  METRIC_TIME,
  type MetricTree,
  resultsIn,
  withoutMetricTime,
} from "../core/model/aggregate/metric.js";
import {
  type AggregateDimension,
  type AskedGrouping,
  type Fact,
  joinsTo,
  type RollUp,
} from "../core/model/aggregate/aggregate.js";
import { columnConditions, type Condition, OWN_ROWS } from "../core/model/query.js";
import { named } from "./groups-build.js";
import { isRange } from "./row-set.js";

/** The fact that a roll-up is, in a grouping that reads it: no semantic model has a space in its name. */
export const rolledUpName = ({ of }: RollUp): string => `${of} rolled up`;

export const totalName = (aggregation: string, value: string): string => `${aggregation} of ${value}`;

/** What a request asks of the rows of a fact. */
interface Asked {
  readonly grouping: AskedGrouping;
  readonly conditions: readonly Condition[];
  readonly rollUp: RollUp;
}

/** The grouping that reads a roll-up in place of its fact; null where the roll-up does not have all that is asked. `typeOf`: of a value of the fact. */
export function rolledUp(asked: Asked, typeOf: (value: string) => string): AskedGrouping | null {
  const { grouping, conditions, rollUp } = asked;
  const { aggregate, measures } = grouping;
  const leaves = measures.flatMap(({ metric }) => leavesOf(metric)).filter(({ fact }) => fact === rollUp.of);
  const isOfMeasures = columnConditions(conditions).some(({ measure }) => measure !== undefined);
  if (leaves.length === 0 || isOfMeasures || !hasOwner(asked)) return null;
  if (!measures.every(({ metric }) => isCovered(asked, metric, [], false))) return null;
  const change = (metric: MetricTree): MetricTree =>
    metric.kind === "leaf"
      ? metric.fact === rollUp.of
        ? totalsLeaf(metric, rollUp, typeOf)
        : metric
      : { ...metric, inputs: metric.inputs.map((input) => ({ ...input, metric: change(input.metric) })) };
  return {
    ...grouping,
    aggregate: withRollUp(aggregate, rollUp),
    measures: measures.map((measure) => ({ ...measure, metric: change(measure.metric) })),
  };
}

function totalsLeaf(leaf: Leaf, rollUp: RollUp, typeOf: (value: string) => string): Leaf {
  const { aggregation, value = "" } = leaf;
  return {
    ...leaf,
    fact: rolledUpName(rollUp),
    value: totalName(aggregation, value),
    totalsOf: typeOf(value),
  };
}

/** The aggregate with the roll-up as a further fact. Its values have the names of those that they are. */
function withRollUp(aggregate: AskedGrouping["aggregate"], rollUp: RollUp): AskedGrouping["aggregate"] {
  const { relations, facts, dimensions } = aggregate;
  const name = rolledUpName(rollUp);
  const own = named(relations, rollUp.of);
  const columnOf = (column: string): string =>
    rollUp.groups.find(({ value }) => isColumn(named(own.values, value), column))?.column ?? column;
  const zoneOf = (value: string) => {
    const { timezone } = named(own.values, value);
    return timezone === undefined ? {} : { timezone };
  };
  const relation = {
    name,
    relation: rollUp.relation,
    values: [
      ...rollUp.groups.map(({ value, column }) => ({ name: value, column, ...zoneOf(value) })),
      ...rollUp.totals.map(({ aggregation, value, column }) => ({
        name: totalName(aggregation, value),
        column,
      })),
    ],
    ...(own.rows && { rows: { ...own.rows, column: columnOf(own.rows.column) } }),
  };
  const fact = factOf(facts, rollUp);
  return {
    ...aggregate,
    relations: [relation, ...relations],
    facts: [...facts, { relation: name, joins: fact?.joins ?? [] }],
    dimensions: dimensions.map((dimension) => ({
      ...dimension,
      places: dimension.places.flatMap((place) =>
        place.fact === rollUp.of ? [place, { ...place, fact: name }] : [place],
      ),
    })),
  };
}

const factOf = (facts: readonly Fact[], { of }: RollUp): Fact | undefined =>
  facts.find(({ relation }) => relation === of);

const isColumn = (value: object, column: string): boolean => "column" in value && value.column === column;

/** Whether the roll-up says whose its rows are, where the fact does. */
function hasOwner({ grouping, rollUp }: Asked): boolean {
  const { rows, values } = named(grouping.aggregate.relations, rollUp.of);
  return (
    rows === undefined ||
    rollUp.groups.some(
      ({ value, grain }) => grain === undefined && isColumn(named(values, value), rows.column),
    )
  );
}

/** Whether all leaves of the fact follow from the totals. `filters`: of the metrics around; `byPeriod`: values of single periods are read. */
function isCovered(
  asked: Asked,
  metric: MetricTree,
  filters: readonly FixedFilter[],
  byPeriod: boolean,
): boolean {
  const all = [...filters, ...metric.filters];
  if (metric.kind === "leaf") return metric.fact !== asked.rollUp.of || hasLeaf(asked, metric, all, byPeriod);
  return metric.inputs.every((input) =>
    isCovered(asked, input.metric, [...all, ...input.filters], byPeriod || hasOffset(input)),
  );
}

function hasLeaf(asked: Asked, leaf: Leaf, filters: readonly FixedFilter[], byPeriod: boolean): boolean {
  const { rollUp, grouping, conditions } = asked;
  const { aggregation, value, nonAdditive, converted, cumulative, onSpine, time } = leaf;
  const isTotal = rollUp.totals.some((total) => total.aggregation === aggregation && total.value === value);
  if (!isTotal || nonAdditive !== undefined || converted !== undefined) return false;
  // Each distinct value counts from its first period on: states do not say which these are.
  if (aggregation === "count_distinct" && cumulative !== undefined) return false;
  const all = [...filters, ...(grouping.aggregate.saved?.filters ?? [])];
  if (resultsIn(all).length > 0) return false;
  const ofPeriods = byPeriod || cumulative !== undefined || onSpine === true;
  const uses: readonly Use[] = [
    ...grouping.groups.map(({ name, grain }) => ({ name, grain: grain ?? null })),
    ...columnConditions(conditions)
      .filter(({ name, on }) => name !== OWN_ROWS && on !== "results")
      .map((condition) => ({ name: condition.column, grain: isRange(condition) ? ("day" as const) : null })),
    ...all
      .flat()
      .flatMap((part): readonly Use[] =>
        typeof part === "string" || "metric" in part
          ? []
          : [{ name: part.dimension, grain: part.grain ?? null }],
      ),
    ...(ofPeriods ? [{ name: METRIC_TIME, grain: null }] : []),
  ];
  return (time !== undefined || !ofPeriods) && uses.every((use) => hasDimension(asked, time, use));
}

/** A dimension that is asked. `grain`: of a time; null: the finest that it has. */
interface Use {
  readonly name: string;
  readonly grain: Grain | null;
}

/** Whether the rows of the roll-up have a dimension of the fact, as its rows have it. */
function hasDimension({ grouping, rollUp }: Asked, time: string | undefined, use: Use): boolean {
  const { dimensions, facts } = grouping.aggregate;
  const name = withoutMetricTime(use.name, time);
  const dimension = dimensions.find((each) => each.name === name);
  const place = dimension?.places.find(({ fact }) => fact === rollUp.of);
  if (dimension === undefined || place === undefined) return false;
  if (place.join === undefined) return hasValue(rollUp, place.value, grainOf(dimension, use));
  const joins = factOf(facts, rollUp)?.joins ?? [];
  return joinsTo(joins, place.join).every((position) => {
    const { from, on = [], onFact = [], valid, grain } = joins[position] ?? {};
    if (valid !== undefined) return false;
    const keys = [...(from === undefined ? on : []), ...onFact];
    return keys.every(([key]) => hasValue(rollUp, key, grain ?? null));
  });
}

/** The longest periods from which a dimension follows; null for a value that is no time. */
function grainOf({ grain, derived }: AggregateDimension, use: Use): Grain | null {
  if (derived !== undefined) return "part" in derived ? partGrain(derived.part) : null;
  return grain === undefined ? null : (use.grain ?? grain);
}

const partGrain = (part: DatePart): Grain => (part !== "day" && isGrain(part) ? part : "day");

function hasValue({ groups }: RollUp, name: string, grain: Grain | null): boolean {
  const found = groups.find(({ value }) => value === name);
  if (found?.grain === undefined) return found !== undefined && grain === null;
  return grain !== null && isWithin(found.grain, grain);
}

/** Whether each period of a grain is within one of another: a week is within none but itself. */
const isWithin = (grain: Grain, outer: Grain): boolean =>
  grain === outer || (compareGrains(grain, outer) < 0 && grain !== "week");
