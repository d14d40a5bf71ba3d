import { columnsNamed, type WithName } from "./column-names.js";
import type { Endpoint, Relation } from "./endpoint.js";

/** A column of an endpoint that its relation lacks, and those that its name may mean where it is ambiguous. */
export interface MissingColumn {
  readonly name: string;
  readonly candidates: readonly string[];
}

type ColumnUse = Pick<
  Endpoint,
  "columns" | "parameters" | "filters" | "rows" | "cursor" | "sort" | "sortableFields"
>;

/** The columns of an endpoint that its relation lacks: those of its rows, and those that only its filters and sorts name. */
export function missingColumns(endpoint: ColumnUse, columns: readonly WithName[]): readonly MissingColumn[] {
  const { filters = [], rows, cursor = [], sort, sortableFields } = endpoint;
  const names = [
    ...endpoint.columns.map(({ name }) => name),
    ...[...endpoint.parameters, ...filters].map(({ column }) => column),
    ...(rows === undefined ? [] : [rows.column]),
    ...cursor,
    ...sort.map(([column]) => column),
    ...sortableFields,
  ];
  return missingAmong(
    columns,
    [...new Set(names)].map((name) => ({ name })),
  );
}

/** All relations that an endpoint reads: its own, or those of its metrics. */
export function relationsOf({
  relation,
  aggregate,
}: Pick<Endpoint, "relation" | "aggregate">): readonly Relation[] {
  return aggregate?.of === "metrics" ? aggregate.relations.map((each) => each.relation) : [relation];
}

/** The columns that an endpoint reads of one of its relations, and that this one lacks. */
export function missingColumnsOf(
  endpoint: ColumnUse & Pick<Endpoint, "relation" | "aggregate">,
  [schema, name]: Relation,
  columns: readonly WithName[],
): readonly MissingColumn[] {
  const { relation, aggregate } = endpoint;
  const isThat = (other: Relation): boolean => other[0] === schema && other[1] === name;
  const own = aggregate?.of !== "metrics" && isThat(relation) ? missingColumns(endpoint, columns) : [];
  const aggregated = (aggregate?.relations ?? []).filter((each) => isThat(each.relation));
  const values = aggregated.flatMap((each) => each.values);
  const names = values.flatMap((value) => ("column" in value ? [value.column] : []));
  const others = [...new Set(names)].filter((each) => !own.some((missing) => missing.name === each));
  return [
    ...own,
    ...missingAmong(
      columns,
      others.map((each) => ({ name: each })),
    ),
  ];
}

/** Those of the names that mean no column of a relation. */
export function missingAmong(
  columns: readonly WithName[],
  names: readonly WithName[],
): readonly MissingColumn[] {
  return names.flatMap(({ name }) => {
    const candidates = columnsNamed(columns, name).map((column) => column.name);
    return candidates.length === 1 ? [] : [{ name, candidates }];
  });
}

/** A missing column, for messages. */
export function missingText({ name, candidates }: MissingColumn): string {
  return candidates.length === 0 ? name : `${name} (ambiguous: ${candidates.join(", ")})`;
}
