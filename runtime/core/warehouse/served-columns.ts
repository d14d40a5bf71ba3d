import { columnNamed } from "../model/column-names.js";
import { missingAmong } from "../model/missing-columns.js";
import type { Column, Relation } from "../model/endpoint.js";
import type { Projection } from "../model/projection.js";
import { columnConditions, mapConditions, type ResolvedQuery } from "../model/query.js";
import { ColumnMissing } from "./query-errors.js";
import type { ExplainedFilter, ResultColumn, ResultColumns, Rows } from "./warehouse.js";

/** The columns of a relation that are served, with what an engine makes of them once. */
export class ServedColumns {
  readonly columns: ResultColumns;
  #prepared: object | null = null;

  constructor(columns: ResultColumns) {
    this.columns = columns;
  }

  /** What an engine needs of them for each query. */
  prepared<T extends object>(make: (columns: ResultColumns) => T): T {
    return (this.#prepared ??= make(this.columns)) as T;
  }
}

/** The declared columns that exist, in declared order; all columns if none is declared. */
export function servedOf(existing: ResultColumns, projection: Projection | undefined): ServedColumns {
  return projection === undefined ? new ServedColumns(existing) : projection.for(existing, makeServed);
}

function makeServed(existing: ResultColumns, declared: readonly Column[]): ServedColumns {
  if (declared.length === 0) return new ServedColumns(existing);
  return new ServedColumns(declared.flatMap((column) => servedColumn(existing, column)));
}

function servedColumn(existing: ResultColumns, declared: Column): readonly ResultColumn[] {
  const { name, type, timezone, wide = false, numbers, as = name } = declared;
  const column = columnNamed(existing, name);
  if (!column) return [];
  const decimal = column.type === "numeric" ? (column.decimal ?? digitsOf(type ?? "")) : undefined;
  return [
    {
      ...column,
      ...(column.name !== as && { key: as }),
      ...(decimal && { decimal }),
      ...(timezone !== undefined && { timezone }),
      ...(type !== null && { wide }),
      ...(numbers !== undefined && { numbers }),
    },
  ];
}

/** Precision and scale that a model declares. PostgreSQL's own type of a `sum()` has none. */
function digitsOf(declared: string): readonly [precision: number, scale: number] | undefined {
  const [, precision, scale = "0"] =
    /^(?:numeric|decimal|dec)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)/i.exec(declared) ?? [];
  return precision === undefined ? undefined : [Number(precision), Number(scale)];
}

/**
 * The query with the relation's own names of its columns. Throws `ColumnMissing` where a name is ambiguous, where a filter's or
 * a sort's column is missing, or every served one: no filter is dropped, and no row is without columns.
 */
export function withNamesOf(query: ResolvedQuery, existing: ResultColumns): ResolvedQuery {
  const { relation, selection } = query;
  const { columns: projection, conditions, sort } = selection;
  const declared = projection?.columns ?? [];
  const found = servedOf(existing, projection).columns;
  if (found.length < declared.length) requireColumns(relation, existing, declared);
  const isOwn = (name: string): boolean => existing.some((column) => column.name === name);
  if (
    columnConditions(conditions).every(({ column }) => isOwn(column)) &&
    sort.every(([column]) => isOwn(column))
  )
    return query;
  const ownName = (name: string): string => {
    const column = columnNamed(existing, name);
    if (column === undefined) throw new ColumnMissing(relation, missingAmong(existing, [{ name }]));
    return column.name;
  };
  return {
    ...query,
    selection: {
      ...selection,
      conditions: mapConditions(conditions, (condition) => ({
        ...condition,
        column: ownName(condition.column),
      })),
      sort: sort.map(([column, direction]) => [ownName(column), direction]),
    },
  };
}

/** Throws where a name is ambiguous, or all columns are missing. */
function requireColumns(relation: Relation, existing: ResultColumns, declared: readonly Column[]): void {
  const missing = missingAmong(existing, declared);
  const ambiguous = missing.filter(({ candidates }) => candidates.length > 0);
  if (ambiguous.length > 0) throw new ColumnMissing(relation, ambiguous);
  if (missing.length === declared.length) throw new ColumnMissing(relation, missing);
}

/** The result with the names of its columns that the model declares. */
export function withDeclaredNames(rows: Rows): Rows {
  if (rows.columns.every(({ key }) => key === undefined)) return rows;
  return {
    ...rows,
    columns: rows.columns.map(({ key, ...column }) => ({ ...column, name: key ?? column.name })),
  };
}

/** What is explained, with the relation's own names of its columns. */
export function explainedIn(existing: ResultColumns, filter: ExplainedFilter): ExplainedFilter {
  const own = <Named extends { readonly column: string }>(each: Named): Named => ({
    ...each,
    column: columnNamed(existing, each.column)?.name ?? each.column,
  });
  return "column" in filter ? own(filter) : mapConditions(filter, own);
}
