import { columnNamed, missingAmong } from "../model/column-names.js";
import type { Column, Relation } from "../model/endpoint.js";
import type { ResolvedQuery } from "../model/query.js";
import { ColumnMissing, type ResultColumn, type ResultColumns, type Rows } from "./warehouse.js";

const served = new WeakMap<ResultColumns, WeakMap<readonly Column[], ResultColumns>>();

/** The declared columns that exist, in declared order; all columns if none is declared. */
export function servedColumns(existing: ResultColumns, declared: readonly Column[] = []): ResultColumns {
  if (declared.length === 0) return existing;
  let known = served.get(existing);
  if (!known) served.set(existing, (known = new WeakMap<readonly Column[], ResultColumns>()));
  const columns = known.get(declared) ?? declared.flatMap((column) => servedColumn(existing, column));
  known.set(declared, columns);
  return columns;
}

function servedColumn(existing: ResultColumns, declared: Column): readonly ResultColumn[] {
  const { name, type, timezone, wide = false } = declared;
  const column = columnNamed(existing, name);
  if (!column) return [];
  const decimal = column.type === "numeric" ? (column.decimal ?? digitsOf(type ?? "")) : undefined;
  return [
    {
      ...column,
      ...(column.name !== name && { key: name }),
      ...(decimal && { decimal }),
      ...(timezone !== undefined && { timezone }),
      ...(type !== null && { wide }),
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
  const { columns: declared = [], conditions, sort } = selection;
  const found = servedColumns(existing, declared);
  if (found.length < declared.length) requireColumns(relation, existing, declared);
  const isOwn = (name: string): boolean => existing.some((column) => column.name === name);
  if (conditions.every(({ column }) => isOwn(column)) && sort.every(([column]) => isOwn(column)))
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
      conditions: conditions.map((condition) => ({ ...condition, column: ownName(condition.column) })),
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
