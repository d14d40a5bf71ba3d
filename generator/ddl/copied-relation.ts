import { columnNamed, type Endpoint, relationsOf } from "@routewright/runtime/model";
import type { Catalogue, CatalogueEntry } from "../catalogue/catalogue.js";

/** A column of a copy, as the project declares it. */
export interface CopiedColumn {
  readonly name: string;
  /** The engine's type; null where the export's own decides. */
  readonly type: string | null;
  readonly isNotNull: boolean;
}

/** A relation that endpoints read. */
export interface CopiedRelation {
  readonly relation: Endpoint["relation"];
  /** Name of the dbt model, where it is known; else the relation's. */
  readonly model: string;
  readonly columns: readonly CopiedColumn[];
  /** Whether the copy has every column of the export: a model that declares none, or SQL of the project over them. */
  readonly hasAllColumns: boolean;
  /** Columns that requests filter by, the most selective kind first, then those that they sort by. */
  readonly filtered: readonly FilteredBy[];
  readonly sorted: readonly string[];
  /** Paths of the endpoints whose rows change with it. */
  readonly paths: readonly string[];
}

/** A column that requests filter by, and its letter case there. */
export interface FilteredBy {
  readonly column: string;
  readonly case?: "lower" | "upper";
}

/** The relations that a catalogue's endpoints read, each once. */
export function copiedRelations({ entries }: Pick<Catalogue, "entries">): readonly CopiedRelation[] {
  const found = new Map<string, CopiedRelation>();
  for (const entry of entries) {
    for (const relation of allRelationsOf(entry)) {
      const key = JSON.stringify(relation);
      const next = copied(entry, relation);
      const known = found.get(key);
      found.set(key, known === undefined ? next : merged(known, next));
    }
  }
  return [...found.values()];
}

/** Also those that the rows of a model are joined to. */
function allRelationsOf(entry: CatalogueEntry): readonly Endpoint["relation"][] {
  return [...relationsOf(entry), ...(entry.aggregate?.relations ?? []).map(({ relation }) => relation)];
}

function copied(entry: CatalogueEntry, relation: Endpoint["relation"]): CopiedRelation {
  const isOwn = entry.aggregate?.of !== "metrics" && isSame(entry.relation, relation);
  const values = (entry.aggregate?.relations ?? [])
    .filter((each) => isSame(each.relation, relation))
    .flatMap((each) => each.values);
  const rows = (entry.aggregate?.relations ?? [])
    .filter((each) => isSame(each.relation, relation))
    .flatMap((each) => each.rows?.column ?? []);
  const read = values.flatMap((value) => ("column" in value ? [value.column] : []));
  const declared: readonly CopiedColumn[] = isOwn ? entry.columns.map(declaredColumn) : [];
  const used = isOwn ? usedColumns(entry) : [];
  return {
    relation,
    model: isOwn ? entry.model : relation[1],
    columns: withUndeclared(declared, [...used, ...read, ...rows]),
    hasAllColumns: (isOwn && entry.columns.length === 0) || values.some((value) => "sql" in value),
    filtered: isOwn ? filteredBy(entry) : [],
    sorted: isOwn ? [...entry.sort.map(([column]) => column), ...(entry.cursor ?? [])] : [],
    paths: [entry.path],
  };
}

const isSame = (a: Endpoint["relation"], b: Endpoint["relation"]): boolean => a[0] === b[0] && a[1] === b[1];

const declaredColumn = ({ name, type, notNull }: CatalogueEntry["columns"][number]): CopiedColumn => ({
  name,
  type: type === null ? null : type.replace(/\s+(?:not\s+)?null$/i, ""),
  isNotNull: notNull !== undefined || /\snot\s+null$/i.test(type ?? ""),
});

function usedColumns({ parameters, filters = [], rows, cursor = [], sort, sortableFields }: CatalogueEntry) {
  return [
    ...[...parameters, ...filters].map(({ column }) => column),
    ...(rows === undefined ? [] : [rows.column]),
    ...cursor,
    ...sort.map(([column]) => column),
    ...sortableFields,
  ];
}

/** What a filter of equality selects is smaller than what a range selects. */
function filteredBy({ parameters, filters = [], requireAnyOf, rows }: CatalogueEntry): readonly FilteredBy[] {
  const required = parameters.filter(({ name }) => requireAnyOf.includes(name));
  const equal = parameters.filter(({ operator, type }) => operator === "=" || type === "string_list");
  const own = rows === undefined ? [] : [{ column: rows.column }];
  const found = [...own, ...required, ...equal, ...filters, ...parameters].map((filter): FilteredBy => ({
    column: filter.column,
    ...("case" in filter && { case: filter.case }),
  }));
  return distinct(found);
}

const distinct = <Value>(values: readonly Value[]): readonly Value[] => [
  ...new Map(values.map((value) => [JSON.stringify(value), value])).values(),
];

function withUndeclared(columns: readonly CopiedColumn[], names: readonly string[]): readonly CopiedColumn[] {
  const all = [...columns];
  for (const name of names)
    if (columnNamed(all, name) === undefined) all.push({ name, type: null, isNotNull: false });
  return all;
}

function merged(a: CopiedRelation, b: CopiedRelation): CopiedRelation {
  const known = a.columns.map((column) => {
    const other = columnNamed(b.columns, column.name);
    return column.type === null && other !== undefined ? { ...other, name: column.name } : column;
  });
  const added = b.columns.filter(({ name }) => columnNamed(known, name) === undefined);
  return {
    ...a,
    columns: [...known, ...added],
    hasAllColumns: a.hasAllColumns || b.hasAllColumns,
    filtered: distinct([...a.filtered, ...b.filtered]),
    sorted: distinct([...a.sorted, ...b.sorted]),
    paths: [...a.paths, ...b.paths],
  };
}
