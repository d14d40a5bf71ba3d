import type { Column, ColumnFilter, OwnRows, Relation } from "../endpoint-parts.js";
import type { FilterOperator } from "../operators.js";
import type { DatePart, Grain, Period } from "./grains.js";
import { type Aggregation, type FixedFilter, hasTime, type MetricTree } from "./metric.js";

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

/** The value that is the column of the caller's organization: another letter case may name it. */
export function ownerValue({ values }: AggregateRelation, column: string): string {
  return values.find((value) => "column" in value && value.column === column)?.name ?? column;
}

/**
 * A left join of many rows to one. `to`: a relation; `on`: values of the two sides that are equal; `from`: the join (its
 * position) whose rows have the keys, else the fact. `onFact`: further keys, compared with the fact itself. `valid`: the
 * joined rows are a slowly changing dimension (type 2): the row whose `[from, until)` holds the measure's time. `grain`: keys
 * are times, whose periods are equal.
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

/** The key of a group in a row: as it is asked. */
export function groupKey(name: string, grain: Grain | undefined): string {
  return grain === undefined ? name : `${name}__${grain}`;
}

/** Whether callers may bound `metric_time` with dates: all metrics have one. */
export function hasRange({ of, measures }: Pick<Aggregate, "of" | "measures">): boolean {
  return of === "metrics" && measures.every(({ metric }) => hasTime(metric));
}

/** Everything that `group_by` may name. */
export function groupNames(groups: readonly AggregateGroup[]): readonly string[] {
  return groups.flatMap(({ name, grains, grain }) => [
    ...(grains === undefined || grain !== undefined ? [name] : []),
    ...(grains ?? []).map((each) => groupKey(name, each)),
  ]);
}
