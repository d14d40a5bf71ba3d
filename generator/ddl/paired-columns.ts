import { columnNamed, failed, type Outcome, succeeded, unlessFailed } from "@routewright/runtime/model";
import type { CopiedColumn, CopiedRelation } from "./copied-relation.js";
import { folderIn, type PartitionFolder } from "./partition-folders.js";

/** A column as the engine reads it from files of an export. */
export interface ExportColumn {
  readonly name: string;
  readonly type: string;
}

/** Files of an export that are read alike; without paths those of a format that keeps one schema for all. */
export interface ExportPart<Column extends ExportColumn> {
  readonly paths: readonly string[];
  readonly columns: readonly Column[];
}

/** Where the values of a column come from: a column of the files, or a folder of their paths, `day=2026-11-28`. */
export type ColumnSource<Column> =
  { readonly kind: "column"; readonly column: Column } | ({ readonly kind: "folder" } & PartitionFolder);

/** The columns of a copy and, of each part, where their values come from, in the same order. */
export interface PairedColumns<Column> {
  readonly columns: readonly CopiedColumn[];
  readonly parts: readonly (readonly ColumnSource<Column>[])[];
}

/** Pairs the columns of a copy with those of its export, which may have another letter case. */
export function pairedColumns<Column extends ExportColumn>(
  copied: CopiedRelation,
  parts: readonly ExportPart<Column>[],
  isAddress: boolean,
): Outcome<PairedColumns<Column>> {
  const columns = [...copied.columns, ...undeclaredColumns(copied, parts)];
  const found = columns.map((column) => sourcesOf(column, columns, copied, parts, isAddress));
  const problems = found.flatMap((outcome) => (outcome.ok ? [] : outcome.problems));
  const sources = found.flatMap((outcome) => (outcome.ok ? [outcome.value] : []));
  return unlessFailed(problems, {
    columns,
    parts: parts.map((_, at) => sources.flatMap((each) => each[at] ?? [])),
  });
}

/** Of a model that declares no columns, or SQL of the project over them. */
function undeclaredColumns(
  { columns, hasAllColumns }: CopiedRelation,
  parts: readonly ExportPart<ExportColumn>[],
): readonly CopiedColumn[] {
  if (!hasAllColumns) return [];
  const names = new Set(parts.flatMap((part) => part.columns.map(({ name }) => name)));
  return [...names]
    .filter((name) => columnNamed(columns, name) === undefined)
    .map((name) => ({ name, type: null, isNotNull: false }));
}

function sourcesOf<Column extends ExportColumn>(
  column: CopiedColumn,
  columns: readonly CopiedColumn[],
  copied: CopiedRelation,
  parts: readonly ExportPart<Column>[],
  isAddress: boolean,
): Outcome<readonly ColumnSource<Column>[]> {
  const found = parts.map((part) => columnsMeant(column, columns, part));
  const of = `The export of ${copied.relation.join(".")}`;
  const several = found.findIndex((each) => each.length > 1);
  if (several >= 0)
    return failed(
      `${of} has several columns that ${column.name} may mean${placeOf(parts, several)}: ${namesOf(found[several] ?? [])}.`,
    );
  if (found.every((each) => each.length === 0)) {
    if (hasFolder(column.name, parts))
      return succeeded(parts.map(() => ({ kind: "folder", name: column.name, isInAddress: isAddress })));
    return failed(`${of} has no column ${column.name}; it has ${namesOf(parts[0]?.columns ?? [])}.`);
  }
  const missing = found.findIndex((each) => each.length === 0);
  if (missing >= 0)
    return failed(
      `${of} has no column ${column.name}${placeOf(parts, missing)}, which other files have; it has ${namesOf(parts[missing]?.columns ?? [])}.`,
    );
  return succeeded(found.flatMap((each) => each.map((one) => ({ kind: "column", column: one }))));
}

/** Without those that another column of the copy names exactly. */
function columnsMeant<Column extends ExportColumn>(
  { name }: CopiedColumn,
  columns: readonly CopiedColumn[],
  part: ExportPart<Column>,
): readonly Column[] {
  const others = new Set(columns.map((column) => column.name).filter((other) => other !== name));
  const folded = name.toLowerCase();
  return part.columns.filter((column) => column.name.toLowerCase() === folded && !others.has(column.name));
}

const hasFolder = (name: string, parts: readonly ExportPart<ExportColumn>[]): boolean =>
  parts.every(({ paths }) => paths.length > 0 && paths.every((path) => folderIn(path, name)));

/** A file of the part, where files differ. */
const placeOf = (parts: readonly ExportPart<ExportColumn>[], at: number): string => {
  const path = parts[at]?.paths[0];
  return parts.length < 2 || path === undefined ? "" : ` in ${path}`;
};

/** The type of a column that the project does not declare, in files that agree on it. */
export function agreedType(name: string, types: readonly string[]): Outcome<string> {
  const [first, ...others] = [...new Set(types)];
  return first === undefined || others.length > 0
    ? failed(
        `column ${name}: the files of the export have ${[first, ...others].join(" and ")}: declare its data_type`,
      )
    : succeeded(first);
}

const MAX_NAMES = 30;

function namesOf(columns: readonly ExportColumn[]): string {
  const shown = columns.slice(0, MAX_NAMES).map(({ name }) => name);
  return [...shown, ...(columns.length > MAX_NAMES ? ["…"] : [])].join(", ");
}
