import type { Grain } from "../core/model/aggregate/grains.js";
import {
  type ColumnCondition,
  columnConditions,
  columnsOf,
  type Condition,
  mapConditions,
} from "../core/model/query.js";
import type { ResultColumn, ResultColumns } from "../core/warehouse/warehouse.js";
import { dimensionOf, type GroupsBuild, named, withoutNull } from "./groups-build.js";
import { joinedRows, joinsOf, keyName, type PlacedDimension, type Wanted } from "./joined-rows.js";
import { compute, kept, type ColumnExpression, type PlanStep } from "./plan.js";

/** Rows of a fact, joined: a column per dimension and per value. */
export interface RowSet {
  readonly rows: PlanStep;
  /** The dimensions, as filters name them. */
  readonly columns: ResultColumns;
  readonly dimension: (name: string) => RowColumn;
  readonly value: (name: string) => RowColumn;
}

export interface RowColumn {
  /** Its name among the rows. */
  readonly name: string;
  /** Of a time: the finest that it has. */
  readonly grain?: Grain | undefined;
  readonly column: ResultColumn;
}

/** The rows of a fact with what is wanted of them. */
export function rowSet(build: GroupsBuild, wanted: Wanted): RowSet {
  const { fact, time, values } = wanted;
  const { types, grouping } = build;
  const dimensions = [...new Set(wanted.dimensions)];
  const placed = dimensions.map((name) => placeOf(build, wanted, name));
  const prefix = unusedPrefix(dimensions);
  const parts = placed.flatMap(({ column }) => partOf(build, column, time));
  const columns = placed.map(
    ({ column }) => parts.find(({ column: { name } }) => name === column.name)?.column ?? column,
  );
  const periods =
    grouping.aggregate.of === "metrics" ? columns.flatMap((column) => periodOf(build, column, time)) : [];
  const joined = joinedRows(build, wanted, placed, prefix);
  const shown = [...dimensions, ...values.map((name) => keyName(prefix, undefined, name))];
  const others = shown.filter((name) => !parts.some(({ column }) => column.name === name));
  const made = [...parts, ...periods].map(({ of }) => of);
  const rows = made.length === 0 ? joined : compute(joined, ...kept(others), ...made);
  return {
    rows,
    columns: [...columns, ...periods.map(({ column }) => column)],
    dimension: (name) => ({
      name,
      column: named(columns, name),
      grain: dimensionOf(build, name, time).grain,
    }),
    value: (name) => ({
      name: keyName(prefix, undefined, name),
      column: named(types.get(fact) ?? [], name),
    }),
  };
}

function placeOf(build: GroupsBuild, { fact, time }: Wanted, name: string): PlacedDimension {
  const place = dimensionOf(build, name, time).places.find((each) => each.fact === fact);
  if (place === undefined) throw new Error(`${fact} has no dimension ${name}.`);
  const { value, join: position } = place;
  const of = position === undefined ? undefined : joinsOf(build, fact)[position];
  const column = { ...named(build.types.get(of?.to ?? fact) ?? [], value), name };
  if (of === undefined) return { value, column };
  // Rows that are joined to none have null.
  if (!build.dialect.canBeNull(column)) throw withoutNull("group_by", name);
  return { value, join: position, column: build.dialect.joined(column) };
}

/** Name of the period of a time, with which operators compare: they see what a group shows. */
export const periodName = (name: string): string => `${name} period`;

/** A column that is made of a time. */
interface MadeOfTime {
  readonly column: ResultColumn;
  readonly of: readonly [name: string, made: ColumnExpression];
}

/** The part of a date that a dimension is. */
function partOf(build: GroupsBuild, column: ResultColumn, time: string | undefined): readonly MadeOfTime[] {
  const { dialect } = build;
  const { derived } = dimensionOf(build, column.name, time);
  if (derived === undefined || !("part" in derived)) return [];
  const made: ColumnExpression = ({ value }) => dialect.datePart(value(column.name), derived.part, column);
  return [{ column: { ...dialect.datePartColumn, name: column.name }, of: [column.name, made] }];
}

/** The period of a time, where a condition compares it. */
function periodOf(build: GroupsBuild, column: ResultColumn, time: string | undefined): readonly MadeOfTime[] {
  const { dialect } = build;
  const { grain } = dimensionOf(build, column.name, time);
  if (grain === undefined || !isCompared(build, column.name)) return [];
  const name = periodName(column.name);
  return [
    {
      column: { ...dialect.periodColumn(grain), name },
      of: [name, ({ value }) => dialect.truncated(value(column.name), grain, column)],
    },
  ];
}

/** Whether a condition on a column is more than a bound of days. */
const isCompared = ({ conditions }: GroupsBuild, name: string): boolean =>
  columnConditions(conditions).some((condition) => condition.column === name && !isRange(condition));

/** Whether a condition is a bound of days. */
export const isRange = ({ operator }: Condition): boolean => operator === ">=" || operator === "<=";

/** Whether a condition is on certain columns alone, and on one at least. */
export function isOnlyOn(condition: Condition, isWanted: (column: string) => boolean): boolean {
  const columns = columnsOf(condition);
  return columns.length > 0 && columns.every(isWanted);
}

/** A condition on the columns of rows: operators compare with the period of a time, a range with its days. */
export function onRows(condition: Condition, columns: ResultColumns): Condition {
  const [own = condition] = mapConditions([condition], (each) => periodCondition(each, columns));
  return own;
}

function periodCondition(condition: ColumnCondition, columns: ResultColumns): ColumnCondition {
  if (isRange(condition)) return condition;
  const column = comparedName(condition.column, columns);
  return column === condition.column ? condition : { ...condition, column };
}

/** The column that operators compare with: of a time its period. */
export function comparedName(name: string, columns: ResultColumns): string {
  const period = periodName(name);
  return columns.some((column) => column.name === period) ? period : name;
}

/** No dimension begins with it. */
function unusedPrefix(names: readonly string[]): string {
  let prefix = "value ";
  while (names.some((name) => name.startsWith(prefix))) prefix += "_";
  return prefix;
}
