import { columnNamed } from "../model/column-names.js";
import { type HttpError, httpError, isHttpError, type Result } from "../model/errors.js";
import type { Selection } from "../model/query.js";
import type { ServedEndpoint } from "../model/served-endpoint.js";
import type { ReadRow } from "../response/read-rows.js";
import { filterToLoad } from "../request/resolve-query.js";
import { type ChartQuestion, loadMetrics } from "../warehouse/load-metrics.js";
import type { ResultColumns } from "../warehouse/warehouse.js";
import {
  askRows,
  type EndpointLookup,
  rowsRequest,
  type RowsQuestion,
  type RowsRequest,
} from "./ask-rows.js";
import type { Exchange } from "./exchange.js";
import { hasValues } from "./list-values.js";

/** The points of a chart (runtime/docs/system-endpoints.md, Points of a chart). */
interface ChartPoints {
  readonly points: readonly ChartPoint[];
  /** Whether there are others. */
  readonly more: boolean;
}

interface ChartPoint {
  readonly x: unknown;
  readonly by: readonly unknown[];
  readonly sum: readonly unknown[];
  readonly count: readonly unknown[];
}

/** Longer answers are cut. */
const MAX_BYTES = 1024 * 1024;

/** The points that a query string asks for. Null when the client has disconnected. */
export async function chartPoints(
  exchange: Exchange,
  lookup: EndpointLookup,
): Promise<Result<ChartPoints> | null> {
  const request = await rowsRequest(exchange, lookup);
  return request === null || isHttpError(request) ? request : pointsOfChart(exchange, request);
}

/** The points of a chart, as the caller may read them. Null when the client has disconnected. */
export function pointsOfChart(exchange: Exchange, request: RowsRequest): Promise<Result<ChartPoints> | null> {
  return askRows(exchange, request, () => readQuestion(exchange, request));
}

async function readQuestion(
  { gateway }: Exchange,
  { endpoint, fields, isPrivate }: RowsRequest,
): Promise<Result<RowsQuestion<ChartPoints>>> {
  const { readChartQuestion } = await loadMetrics();
  await filterToLoad(endpoint, fields);
  const question = readChartQuestion(endpoint, (column) => isPrivate(endpoint.spec.path, column), fields);
  if (isHttpError(question)) return question;
  const { x, by, y, conditions } = question;
  return {
    names: [...conditions.map(({ name }) => name), `fields=${[...new Set([x, ...by, ...y])].join(",")}`],
    maxBytes: MAX_BYTES,
    select: () => selectionOf(gateway, endpoint, question),
    answer: (rows, more) => ({ points: rows.map((row) => pointOf(row, question)), more }),
  };
}

function pointOf(row: ReadRow, { by, y }: ChartQuestion): ChartPoint {
  const each = (names: readonly string[], key: string): unknown[] =>
    names.map((_, i) => row[`${key}${String(i)}`] ?? null);
  return { x: row["x"] ?? null, by: each(by, "by"), sum: each(y, "sum"), count: each(y, "count") };
}

async function selectionOf(
  gateway: Exchange["gateway"],
  endpoint: ServedEndpoint,
  question: ChartQuestion,
): Promise<Result<Selection>> {
  const { spec } = endpoint;
  const columns = await gateway.warehouse.columns(spec.relation, gateway.versionOf(spec.path)?.id ?? null);
  const refusal = refusalOf(gateway, question, columns);
  if (refusal !== null) return refusal;
  const { pointsOf } = await loadMetrics();
  const nameOf = (name: string): string => columnNamed(columns, name)?.name ?? name;
  return pointsOf(endpoint, question, { nameOf, isTime: isTime(gateway, question.x, columns) });
}

/** Why the types of the columns have no such chart. */
function refusalOf(
  gateway: Exchange["gateway"],
  { x, grain, by, y }: ChartQuestion,
  columns: ResultColumns,
): HttpError | null {
  for (const [name, asked] of [["x", x], ...by.map((each) => ["by", each] as const)] as const) {
    const column = columnNamed(columns, asked);
    if (column === undefined || !hasValues(gateway, column)) return httpError("notFilterable", { name });
  }
  for (const asked of y) {
    const column = columnNamed(columns, asked);
    const kind = column === undefined ? "other" : gateway.warehouse.valuesOf(column);
    if ((kind !== "integer" && kind !== "number") || column?.states !== undefined)
      return httpError("notAddable", { name: "y", column: asked });
  }
  return grain !== null && !isTime(gateway, x, columns) ? httpError("grainOfTime") : null;
}

function isTime({ warehouse }: Exchange["gateway"], name: string, columns: ResultColumns): boolean {
  const column = columnNamed(columns, name);
  return column !== undefined && /^date/.test(warehouse.valuesOf(column));
}
