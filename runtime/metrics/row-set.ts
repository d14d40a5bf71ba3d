import {
  type AggregateDimension,
  type AggregateRelation,
  type Fact,
  type Grain,
  type AskedGrouping,
  METRIC_TIME,
} from "../core/model/aggregate.js";
import {
  type ColumnCondition,
  columnsOf,
  type Condition,
  mapConditions,
  OWN_ROWS,
  type Selection,
} from "../core/model/query.js";
import { EMPTY, join, projectParts, sql, type Sql } from "../core/warehouse/sql.js";
import type { ResultColumn, ResultColumns } from "../core/warehouse/warehouse.js";
import type { AggregateDialect } from "../core/warehouse/aggregate-dialect.js";

/** What a statement of groups is made from. */
export interface GroupsBuild {
  readonly grouping: AskedGrouping;
  readonly conditions: readonly Condition[];
  /** The values of each relation, by its name, with their types in the database. */
  readonly types: ReadonlyMap<string, ResultColumns>;
  readonly dialect: AggregateDialect;
  /** Conditions on the time of a metric do not hold: its result is asked in other periods, which they restrict. */
  readonly ignoresTime?: true;
}

/** Rows of a fact, joined, as `s`: a column per dimension and per value. */
export interface RowSet {
  readonly select: Sql<Selection>;
  /** The dimensions, as filters name them. */
  readonly columns: ResultColumns;
  readonly dimension: (name: string) => RowColumn;
  readonly value: (name: string) => RowColumn;
}

export interface RowColumn {
  /** Of a time: the finest that it has. */
  readonly grain?: Grain | undefined;
  readonly column: ResultColumn;
  readonly sql: Sql<Selection>;
}

export function named<T extends { readonly name: string }>(list: readonly T[], name: string): T {
  const found = list.find((each) => each.name === name);
  if (found === undefined) throw new Error(`An aggregate names ${name}, which it does not have.`);
  return found;
}

/** A relation as `s`, with some of its values: only the rows of the caller's organization where it has others too. */
export function relationRows(
  { grouping, conditions, types, dialect }: GroupsBuild,
  name: string,
  values: readonly string[],
): Sql<Selection> {
  const relation = named(grouping.aggregate.relations, name);
  const { identifier } = dialect;
  const list = [...new Set(values)].map(
    (value) => sql`${valueOf(relation, value, dialect)} AS ${identifier(value)}`,
  );
  const position =
    relation.rows === undefined ? -1 : conditions.findIndex((condition) => condition.name === OWN_ROWS);
  const from = sql`FROM ${identifier(...relation.relation)} AS s`;
  const own = conditions[position];
  const known = types.get(name) ?? [];
  const proof =
    dialect.typeProof?.(
      known.map((column) => ({ value: valueOf(relation, column.name, dialect), column })),
    ) ?? EMPTY;
  if (own === undefined || relation.rows === undefined)
    return sql`(SELECT ${selected(list)} ${from}${proof})`;
  const { column } = relation.rows;
  const owner = { ...named(known, ownerValue(relation)), name: column };
  const condition = dialect.where({ ...own, column } as Condition, position, [owner]);
  return sql`(SELECT ${selected(list)} ${from} WHERE ${condition}${proof})`;
}

/** The value that is the column of the caller's organization. */
function ownerValue({ values, rows }: AggregateRelation): string {
  return (
    values.find((value) => "column" in value && value.column === rows?.column)?.name ?? rows?.column ?? ""
  );
}

/** A value of a relation that is read as `s`. */
export function valueOf(relation: AggregateRelation, name: string, { identifier }: AggregateDialect): Sql {
  const value = named(relation.values, name);
  return "column" in value ? sql`s.${identifier(value.column)}` : projectParts([value.sql]);
}

/** `1` where a statement needs rows without a column. */
export function selected(list: readonly Sql<Selection>[]): Sql<Selection> {
  return list.length === 0 ? sql`1` : join(list, ", ");
}

function factOf({ grouping }: GroupsBuild, name: string): Fact {
  const found = grouping.aggregate.facts.find(({ relation }) => relation === name);
  if (found === undefined) throw new Error(`An aggregate has no fact ${name}.`);
  return found;
}

/** The dimension that a name means for a fact whose `metric_time` is `time`. */
export function dimensionOf(
  { grouping }: GroupsBuild,
  name: string,
  time: string | undefined,
): AggregateDimension {
  return named(grouping.aggregate.dimensions, name === METRIC_TIME ? (time ?? name) : name);
}

interface Wanted {
  readonly fact: string;
  readonly time?: string | undefined;
  /** Names of dimensions. */
  readonly dimensions: readonly string[];
  readonly values: readonly string[];
}

/** The rows of a fact with what is wanted of them. */
export function rowSet(build: GroupsBuild, { fact, time, dimensions, values }: Wanted): RowSet {
  const { dialect, types, grouping } = build;
  const { identifier } = dialect;
  const { joins } = factOf(build, fact);
  const own = new Set(values);
  const joined = new Map<number, Set<string>>();
  const list: Sql<Selection>[] = [];
  const columns = [...new Set(dimensions)].map((name): ResultColumn => {
    const place = dimensionOf(build, name, time).places.find((each) => each.fact === fact);
    if (place === undefined) throw new Error(`${fact} has no dimension ${name}.`);
    const join = place.join === undefined ? undefined : joins[place.join];
    const column = { ...named(types.get(join?.to ?? fact) ?? [], place.value), name };
    if (join === undefined || place.join === undefined) {
      own.add(place.value);
      list.push(sql`f.${identifier(place.value)} AS ${identifier(name)}`);
      return column;
    }
    for (const [key] of join.on) own.add(key);
    const used = joined.get(place.join) ?? new Set(join.on.map(([, key]) => key));
    joined.set(place.join, used.add(place.value));
    const value = sql`${joinAlias(place.join, dialect)}.${identifier(place.value)}`;
    list.push(sql`${value} AS ${identifier(name)}`);
    return dialect.joined(column);
  });
  const periods =
    grouping.aggregate.of === "metrics" ? columns.flatMap((column) => periodOf(build, column, time)) : [];
  const prefix = unusedPrefix(dimensions);
  list.push(...values.map((name) => sql`f.${identifier(name)} AS ${identifier(prefix + name)}`));
  const tables = [...joined].map(([position, used]) =>
    joinOf(build, fact, joins[position], position, [...used]),
  );
  const from = sql`${relationRows(build, fact, [...own])} AS f${tables.length > 0 ? join(tables, " ") : EMPTY}`;
  const column = (all: ResultColumns, name: string, shown: string): RowColumn => ({
    column: named(all, name),
    sql: sql`s.${identifier(shown)}`,
  });
  const rows = sql<Selection>`(SELECT ${selected(list)} FROM ${from}) AS s`;
  const shown = periods.map(
    ({ sql: period, column: { name } }) => sql<Selection>`${period} AS ${identifier(name)}`,
  );
  return {
    select: shown.length === 0 ? rows : sql`(SELECT s.*, ${join(shown, ", ")} FROM ${rows}) AS s`,
    columns: [...columns, ...periods.map((period) => period.column)],
    dimension: (name) => ({ ...column(columns, name, name), grain: dimensionOf(build, name, time).grain }),
    value: (name) => column(types.get(fact) ?? [], name, prefix + name),
  };
}

/** Name of the period of a time, with which operators compare: they see what a group shows. */
export const periodName = (name: string): string => `${name} period`;

function periodOf(build: GroupsBuild, column: ResultColumn, time: string | undefined): readonly RowColumn[] {
  const { dialect } = build;
  const { grain } = dimensionOf(build, column.name, time);
  if (grain === undefined) return [];
  const period = dialect.truncated(sql`s.${dialect.identifier(column.name)}`, grain, column);
  return [{ sql: period, column: { ...dialect.periodColumn(grain), name: periodName(column.name) } }];
}

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

const joinAlias = (position: number, { identifier }: AggregateDialect): Sql =>
  identifier(`j${String(position)}`);

function joinOf(
  build: GroupsBuild,
  fact: string,
  to: Fact["joins"][number] | undefined,
  position: number,
  used: readonly string[],
): Sql<Selection> {
  if (to === undefined) throw new Error("An aggregate names a join that it does not have.");
  const { dialect, types } = build;
  const { identifier } = dialect;
  const alias = joinAlias(position, dialect);
  const values = used.map((name) => {
    const shown = dialect.joinedValue(sql`s.${identifier(name)}`);
    return sql`${shown} AS ${identifier(name)}`;
  });
  const rows = sql`(SELECT ${selected(values)} FROM ${relationRows(build, to.to, used)} AS s)`;
  const columnOf = (relation: string, name: string): ResultColumn => named(types.get(relation) ?? [], name);
  const on = to.on.map(([key, toKey]) =>
    dialect.equals(sql`f.${identifier(key)}`, sql`${alias}.${identifier(toKey)}`, [
      columnOf(fact, key),
      columnOf(to.to, toKey),
    ]),
  );
  return sql` LEFT JOIN ${rows} AS ${alias} ON ${join(on, " AND ")}`;
}

/** No dimension begins with it. */
function unusedPrefix(names: readonly string[]): string {
  let prefix = "value ";
  while (names.some((name) => name.startsWith(prefix))) prefix += "_";
  return prefix;
}
