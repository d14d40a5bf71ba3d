import type { Column, ColumnFilter, OwnRows, Pagination, Relation } from "./endpoint-parts.js";
import type { FilterOperator } from "./operators.js";

/** Units of time to which a time is truncated, from fine to coarse. */
export const GRAINS = [
  "microsecond",
  "millisecond",
  "second",
  "minute",
  "hour",
  "day",
  "week",
  "month",
  "quarter",
  "year",
] as const;
export type Grain = (typeof GRAINS)[number];

export function isGrain(text: string): text is Grain {
  return (GRAINS as readonly string[]).includes(text);
}

/** Negative where `a` is finer than `b`. */
export function compareGrains(a: Grain, b: Grain): number {
  return GRAINS.indexOf(a) - GRAINS.indexOf(b);
}

/** Whether values of the grain are days: first days of the period. Those of finer grains are times in UTC. */
export function isDayGrain(grain: Grain): boolean {
  return compareGrains(grain, "day") >= 0;
}

/** Parts of a date, as numbers; of `dow` Monday is 1. */
export const DATE_PARTS = ["year", "quarter", "month", "day", "dow", "doy"] as const;
export type DatePart = (typeof DATE_PARTS)[number];

/** A value of a row: a column, or an expression of the dbt project over the columns of its relation. */
export type AggregateValue = {
  readonly name: string;
  /** Time zone of a `timestamp` without one. */
  readonly timezone?: string;
} & ({ readonly column: string } | { readonly sql: string });

/** A relation that an aggregate reads. */
export interface AggregateRelation {
  readonly name: string;
  readonly relation: Relation;
  readonly values: readonly AggregateValue[];
  /** Callers read the rows of their organization only. */
  readonly rows?: OwnRows;
}

/**
 * A left join of many rows to one. `to`: a relation; `on`: values of the two sides that are equal; `from`: the join (its
 * position) whose rows have the keys, else the fact; `onFact`: keys that the fact has all the same. `valid`: of rows that
 * hold from a value of theirs on, before another or for ever: those at the time of the measure. `grain`: keys are times,
 * whose periods are equal.
 */
export interface AggregateJoin {
  readonly to: string;
  readonly from?: number;
  readonly on: readonly (readonly [key: string, toKey: string])[];
  readonly onFact?: readonly (readonly [key: string, toKey: string])[];
  readonly valid?: { readonly from: string; readonly until: string };
  readonly grain?: Grain;
}

/** A relation whose rows are aggregated, with what they are joined to. */
export interface Fact {
  readonly relation: string;
  readonly joins: readonly AggregateJoin[];
}

/** Where a fact has a dimension: a value of its own relation, or of a join (by its position). */
export interface DimensionPlace {
  readonly fact: string;
  readonly value: string;
  readonly join?: number;
}

/** What is made of the days of a time: a part of the date, or the period that a column of a time spine has for it. */
export type DerivedTime = { readonly time: string } & (
  { readonly part: DatePart } | { readonly spine: string; readonly value: string }
);

/** What rows are grouped and filtered by. `grain`: of a time, the finest that it has. */
export interface AggregateDimension {
  readonly name: string;
  readonly grain?: Grain;
  readonly derived?: DerivedTime;
  readonly places: readonly DimensionPlace[];
}

/** The time of a measure, whatever its column: a group and a filter of every metric. */
export const METRIC_TIME = "metric_time";

/** SQL of the dbt project, and what it names between its texts; conditions are joined by AND. */
export type FilterPart = string | { readonly dimension: string; readonly grain?: Grain } | ResultOfEntity;
export type FixedFilter = readonly FilterPart[];

/** The result of a metric by an entity, for rows whose own entity (`on`, a dimension) is the same. */
export interface ResultOfEntity {
  readonly metric: MetricTree;
  readonly by: string;
  readonly on: string;
}

/** A number of periods. */
export interface Period {
  readonly count: number;
  readonly grain: Grain;
}

export const AGGREGATIONS = [
  "sum",
  "count",
  "count_distinct",
  "average",
  "min",
  "max",
  "percentile",
  "sum_boolean",
] as const;
export type Aggregation = (typeof AGGREGATIONS)[number];

/** What rows of a fact lead to. `on`: values of a row, and of what it leads to, that are equal; at most `window` later. */
export interface Conversion {
  readonly fact: string;
  readonly value: string;
  readonly time: string;
  readonly on: readonly (readonly [value: string, converted: string])[];
  readonly window?: Period;
  readonly filters: readonly FixedFilter[];
}

/** Aggregated values of a fact. Without `value`: `count` of all rows. */
export interface Leaf {
  readonly kind: "leaf";
  readonly fact: string;
  readonly value?: string;
  readonly aggregation: Aggregation;
  /** Its values are totals of values of this type. */
  readonly totalsOf?: string;
  /** Of `percentile`: between 0 and 1. */
  readonly percentile?: number;
  /** A value of the data instead of one between two of them. */
  readonly isDiscrete?: true;
  /** The dimension that is `metric_time`. */
  readonly time?: string;
  readonly filters: readonly FixedFilter[];
  /** Rows of another fact count instead, each where the last of these before it is. */
  readonly converted?: Conversion;
  /** Only rows of the first or the last time of a period count, of each of these values. */
  readonly nonAdditive?: {
    readonly dimension: string;
    readonly choice: "min" | "max";
    readonly groupings: readonly string[];
  };
  /** Rows for periods without any. */
  readonly onSpine?: true;
  /** What stands for null. */
  readonly fill?: number;
  readonly cumulative?: {
    readonly window?: Period;
    readonly toGrain?: Grain;
    readonly periodAggregation: "first" | "last" | "average";
  };
}

/** A part of a formula. */
export interface FormulaInput {
  /** Its name in the formula. */
  readonly alias: string;
  readonly metric: MetricTree;
  readonly filters: readonly FixedFilter[];
  readonly offset?: Period;
  readonly offsetToGrain?: Grain;
  readonly offsetUnits?: SpineUnits;
}

/** A number of the periods that a value of a time spine names. */
export interface SpineUnits {
  readonly count: number;
  readonly spine: string;
  readonly value: string;
}

/** A formula of the dbt project over its inputs; of a ratio `numerator / denominator` as floats. */
export interface Formula {
  readonly kind: "formula" | "ratio";
  /** Texts and aliases in turn; of a ratio none. */
  readonly parts: readonly FormulaPart[];
  readonly inputs: readonly FormulaInput[];
  readonly filters: readonly FixedFilter[];
}
export type FormulaPart = string | { readonly alias: string };

export type MetricTree = Leaf | Formula;

/** A group that callers may ask for. `grains`: of a time, from fine to coarse; `grain`: where none is asked. */
export interface AggregateGroup {
  readonly name: string;
  readonly grains?: readonly Grain[];
  readonly grain?: Grain;
}

/** A condition of a measure on a column of its rows, as a request would write it. */
export interface MeasureCondition {
  readonly column: string;
  readonly operator: FilterOperator;
  readonly value: string | readonly string[];
}

/** A measure of a model, or a dbt metric. */
export interface AggregateMeasure {
  readonly name: string;
  readonly condition?: MeasureCondition;
  readonly groups: readonly AggregateGroup[];
  readonly metric: MetricTree;
}

/** A relation (by its name among `relations`) with a row per period, and its value that is the period. */
export interface TimeSpine {
  readonly relation: string;
  readonly value: string;
  readonly grain: Grain;
}

/** A group as it is asked; its key in a row. */
export interface AskedGroup {
  readonly key: string;
  readonly name: string;
  readonly grain?: Grain;
}

/** What a saved query fixes. */
export interface SavedQuery {
  readonly groups: readonly AskedGroup[];
  readonly filters: readonly FixedFilter[];
  readonly sort: readonly (readonly [key: string, direction: "ASC" | "DESC"])[];
  readonly limit?: number;
}

/** A relation with a row for each combination of values of a fact, which answers in its place where it has all that is asked. */
export interface RollUp {
  readonly of: string;
  /** Its dbt node (`unique_id`), by whose builds it is known whether it has the last rows of the fact. */
  readonly node: string;
  readonly relation: Relation;
  /** Values of the fact with their columns. `grain`: of a time, the periods that the column has. */
  readonly groups: readonly { readonly value: string; readonly column: string; readonly grain?: Grain }[];
  readonly totals: readonly {
    readonly aggregation: Aggregation;
    readonly value: string;
    readonly column: string;
  }[];
}

/** Sums and counts by group, over the rows of an endpoint or of several relations. */
export interface Aggregate {
  /** What measures are called in requests. */
  readonly of: "measures" | "metrics";
  readonly relations: readonly AggregateRelation[];
  readonly facts: readonly Fact[];
  readonly dimensions: readonly AggregateDimension[];
  readonly measures: readonly AggregateMeasure[];
  readonly spines: readonly TimeSpine[];
  /** What rows of groups may have: every group in every grain, and every measure. */
  readonly columns: readonly Column[];
  /** Columns that callers filter by with operators, beside the endpoint's own. */
  readonly filters: readonly ColumnFilter[];
  /** The rows themselves are not served. */
  readonly rows?: false;
  readonly saved?: SavedQuery;
  readonly rollUps?: readonly RollUp[];
}

/** What a request asks of groups beyond their measures. */
export interface GroupOptions {
  readonly top?: TopGroups;
  readonly totals?: true;
  readonly compare?: ComparedPeriod;
}

/** The first groups of an order. `others`: with a row for all others. */
export interface TopGroups {
  readonly count: number;
  readonly by: string;
  readonly direction: "ASC" | "DESC";
  readonly others: boolean;
}

/** The values of an earlier period, beside those asked. */
export interface ComparedPeriod {
  /** How much earlier. */
  readonly shift: Period;
  /** Names of the groups that are its time. */
  readonly times: readonly string[];
}

/** An aggregate as requests are served from it: two with the same digest have the same statements. */
export interface ServedAggregate extends Aggregate {
  readonly digest: string;
}

/** What a request asks of an aggregate. */
export interface AskedGrouping {
  readonly aggregate: ServedAggregate;
  readonly groups: readonly AskedGroup[];
  readonly measures: readonly AggregateMeasure[];
  readonly options?: GroupOptions;
}

/** The positions of the joins that lead to one of a fact, itself last. */
export function joinsTo(joins: readonly AggregateJoin[], position: number): readonly number[] {
  const from = joins[position]?.from;
  return from === undefined || from >= position ? [position] : [...joinsTo(joins, from), position];
}

/** The dimension that a name means where `metric_time` is `time`: of what is made of it, too. */
export function withoutMetricTime(name: string, time: string | undefined): string {
  if (time === undefined) return name;
  if (name === METRIC_TIME) return time;
  return name.startsWith(`${METRIC_TIME}__`) ? time + name.slice(METRIC_TIME.length) : name;
}

/** The key of a group in a row: as it is asked. */
export function groupKey(name: string, grain: Grain | undefined): string {
  return grain === undefined ? name : `${name}__${grain}`;
}

/** All leaves of a metric. */
export function leavesOf(metric: MetricTree): readonly Leaf[] {
  return metric.kind === "leaf" ? [metric] : metric.inputs.flatMap((input) => leavesOf(input.metric));
}

/** The dimension that a part of a filter needs of the rows for which it holds. */
export const dimensionOfPart = (part: Exclude<FilterPart, string>): string =>
  "metric" in part ? part.on : part.dimension;

/** What filters compare of other metrics. */
export const resultsIn = (filters: readonly FixedFilter[]): readonly ResultOfEntity[] =>
  filters.flat().filter((part) => typeof part !== "string" && "metric" in part);

/** Whether callers may bound `metric_time` with dates: all metrics have one. */
export function hasRange({ of, measures }: Pick<Aggregate, "of" | "measures">): boolean {
  return of === "metrics" && measures.every(({ metric }) => hasTime(metric));
}

export function hasTime(metric: MetricTree): boolean {
  return metric.kind === "leaf"
    ? metric.time !== undefined
    : metric.inputs.every((input) => hasTime(input.metric));
}

/** Whether a metric may read periods of a time spine. */
export function needsSpine(metric: MetricTree): boolean {
  if (metric.kind === "leaf") return metric.cumulative !== undefined || metric.onSpine === true;
  return metric.inputs.some((input) => hasOffset(input) || needsSpine(input.metric));
}

/** Leaves whose values belong to a period: they are asked by time. */
export function timedLeaves(metric: MetricTree): readonly Leaf[] {
  if (metric.kind !== "leaf") return metric.inputs.flatMap(timedInput);
  const { window, toGrain } = metric.cumulative ?? {};
  return window === undefined && toGrain === undefined ? [] : [metric];
}

const timedInput = (input: FormulaInput): readonly Leaf[] =>
  hasOffset(input) ? leavesOf(input.metric) : timedLeaves(input.metric);

export const hasOffset = ({ offset, offsetToGrain, offsetUnits }: FormulaInput): boolean =>
  offset !== undefined || offsetToGrain !== undefined || offsetUnits !== undefined;

/** Everything that `group_by` may name. */
export function groupNames(groups: readonly AggregateGroup[]): readonly string[] {
  return groups.flatMap(({ name, grains, grain }) => [
    ...(grains === undefined || grain !== undefined ? [name] : []),
    ...(grains ?? []).map((each) => groupKey(name, each)),
  ]);
}

/** Rows of a grouping, where the endpoint says nothing of pages. */
export const GROUP_PAGES: Pagination = { defaultLimit: 10_000, maxLimit: 50_000, response: "list" };
