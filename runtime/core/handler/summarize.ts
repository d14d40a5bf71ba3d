import type { ValueKind } from "../model/column-types.js";
import type { Endpoint } from "../model/endpoint.js";
import { isHttpError, type Result } from "../model/errors.js";
import type { ResolvedQuery } from "../model/query.js";
import { servedOf } from "../warehouse/served-columns.js";
import type { Gateway } from "./gateway.js";
import { errorOf } from "./query-error.js";
import { contextOf, prepare, type RowsContext, rowsRefusal } from "./run.js";

/**
 * The number of a query's rows on all pages, and the bounds of the dates and times that it serves, where there are any.
 * Null when the client has disconnected. Never rejects.
 */
export async function summarize(
  gateway: Gateway,
  endpoint: Endpoint,
  asked: ResolvedQuery,
  reader: RowsContext,
): Promise<Result<object> | null> {
  const refused = rowsRefusal(gateway, endpoint, reader.caller);
  if (refused !== null) return refused;
  try {
    const version = gateway.versionOf(endpoint.path);
    const { columns } = await gateway.warehouse.columnsOf(asked, version?.id ?? null);
    const query = await prepare(gateway, asked, version);
    if (isHttpError(query)) return query;
    const dates = servedOf(columns, query.selection.columns).columns.filter((column) =>
      DATES.has(gateway.warehouse.valuesOf(column)),
    );
    const { count, bounds } = await gateway.warehouse.aggregate(query, contextOf(reader, version), dates);
    const entries = dates.map(({ name, key = name }, i) => [key, bounds[i]] as const);
    return { count, dates: Object.fromEntries(entries.filter(([, bound]) => bound?.min != null)) };
  } catch (error) {
    return errorOf(gateway, endpoint, reader, error);
  }
}

const DATES: ReadonlySet<ValueKind> = new Set(["date", "date-time"]);
