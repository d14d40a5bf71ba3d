import { failed, messageOf, type Outcome, succeeded } from "@routewright/runtime/model";
import { clickhouseIdentifier as identifier } from "../../verify/clickhouse-relations.js";
import { type ExportPart, pairedColumns } from "../paired-columns.js";
import type { CopiedRelation } from "../copied-relation.js";
import {
  compressedProblem,
  type ExportFile,
  type FileColumn,
  fileGroups,
  logicalTypeIn,
} from "../export-files.js";
import { loadedColumns } from "../loaded-columns.js";
import { type ClickhouseColumn, loadedColumn, undeclaredType } from "./expressions.js";
import type { RunSql } from "./session.js";
import type { TableFunction } from "./source.js";
import { AS_FILES, type LoadedPart, NULLABLE } from "./statements.js";

/** An export as ClickHouse reads it. */
export interface ClickhouseExport {
  readonly parts: readonly LoadedPart[];
  /** The same with the columns that the files themselves have. */
  readonly files: readonly DescribedPart[];
  /** Columns whose values are names of folders. */
  readonly folders: readonly string[];
}

interface DescribedPart extends ExportPart<ClickhouseColumn> {
  readonly text: string;
}

export async function clickhouseExport(
  run: RunSql,
  copied: CopiedRelation,
  source: TableFunction,
): Promise<Outcome<ClickhouseExport>> {
  const name = copied.relation.join(".");
  let files: readonly DescribedPart[] | Outcome<never>;
  try {
    files = await describedParts(run, copied, source);
  } catch (error) {
    const said = messageOf(error);
    const file = await unreadableFile(run, source).catch(() => null);
    const compressed = file === null ? null : compressedProblem(name, [file]);
    if (compressed !== null) return failed(compressed);
    const place = file === null || said.includes(file) ? "" : `${file}: `;
    return failed(`ClickHouse cannot read the export of ${name}: ${place}${said}`);
  }
  if ("ok" in files) return files;
  const compressed = compressedProblem(
    name,
    files.flatMap(({ paths }) => paths),
  );
  if (compressed !== null) return failed(compressed);
  const paired = pairedColumns(copied, files, source.isAddress);
  if (!paired.ok) return paired;
  const loaded = loadedColumns(name, paired.value, files, { undeclaredType, load: loadedColumn });
  if (!loaded.ok) return loaded;
  const parts = files.map(({ text, paths }, part) => ({
    text,
    paths: files.length > 1 ? paths : null,
    columns: loaded.value.parts[part] ?? [],
  }));
  return succeeded({ parts, files, folders: loaded.value.folders });
}

async function describedParts(
  run: RunSql,
  copied: CopiedRelation,
  source: TableFunction,
): Promise<readonly DescribedPart[] | Outcome<never>> {
  const { text, metadata, ofFile, withColumns } = source;
  const groups = metadata === null ? [] : fileGroups(await filesOf(run, source, metadata));
  for (const { paths, columns } of groups) {
    const twice = columns.find((column, at) => columns.findIndex(({ name }) => name === column.name) < at);
    if (twice !== undefined)
      return failed(
        `The export of ${copied.relation.join(".")} has several columns that ${twice.name} may mean in ${String(paths[0])}: ${columns.map(({ name }) => name).join(", ")}.`,
      );
  }
  if (groups.length < 2) {
    const [group] = groups;
    const columns = await described(run, text, source, group?.columns ?? []);
    return [{ text, paths: group?.paths ?? [], columns }];
  }
  return Promise.all(
    groups.map(async ({ paths, columns: own }) => {
      const columns = await described(run, ofFile(paths[0] ?? ""), source, own);
      const structure = columns.map(({ name, type }) => `${identifier(name)} ${type}`).join(", ");
      return { text: withColumns(structure), paths, columns };
    }),
  );
}

const SETTINGS = `SETTINGS http_max_tries = 2, ${NULLABLE}, ${[...AS_FILES, ...["file", "s3", "azure", "url"].map((store) => `schema_inference_use_cache_for_${store}`)].map((name) => `${name} = 0`).join(", ")}`;

async function described(
  run: RunSql,
  text: string,
  { parameters }: TableFunction,
  own: readonly FileColumn[],
): Promise<readonly ClickhouseColumn[]> {
  const lines = await run(`DESCRIBE TABLE ${text} ${SETTINGS} FORMAT JSONCompactEachRow`, parameters);
  return rowsOf(lines).map(([column, type]) => {
    const logical = own.find(({ name }) => name === column)?.logical ?? null;
    return { name: String(column), type: String(type), logical };
  });
}

const rowsOf = (lines: string): readonly (readonly unknown[])[] =>
  lines
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as readonly unknown[]);

/** More files are not tried one by one. */
const MAX_TRIED = 1000;

/** The file that has no schema to read: an error of the library that reads it does not name it. */
async function unreadableFile(
  run: RunSql,
  { unread, ofFile, parameters }: TableFunction,
): Promise<string | null> {
  if (unread === null) return null;
  const paths = await run(
    `SELECT _path FROM ${unread} ORDER BY _path LIMIT ${String(MAX_TRIED)} ${SETTINGS} FORMAT JSONCompactEachRow`,
    parameters,
  );
  for (const [path] of rowsOf(paths)) {
    const tried = `SELECT count() FROM ${ofFile(String(path), "ParquetMetadata")} ${SETTINGS}`;
    const isRead = await run(tried, parameters).then(
      () => true,
      () => false,
    );
    if (!isRead) return String(path);
  }
  return null;
}

/** The files of an export. ClickHouse names the values of a nested column by their paths. */
async function filesOf(
  run: RunSql,
  { parameters }: TableFunction,
  metadata: string,
): Promise<readonly ExportFile[]> {
  const columns = "arrayMap(c -> (c.path, c.name, concat(c.physical_type, ' ', c.logical_type)), columns)";
  const lines = await run(
    `SELECT _path, ${columns} FROM ${metadata} ORDER BY _path ${SETTINGS} FORMAT JSONCompactEachRow`,
    parameters,
  );
  return rowsOf(lines).map(([path, leaves]) => ({
    path: String(path),
    columns: (leaves as readonly (readonly string[])[]).map(([place = "", leaf = "", shape = ""]) => ({
      name: place,
      shape,
      nanoseconds: null,
      logical: place === leaf ? logicalTypeIn(shape.replace(/^\S+ /, "")) : null,
    })),
  }));
}
