import type { Endpoint } from "../model/endpoint.js";
import { httpError, isHttpError, type Result } from "../model/errors.js";
import type { CursorRequest, ResolvedQuery, Selection } from "../model/query.js";
import { readCursorFields } from "../request/page-fields.js";
import type { RawFields } from "../request/request-fields.js";
import { type KeyedQuery, resolveQuery } from "../request/resolve-query.js";
import { checkCursor, rowsState } from "../response/cursors.js";
import type { DataVersion } from "../warehouse/data-versions.js";
import type { ResultColumns } from "../warehouse/warehouse.js";
import type { Gateway } from "./gateway.js";

/** The query of an endpoint with cursors. */
export function resolvePage(
  { cursors }: Gateway,
  endpoint: Endpoint,
  fields: RawFields,
  selection: Selection,
  options: Parameters<typeof resolveQuery>[2],
): Result<KeyedQuery> {
  const read = readCursorFields(fields);
  if (isHttpError(read)) return read;
  const scope = cursors.scopeOf(endpoint, selection);
  const position = read.text === null ? null : cursors.read(read.text, scope);
  if (read.text !== null && position === null) return httpError("invalidCursor");
  const keyset = { scope, after: position?.values ?? null };
  const resolved = resolveQuery(endpoint, { ...selection, keyset }, options);
  return { ...resolved, cursor: { position, isConsistent: read.isConsistent } };
}

/** The query with what the cursor of the next page holds, or why its own cursor is refused. */
export function checkedPage(
  query: ResolvedQuery,
  cursor: CursorRequest,
  columns: ResultColumns,
  version: DataVersion | null,
): Result<ResolvedQuery> {
  const { keyset, ...selection } = query.selection;
  const state = rowsState(query.selection, columns, version?.id ?? null);
  const refused = checkCursor(cursor, state);
  if (refused) return refused;
  return { ...query, selection: { ...selection, ...(keyset && { keyset: { ...keyset, state } }) } };
}

/** Whether the rows that were just read are those of the version with which the request began. */
export async function isUnchanged(
  { versions, warehouse }: Gateway,
  { upstreamNodes, relation }: Endpoint,
  version: DataVersion | null,
  storage: string | null,
): Promise<boolean> {
  const [column] = await warehouse.columns(relation, version?.id ?? null, "now");
  return versions.of(upstreamNodes)?.id === version?.id && (column?.storage ?? "") === storage;
}
