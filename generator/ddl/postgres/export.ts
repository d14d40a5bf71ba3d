import { failed, messageOf, type Outcome, succeeded } from "@routewright/runtime/model";
import { type ColumnSource, type ExportPart, pairedColumns } from "../paired-columns.js";
import type { CopiedRelation } from "../copied-relation.js";
import {
  compressedProblem,
  type ExportFile,
  type FileColumn,
  fileGroups,
  logicalTypeIn,
} from "../export-files.js";
import type { ExportFormat, ExportLocation } from "../export-location.js";
import { loadedColumns } from "../loaded-columns.js";
import { type DuckDb, duckdbMessage, duckdbRelation, duckdbSchema } from "./duckdb.js";
import { type DuckDbColumn, type TextColumn, textColumn, undeclaredType } from "./expressions.js";

/** Files that are read by one statement of DuckDB, with the columns of the copy. */
export interface TextPart {
  readonly source: string;
  readonly columns: readonly TextColumn[];
}

/** An export as DuckDB reads it. */
export interface DuckDbExport {
  readonly parts: readonly TextPart[];
  /** The same with the columns that the files themselves have. */
  readonly files: readonly (ExportPart<DuckDbColumn> & { readonly source: string })[];
  /** Columns whose values are names of folders. */
  readonly folders: readonly string[];
  /** Columns with times in nanoseconds, of which DuckDB reads microseconds. */
  readonly cut: readonly string[];
}

export async function duckdbExport(
  duckdb: DuckDb,
  copied: CopiedRelation,
  location: ExportLocation,
  format: ExportFormat,
): Promise<Outcome<DuckDbExport>> {
  const name = copied.relation.join(".");
  let files: DuckDbExport["files"];
  try {
    files = await describedParts(duckdb, location, format);
  } catch (error) {
    const said = duckdbMessage(messageOf(error));
    const compressed = compressedProblem(name, /'([^']+)'$/.exec(said)?.slice(1) ?? []);
    return failed(compressed ?? `DuckDB cannot read the export of ${name}: ${said}`);
  }
  const compressed = compressedProblem(
    name,
    files.flatMap(({ paths }) => paths),
  );
  if (compressed !== null) return failed(compressed);
  const paired = pairedColumns(copied, files, location.store === "http");
  if (!paired.ok) return paired;
  const { columns, parts: sources } = paired.value;
  const loaded = loadedColumns(name, paired.value, files, {
    undeclaredType: (source) => undeclaredType(source) ?? "no such type",
    load: textColumn,
  });
  if (!loaded.ok) return loaded;
  const parts = files.map(({ source }, part) => ({ source, columns: loaded.value.parts[part] ?? [] }));
  const isInt96 = (source: ColumnSource<DuckDbColumn> | undefined): boolean =>
    source?.kind === "column" && source.column.nanoseconds === "int96";
  const cut = columns
    .filter((_, at) => sources.some((each) => isInt96(each[at])))
    .map((column) => column.name);
  return succeeded({ parts, files, folders: loaded.value.folders, cut });
}

async function describedParts(
  duckdb: DuckDb,
  location: ExportLocation,
  format: ExportFormat,
): Promise<DuckDbExport["files"]> {
  const groups = format === "parquet" ? fileGroups(await filesOf(duckdb, location)) : [];
  const isOne = groups.length < 2;
  const all = groups.length === 0 ? [{ paths: [], columns: null }] : groups;
  return Promise.all(
    all.map(async ({ paths, columns }) => {
      const source = duckdbRelation(location, format, isOne ? null : paths);
      const described = await duckdb.rows(`DESCRIBE SELECT * FROM ${source}`);
      const read = described.map(([readAs, type], at): DuckDbColumn => {
        const own = columns?.[at];
        const name = own?.name ?? String(readAs);
        const { logical = null, nanoseconds = null } = own ?? {};
        return { name, readAs: String(readAs), type: String(type), logical, nanoseconds };
      });
      return { source, paths, columns: read };
    }),
  );
}

/** The files of an export. DuckDB describes a schema as a row for each part of a column, the whole first. */
async function filesOf(duckdb: DuckDb, location: ExportLocation): Promise<readonly ExportFile[]> {
  const files = new Map<string, SchemaRow[]>();
  for (const [path, name, children, shape, logical, physical] of await duckdb.rows(duckdbSchema(location))) {
    const key = String(path);
    const rows = files.get(key) ?? [];
    files.set(key, rows);
    rows.push({
      name: String(name),
      children: Number(children ?? 0),
      shape: String(shape),
      logical: typeof logical === "string" ? logical : "",
      isInt96: physical === "INT96",
    });
  }
  return [...files].map(([path, rows]) => ({ path, columns: topColumns(rows) }));
}

interface SchemaRow {
  readonly name: string;
  readonly children: number;
  readonly shape: string;
  readonly logical: string;
  readonly isInt96: boolean;
}

function topColumns([root, ...rows]: readonly SchemaRow[]): readonly FileColumn[] {
  const columns: FileColumn[] = [];
  let at = 0;
  for (let i = 0; i < (root?.children ?? 0); i++) {
    const start = at;
    for (let open = 1; open > 0 && at < rows.length; at++) open += (rows[at]?.children ?? 0) - 1;
    const [first, ...parts] = rows.slice(start, at);
    if (first === undefined) break;
    const shape = [first, ...parts].map((row) => row.shape).join("; ");
    const nanoseconds = nanosecondsOf([first, ...parts]);
    columns.push({ name: first.name, shape, logical: logicalTypeIn(first.logical), nanoseconds });
  }
  return columns;
}

function nanosecondsOf(rows: readonly SchemaRow[]): FileColumn["nanoseconds"] {
  if (rows.some(({ logical }) => logicalTypeIn(logical) === "time in nanoseconds")) return "time";
  return rows.some(({ isInt96 }) => isInt96) ? "int96" : null;
}
