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
  columnConditions,
  columnsOf,
  type Condition,
  mapConditions,
  OWN_ROWS,
  type Selection,
} from "../core/model/query.js";
import { EMPTY, join, projectParts, sql, type Sql } from "../core/warehouse/sql.js";
import type { ResultColumn, ResultColumns } from "../core/warehouse/warehouse.js";
import type { AggregateDialect } from "../core/warehouse/aggregate-dialect.js";
import type { ColumnExpression, Named, ReadRelation, PlanStep } from "./plan.js";
import { renderPlan } from "./render-plan.js";

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

export function named<T extends { readonly name: string }>(list: readonly T[], name: string): T {
  const found = list.find((each) => each.name === name);
  if (found === undefined) throw new Error(`An aggregate names ${name}, which it does not have.`);
  return found;
}

/** A relation with some of its values. */
export function relationRows(build: GroupsBuild, name: string, values: readonly string[]): Sql<Selection> {
  const rows = readRelation(
    build,
    name,
    [...new Set(values)].map((value) => [value, value]),
  );
  return sql`(${renderPlan(rows, build.dialect)})`;
}

/** Reads values of a relation: only the rows of the caller's organization where it has others too. */
function readRelation(
  { grouping, conditions, types, dialect }: GroupsBuild,
  name: string,
  values: Named<string>,
): ReadRelation {
  const relation = named(grouping.aggregate.relations, name);
  const position =
    relation.rows === undefined ? -1 : conditions.findIndex((condition) => condition.name === OWN_ROWS);
  const own = conditions[position];
  const known = types.get(name) ?? [];
  const proof =
    dialect.typeProof?.(
      known.map((column) => ({ value: valueOf(relation, column.name, dialect), column })),
    ) ?? EMPTY;
  const read: ReadRelation = {
    kind: "read",
    relation: dialect.identifier(...relation.relation),
    columns: values.map(([shown, value]) => [
      shown,
      { column: columnOf(relation, value), value: valueOf(relation, value, dialect) },
    ]),
    conditions: [],
    proof,
    names: known.flatMap((column) => columnOf(relation, column.name) ?? []),
  };
  if (own === undefined || relation.rows === undefined) return read;
  const { column } = relation.rows;
  const owner = { ...named(known, ownerValue(relation)), name: column };
  const condition = dialect.where({ ...own, column } as Condition, position, [owner]);
  return { ...read, conditions: [condition], names: [...read.names, column] };
}

/** The column that a value is; null for an expression of the project. */
function columnOf(relation: AggregateRelation, name: string): string | null {
  const value = named(relation.values, name);
  return "column" in value ? value.column : null;
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
  const plain: [name: string, value: string][] = [];
  const joined = new Map<number, Set<string>>();
  const list: [name: string, value: Sql<Selection>][] = [];
  const columns = [...new Set(dimensions)].map((name): ResultColumn => {
    const place = dimensionOf(build, name, time).places.find((each) => each.fact === fact);
    if (place === undefined) throw new Error(`${fact} has no dimension ${name}.`);
    const join = place.join === undefined ? undefined : joins[place.join];
    const column = { ...named(types.get(join?.to ?? fact) ?? [], place.value), name };
    if (join === undefined || place.join === undefined) {
      own.add(place.value);
      list.push([name, sql`f.${identifier(place.value)}`]);
      plain.push([name, place.value]);
      return column;
    }
    for (const [key] of join.on) own.add(key);
    const used = joined.get(place.join) ?? new Set(join.on.map(([, key]) => key));
    joined.set(place.join, used.add(place.value));
    list.push([name, sql`${joinAlias(place.join, dialect)}.${identifier(place.value)}`]);
    return dialect.joined(column);
  });
  const periods =
    grouping.aggregate.of === "metrics" ? columns.flatMap((column) => periodOf(build, column, time)) : [];
  const prefix = unusedPrefix(dimensions);
  list.push(
    ...values.map(
      (name) => [prefix + name, sql<Selection>`f.${identifier(name)}`] as [string, Sql<Selection>],
    ),
  );
  plain.push(...values.map((name) => [prefix + name, name] as [string, string]));
  const tables = [...joined].map(([position, used]) =>
    joinOf(build, fact, joins[position], position, [...used]),
  );
  const joinedRows: PlanStep =
    tables.length === 0
      ? readRelation(build, fact, plain)
      : {
          kind: "join",
          fact: readRelation(
            build,
            fact,
            [...own].map((name) => [name, name]),
          ),
          tables,
          columns: list,
        };
  const column = (all: ResultColumns, name: string, shown: string): RowColumn => ({
    name: shown,
    column: named(all, name),
  });
  const rows: PlanStep =
    periods.length === 0
      ? joinedRows
      : {
          kind: "compute",
          rows: joinedRows,
          columns: [...list.map(([name]) => [name, name] as const), ...periods.map(({ of }) => of)],
        };
  return {
    rows,
    columns: [...columns, ...periods.map(({ column: period }) => period)],
    dimension: (name) => ({ ...column(columns, name, name), grain: dimensionOf(build, name, time).grain }),
    value: (name) => column(types.get(fact) ?? [], name, prefix + name),
  };
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
