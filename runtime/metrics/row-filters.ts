import type { Grain } from "../core/model/aggregate/grains.js";
import {
  dimensionOfPart,
  type FixedFilter,
  type Leaf,
  type ResultOfEntity,
} from "../core/model/aggregate/metric.js";
import type { AskedGroup } from "../core/model/aggregate/aggregate.js";
import {
  type ColumnCondition,
  columnConditions,
  columnsOf,
  type Condition,
  isGroup,
  mapConditions,
  OWN_ROWS,
} from "../core/model/query.js";
import { join, projectParts, sql } from "../core/warehouse/sql.js";
import type { ResultColumns } from "../core/warehouse/warehouse.js";
import type { Part } from "../core/warehouse/aggregate-dialect.js";
import {
  deferredCondition,
  type GroupsBuild,
  isTimeOf,
  type LeafUse,
  named,
  type Placed,
} from "./groups-build.js";
import type { ColumnExpression, ColumnValue, FilterRows, PlanStep, ReadColumns } from "./plan.js";
import { entityResultName, joinEntityResults } from "./results-of-entities.js";
import { isOnlyOn, onRows, type RowSet } from "./row-set.js";

/** The filters and conditions of rows. */
export interface RowFilters {
  readonly filters: readonly FixedFilter[];
  readonly conditions: readonly Placed[];
}

/** Filters on the time of a leaf, which restrict the periods, and the others, which restrict the rows. */
export interface TimeFilters {
  readonly onTime: RowFilters;
  readonly others: RowFilters;
}

/** The conditions on the rows of all measures. */
export function rowConditions({ conditions, isEarlier, isOfFilter }: GroupsBuild): readonly Placed[] {
  if (isOfFilter === true) return [];
  const otherPeriod = isEarlier === true ? "period" : "earlier period";
  return conditions.flatMap((condition, position) => {
    const on = onOf(condition);
    const isOfRows = condition.name !== OWN_ROWS && measureOf(condition) === undefined;
    return isOfRows && on !== "results" && on !== otherPeriod ? [{ condition, position }] : [];
  });
}

/** The conditions on the results of measures. */
export function resultConditions({ conditions }: GroupsBuild): readonly Placed[] {
  return conditions.flatMap((condition, position) =>
    onOf(condition) === "results" ? [{ condition, position }] : [],
  );
}

/** A group of conditions is on results alone, or on rows alone. */
export function onOf(condition: Condition): ColumnCondition["on"] {
  const [first] = columnConditions([condition]);
  return first?.on;
}

/** Conditions on the rows of single measures: their positions by the measure's name. */
export function conditionsOfMeasure({ conditions }: GroupsBuild, measure: string): readonly Placed[] {
  return conditions.flatMap((condition, position) =>
    measureOf(condition) === measure ? [{ condition, position }] : [],
  );
}

/** A measure's own conditions are in no group. */
const measureOf = (condition: Condition): string | undefined =>
  isGroup(condition) ? undefined : condition.measure;

export function dimensionsIn(filters: readonly FixedFilter[]): readonly string[] {
  return filters.flatMap((filter) =>
    filter.flatMap((part) => (typeof part === "string" ? [] : [dimensionOfPart(part)])),
  );
}

/** What holds for the rows of a leaf: the filters of its metric, of the saved query and of the request. */
export function filtersOf(
  build: GroupsBuild,
  { leaf, filters }: Pick<LeafUse, "leaf" | "filters">,
): RowFilters {
  const saved = build.isOfFilter === true ? [] : (build.grouping.aggregate.saved?.filters ?? []);
  const all = { filters: [...filters, ...saved], conditions: rowConditions(build) };
  return build.ignoresTime === true ? splitByTime(leaf, all).others : all;
}

/** Separates filters on nothing but the time of a leaf from the others. */
export function splitByTime(leaf: Leaf, all: RowFilters): TimeFilters {
  const isOnTime = (filter: FixedFilter): boolean => {
    const names = dimensionsIn([filter]);
    return names.length > 0 && names.every((name) => isTimeOf(leaf, name));
  };
  const onTime = ({ condition }: Placed): boolean => isOnlyOn(condition, (name) => isTimeOf(leaf, name));
  return {
    onTime: { filters: all.filters.filter(isOnTime), conditions: all.conditions.filter(onTime) },
    others: {
      filters: all.filters.filter((filter) => !isOnTime(filter)),
      conditions: all.conditions.filter((each) => !onTime(each)),
    },
  };
}

/** SQL of a dimension, or of the result of a metric, among rows, as expressions of the project see it. */
interface Resolve {
  readonly dimension: (read: ReadColumns, name: string, grain: Grain | undefined) => Part;
  readonly result?: (read: ReadColumns, of: ResultOfEntity) => Part;
}

const fixedCondition =
  (filter: FixedFilter, resolve: Resolve): ColumnExpression =>
  (read) =>
    projectParts(
      filter.map((part) => {
        if (typeof part === "string") return part;
        if (!("metric" in part)) return resolve.dimension(read, part.dimension, part.grain);
        if (resolve.result === undefined) throw new Error("The result of a metric is no period of time.");
        return resolve.result(read, part);
      }),
    );

/** A condition of a request on rows with these columns. */
export function conditionOn(
  { dialect }: GroupsBuild,
  columns: ResultColumns,
  { condition, position }: Placed,
): ColumnExpression {
  const compared = onRows(condition, columns);
  return ({ nameOf }) => {
    const [own = compared] = mapConditions([compared], (each) => {
      const column = nameOf(each.column);
      return column === each.column ? each : { ...each, column };
    });
    const read = columnsOf(compared).map((name) => ({ ...named(columns, name), name: nameOf(name) }));
    return deferredCondition(dialect, { condition: own, position }, read);
  };
}

/** The rows for which conditions of a request, and filters of the project, hold. */
export function filtered(
  build: GroupsBuild,
  rows: PlanStep,
  { filters, conditions }: RowFilters,
  { columns, resolve }: { readonly columns: ResultColumns; readonly resolve: Resolve },
): FilterRows {
  return {
    kind: "filter",
    rows,
    conditions: [
      ...conditions.map((placed) => conditionOn(build, columns, placed)),
      ...filters.map((filter) => fixedCondition(filter, resolve)),
    ],
    compared: conditions.flatMap(({ condition }) => columnsOf(onRows(condition, columns))),
  };
}

/** Rows that filters select. */
export function filteredRows(build: GroupsBuild, rows: RowSet, all: RowFilters): FilterRows {
  const { dialect } = build;
  const { columns, dimension } = rows;
  const divides = all.filters.flat().some((part) => typeof part === "string" && part.includes("/"));
  const resolve: Resolve = {
    dimension: ({ value }, name, asked) => {
      const { name: shown, column, grain: own } = dimension(name);
      const grain = asked ?? own;
      return grain === undefined
        ? value(shown)
        : dialect.comparedTime(dialect.truncated(value(shown), grain, column), grain, column);
    },
    result: ({ value }, of) => dialect.operand(value(entityResultName(all, of)), divides),
  };
  return filtered(build, joinEntityResults(build, rows, all), all, { columns, resolve });
}

export const allOf =
  (conditions: readonly ColumnExpression[], between: " AND " | " OR " = " AND "): ColumnExpression =>
  (read) =>
    sql`(${join(
      conditions.map((each) => each(read)),
      between,
    )})`;

/** Dimensions that rows need for filters and groups. */
export function neededDimensions(filters: RowFilters, groups: readonly AskedGroup[]): readonly string[] {
  return [
    ...groups.map(({ name }) => name),
    ...filters.conditions.flatMap(({ condition }) => columnsOf(condition)),
    ...dimensionsIn(filters.filters),
  ];
}

/** A value of a group among rows. */
export function groupOf({ dialect }: GroupsBuild, rows: RowSet, { name, grain }: AskedGroup): ColumnValue {
  const { column, name: shown } = rows.dimension(name);
  return grain === undefined ? shown : ({ value }) => dialect.truncated(value(shown), grain, column);
}
