import type { Grain, Period } from "./grains.js";

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

/** dbt conversion metric: rows of `fact` that follow a base row with equal `on` values within `window`. */
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

/** The dimension that a name means where `metric_time` is `time`: of what is made of it, too. */
export function withoutMetricTime(name: string, time: string | undefined): string {
  if (time === undefined) return name;
  if (name === METRIC_TIME) return time;
  return name.startsWith(`${METRIC_TIME}__`) ? time + name.slice(METRIC_TIME.length) : name;
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
