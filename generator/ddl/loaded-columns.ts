import { failed, type Outcome, succeeded, unlessFailed } from "@routewright/runtime/model";
import {
  agreedType,
  type ColumnSource,
  type ExportColumn,
  type ExportPart,
  type PairedColumns,
} from "./paired-columns.js";
import type { CopiedColumn } from "./copied-relation.js";

/** A column as the engine reads it from files, with what they say of it themselves. */
interface ReadColumn extends ExportColumn {
  readonly logical: string | null;
}

/** How an engine loads a column of a copy. */
interface ColumnLoader<Column, Loaded> {
  /** The type of a column that the project does not declare. */
  undeclaredType(source: ColumnSource<Column>): string;
  load(column: CopiedColumn & { readonly type: string }, source: ColumnSource<Column>): Outcome<Loaded>;
}

interface LoadedColumns<Loaded> {
  /** Of each part, in the order of the copy's columns. */
  readonly parts: readonly (readonly Loaded[])[];
  /** Columns whose values are names of folders. */
  readonly folders: readonly string[];
}

/** The columns of a copy as each part of its export gives them. A problem names a file where there are several parts. */
export function loadedColumns<Column extends ReadColumn, Loaded>(
  name: string,
  { columns, parts: sources }: PairedColumns<Column>,
  files: readonly ExportPart<Column>[],
  loader: ColumnLoader<Column, Loaded>,
): Outcome<LoadedColumns<Loaded>> {
  const types = columns.map((column, at) => {
    const found = sources.flatMap((each) => each[at] ?? []);
    return typeOf(column, found, loader);
  });
  const found = files.map((file, part) =>
    columns.map((column, at) => {
      const [type, source] = [types[at], sources[part]?.[at]];
      if (type?.ok !== true) return type ?? failed();
      if (source === undefined) return failed();
      const loaded = loader.load({ ...column, type: type.value }, source);
      const place = files.length > 1 && file.paths[0] !== undefined ? `${file.paths[0]}: ` : "";
      return loaded.ok ? loaded : failed(`column ${column.name}: ${place}${loaded.problems.join("")}`);
    }),
  );
  const problems = found.flat().flatMap((each) => (each.ok ? [] : each.problems));
  return unlessFailed([...new Set(problems.map((problem) => `${name}, ${problem}.`))], {
    parts: found.map((each) => each.flatMap((one) => (one.ok ? [one.value] : []))),
    folders: (sources[0] ?? []).flatMap((source) => (source.kind === "folder" ? [source.name] : [])),
  });
}

/** A file without values says nothing of the type. */
function typeOf<Column extends ReadColumn>(
  column: CopiedColumn,
  sources: readonly ColumnSource<Column>[],
  { undeclaredType }: Pick<ColumnLoader<Column, unknown>, "undeclaredType">,
): Outcome<string> {
  if (column.type !== null) return succeeded(column.type);
  const known = sources.filter((source) => source.kind === "folder" || source.column.logical !== "null");
  return agreedType(column.name, (known.length > 0 ? known : sources).map(undeclaredType));
}
