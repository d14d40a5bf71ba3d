import type { ExportColumn, ExportPart } from "./paired-columns.js";
import type { CopiedRelation } from "./copied-relation.js";
import { folderIn } from "./partition-folders.js";

/** Columns of the files that a folder of their paths has too. */
export function conflictingNames(
  { columns, hasAllColumns }: CopiedRelation,
  parts: readonly ExportPart<ExportColumn>[],
): readonly string[] {
  const ofFiles = parts.flatMap((part) => part.columns.map(({ name }) => name));
  const copied = new Set(hasAllColumns ? ofFiles : columns.map(({ name }) => name));
  const known = new Set(ofFiles.map((name) => name.toLowerCase()));
  const paths = parts.flatMap((part) => part.paths);
  return [...copied].filter(
    (name) => known.has(name.toLowerCase()) && paths.some((path) => folderIn(path, name)),
  );
}

/** What `ddl` says of the folders of an export. */
export function folderNotes(
  { relation }: CopiedRelation,
  folders: readonly string[],
  conflicts: readonly string[],
): readonly string[] {
  const name = relation.join(".");
  const used =
    folders.length === 0
      ? []
      : [`${name}: no file has ${folders.join(", ")}: loaded from the names of folders.`];
  return [...used, ...conflicts.map((conflict) => `${name}: ${conflict}.`)];
}
