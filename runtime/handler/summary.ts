import type { IncomingMessage } from "node:http";
import type { ResolvedQuery } from "../model/query.js";
import { Overloaded } from "../warehouse/fair-queue.js";
import { servedColumns } from "../warehouse/relations.js";
import type { AggregateResult, QueryContext, ResultColumns, Warehouse } from "../warehouse/warehouse.js";

const summaries = new WeakSet<IncomingMessage>();

/** The request is answered with the number of its rows on all pages and the bounds of their dates, not with rows. */
export function markSummary(request: IncomingMessage): void {
  summaries.add(request);
}

export function isSummary(request: IncomingMessage): boolean {
  return summaries.has(request);
}

/** The number of a query's rows, and the bounds of the dates and times that it serves, where there are any. */
export async function summaryOf(
  warehouse: Warehouse,
  query: ResolvedQuery,
  context: QueryContext,
): Promise<object> {
  const columns = await warehouse.columns(query.relation, context.version);
  const dates = servedColumns(columns, query.selection.columns).filter(({ type }) => DATES.test(type));
  const { count, bounds } = await aggregateOf(warehouse, query, context, dates);
  const entries = dates.map(({ name }, i) => [name, bounds[i]] as const);
  return { count, dates: Object.fromEntries(entries.filter(([, bound]) => bound?.min != null)) };
}

/** Types of both engines. */
const DATES = /^((nullable|lowcardinality)\()*(date(32|time(64)?)?|timestamp(tz)?)\b/i;

/** Rejects with `Overloaded` where the warehouse is. */
export async function aggregateOf(
  warehouse: Warehouse,
  query: ResolvedQuery,
  context: QueryContext,
  columns: ResultColumns,
): Promise<AggregateResult> {
  const aggregate = await warehouse.aggregate(query, context, columns);
  if (aggregate === "overloaded") throw new Overloaded("queueFull");
  return aggregate;
}
