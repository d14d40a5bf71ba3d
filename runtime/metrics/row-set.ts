import { type AggregateJoin, type Grain } from "../core/model/aggregate.js";
import {
  type ColumnCondition,
  columnConditions,
  columnsOf,
  type Condition,
  mapConditions,
} from "../core/model/query.js";
import { join } from "../core/warehouse/sql.js";
import type { ResultColumn, ResultColumns } from "../core/warehouse/warehouse.js";
import { dimensionOf, type GroupsBuild, named } from "./groups-build.js";
import { compute, type JoinedRows, kept, type Named, type ColumnExpression, type PlanStep } from "./plan.js";
import { readRelation } from "./read-relation.js";

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

interface Wanted {
  readonly fact: string;
  readonly time?: string | undefined;
  /** Names of dimensions. */
  readonly dimensions: readonly string[];
  readonly values: readonly string[];
}

/** Where the rows of a fact have a dimension. */
interface PlacedDimension {
  readonly column: ResultColumn;
  readonly value: string;
  readonly join?: AggregateJoin | undefined;
}

/** The rows of a fact with what is wanted of them. */
export function rowSet(build: GroupsBuild, wanted: Wanted): RowSet {
  const { fact, time, values } = wanted;
  const { types, grouping } = build;
  const dimensions = [...new Set(wanted.dimensions)];
  const placed = dimensions.map((name) => placeOf(build, wanted, name));
  const prefix = unusedPrefix(dimensions);
  const columns = placed.map(({ column }) => column);
  const periods =
    grouping.aggregate.of === "metrics" ? columns.flatMap((column) => periodOf(build, column, time)) : [];
  const joined = joinedRows(build, wanted, placed, prefix);
  const shown = [...dimensions, ...values.map((name) => prefix + name)];
  const rows =
    periods.length === 0 ? joined : compute(joined, ...kept(shown), ...periods.map(({ of }) => of));
  return {
    rows,
    columns: [...columns, ...periods.map(({ column }) => column)],
    dimension: (name) => ({
      name,
      column: named(columns, name),
      grain: dimensionOf(build, name, time).grain,
    }),
    value: (name) => ({ name: prefix + name, column: named(types.get(fact) ?? [], name) }),
  };
}

function placeOf(build: GroupsBuild, { fact, time }: Wanted, name: string): PlacedDimension {
  const place = dimensionOf(build, name, time).places.find((each) => each.fact === fact);
  if (place === undefined) throw new Error(`${fact} has no dimension ${name}.`);
  const { value } = place;
  const of = place.join === undefined ? undefined : joinsOf(build, fact)[place.join];
  const column = { ...named(build.types.get(of?.to ?? fact) ?? [], value), name };
  return { value, join: of, column: of === undefined ? column : build.dialect.joined(column) };
}

function joinsOf({ grouping }: GroupsBuild, fact: string): readonly AggregateJoin[] {
  const found = grouping.aggregate.facts.find(({ relation }) => relation === fact);
  if (found === undefined) throw new Error(`An aggregate has no fact ${fact}.`);
  return found.joins;
}

function joinedRows(
  build: GroupsBuild,
  { fact, values }: Wanted,
  placed: readonly PlacedDimension[],
  prefix: string,
): PlanStep {
  const { dialect, types } = build;
  const joins = [...new Set(placed.flatMap((place) => place.join ?? []))];
  const read = (relation: string, of: AggregateJoin | undefined, keys: readonly string[]): PlanStep =>
    readRelation(build, relation, [
      ...placed.flatMap((place): Named<string> =>
        place.join === of ? [[place.column.name, place.value]] : [],
      ),
      ...[...new Set(keys)].map((key) => [prefix + key, key] as const),
    ]);
  const keys = joins.flatMap(({ on }) => on.map(([key]) => key));
  const rows = read(fact, undefined, [...values, ...keys]);
  const typeOf = (relation: string, name: string): ResultColumn => named(types.get(relation) ?? [], name);
  const others = joins.map((of): JoinedRows => ({
    rows: read(
      of.to,
      of,
      of.on.map(([, toKey]) => toKey),
    ),
    unmatched: "null",
    on: (row, other) =>
      join(
        of.on.map(([key, toKey]) =>
          dialect.equals(row.value(prefix + key), other.value(prefix + toKey), [
            typeOf(fact, key),
            typeOf(of.to, toKey),
          ]),
        ),
        " AND ",
      ),
  }));
  return others.length === 0 ? rows : { kind: "join", rows, others };
}

/** Name of the period of a time, with which operators compare: they see what a group shows. */
export const periodName = (name: string): string => `${name} period`;

interface PeriodOfTime {
  readonly column: ResultColumn;
  readonly of: readonly [name: string, period: ColumnExpression];
}

/** The period of a time, where a condition compares it. */
function periodOf(
  build: GroupsBuild,
  column: ResultColumn,
  time: string | undefined,
): readonly PeriodOfTime[] {
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
