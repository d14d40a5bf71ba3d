import { columnNamed } from "../model/column-names.js";
import { httpError, isHttpError, type Result } from "../model/errors.js";
import { DEFAULT_MAX_LENGTH } from "../model/limits.js";
import { queryKey, type RawFields, type ResolvedQuery, type Selection } from "../model/query.js";
import type { ServedEndpoint } from "../model/served-endpoint.js";
import { traceOf } from "../http/headers.js";
import { queryOf } from "../http/route.js";
import { requireAccess } from "../request/authorize.js";
import { queryFields, readRequired } from "../request/request-fields.js";
import { ownRows } from "../request/resolve-query.js";
import { NO_ROWS } from "../response/respond.js";
import {
  KeptValues,
  type ListedValue,
  type ListedValues,
  type ReadValues,
} from "../response/values-cache.js";
import { loadMetrics, type ValuesQuestion } from "../warehouse/load-metrics.js";
import type { ResultColumn } from "../warehouse/warehouse.js";
import type { Exchange } from "./exchange.js";
import { linesOf, readRows, rowOf } from "../response/read-rows.js";
import { recordRequest, StepTimes } from "./record-request.js";
import { errorOf, run } from "./run.js";

/** Longer lists are cut. */
const MAX_BYTES = 64 * 1024;

/** Whose values are asked, and what of them. */
export interface ValuesRequest {
  readonly endpoint: ServedEndpoint;
  /** The path by which the caller names it. */
  readonly path: string;
  readonly fields: RawFields;
  readonly isPrivate: (path: string, column: string) => boolean;
  /** The path of the request in the log; null for a tool. */
  readonly requestPath: string | null;
}

/** Where endpoints and the marks of private data are looked up. */
interface EndpointLookup extends Pick<ValuesRequest, "isPrivate"> {
  readonly endpointAt: (path: string) => ServedEndpoint | null;
}

/** The values that a query string asks for. */
export async function requestedValues(
  exchange: Exchange,
  { endpointAt, isPrivate }: EndpointLookup,
): Promise<Result<ListedValues> | null> {
  const fields = queryFields(queryOf(exchange.request).toString());
  const path = readRequired("path", fields);
  if (isHttpError(path)) return path;
  const endpoint = endpointAt(path);
  if (endpoint === null) return httpError("notFound");
  const requestPath = exchange.item.path;
  return columnValues(exchange, { endpoint, path, fields, isPrivate, requestPath });
}

/**
 * The values of a column, as the caller may read them: the checks, limits and own rows of a request for rows, recorded as one. Null
 * when the client has disconnected.
 */
export async function columnValues(
  exchange: Exchange,
  { endpoint, path, fields, isPrivate, requestPath }: ValuesRequest,
): Promise<Result<ListedValues> | null> {
  const { gateway, request, context } = exchange;
  const { spec } = endpoint;
  const times = new StepTimes();
  const refused = requireAccess(path, spec.tier, context.caller);
  // As at the path itself: it is none that this caller knows of.
  const refusal = refused !== null && gateway.catalogue === "allowed" ? httpError("notFound") : refused;
  times.end("authorize");
  const { readValuesQuestion } = await loadMetrics();
  const question = refusal ?? readValuesQuestion(endpoint, (column) => isPrivate(spec.path, column), fields);
  times.end("resolve");
  const { outcome, sent } = isHttpError(question)
    ? { outcome: question, sent: NO_ROWS }
    : await valuesFor(exchange, endpoint, question);
  times.end("run");
  const error = isHttpError(outcome) ? outcome : null;
  recordRequest(gateway, context, {
    method: "GET",
    route: spec.path,
    path: requestPath,
    parameters: isHttpError(question)
      ? []
      : [...new Set([...filterNames(question), `fields=${question.column}`])],
    trace: traceOf(request),
    status: error?.status ?? 200,
    sent,
    error,
    times,
  });
  return outcome;
}

const filterNames = ({ conditions }: ValuesQuestion): readonly string[] =>
  conditions.map(({ name }) => name).filter((name) => name !== "prefix");

async function valuesFor(
  exchange: Exchange,
  endpoint: ServedEndpoint,
  question: ValuesQuestion,
): Promise<ReadValues> {
  const { gateway } = exchange;
  try {
    const query = await resolveValues(exchange, endpoint, question);
    if (isHttpError(query)) return { outcome: query, sent: NO_ROWS };
    const key = `${queryKey(query)}\0${gateway.versionOf(endpoint.spec.path)?.id ?? ""}`;
    for (let others = gateway.values.get(key); others !== undefined; others = gateway.values.get(key)) {
      const kept = await others.reading;
      // Null: the client of that request has left. The next in line reads.
      if (kept.outcome) return { ...kept, sent: { ...kept.sent, databaseMs: null } };
    }
    const reading = read(exchange, endpoint, query).catch((error: unknown) =>
      failed(exchange, endpoint, error),
    );
    const kept = new KeptValues(reading);
    gateway.values.set(key, kept);
    const found = await reading;
    kept.weigh(found);
    // A failure, or a client that did not wait, is no answer to others.
    const isNone = found.outcome === null || isHttpError(found.outcome);
    if (gateway.values.get(key) === kept && isNone) gateway.values.delete(key);
    return found;
  } catch (error) {
    return failed(exchange, endpoint, error);
  }
}

function failed({ gateway, context }: Exchange, { spec }: ServedEndpoint, error: unknown): ReadValues {
  return { outcome: errorOf(gateway, spec, context, error), sent: NO_ROWS };
}

/** The query of the values, once the type of the column says that it has some. */
async function resolveValues(
  { gateway, context: { caller } }: Exchange,
  endpoint: ServedEndpoint,
  question: ValuesQuestion,
): Promise<Result<ResolvedQuery>> {
  const { spec } = endpoint;
  const own = ownRows(spec, caller.org);
  if (isHttpError(own)) return own;
  const { valuesOfGroup } = await loadMetrics();
  const selection =
    question.grouping === null
      ? await selectionOfRows(gateway, endpoint, question)
      : valuesOfGroup(question, question.grouping.aggregate);
  if (isHttpError(selection)) return selection;
  const selected = own === null ? selection : { ...selection, conditions: [own, ...selection.conditions] };
  const { relation, path: route } = spec;
  const limits = gateway.queryLimits[caller.tier];
  return { relation, route, selection: selected, format: "ndjson", ...limits };
}

async function selectionOfRows(
  { warehouse, versionOf }: Exchange["gateway"],
  endpoint: ServedEndpoint,
  question: ValuesQuestion,
): Promise<Result<Selection>> {
  const { spec } = endpoint;
  const columns = await warehouse.columns(spec.relation, versionOf(spec.path)?.id ?? null);
  const column = columnNamed(columns, question.column);
  const hasValues = (each: ResultColumn): boolean =>
    warehouse.valuesOf(each) !== "other" && each.states === undefined;
  if (column === undefined || !hasValues(column)) return httpError("notFilterable", { name: "column" });
  const { valuesOfRows } = await loadMetrics();
  return valuesOfRows(endpoint, question, (name) => columnNamed(columns, name)?.name ?? name);
}

async function read(
  { gateway, context }: Exchange,
  { spec }: ServedEndpoint,
  query: ResolvedQuery,
): Promise<ReadValues> {
  const answer = await run(gateway, spec, query, context);
  if (answer === null || isHttpError(answer)) return { outcome: answer, sent: NO_ROWS };
  const { result } = answer;
  if (result === null) return { outcome: null, sent: NO_ROWS };
  const { body, isCut, sent } = await readRows({ ...answer, result }, MAX_BYTES);
  const found = distinct(linesOf(body).map((line) => rowOf(line) as unknown as ListedValue));
  const values = found.filter(({ value }) => isFilterValue(value));
  return { outcome: { values, more: isCut || answer.hasMore || values.length < found.length }, sent };
}

/** A filter takes no longer text. */
function isFilterValue(value: unknown): boolean {
  return typeof value !== "string" || Array.from(value).length <= DEFAULT_MAX_LENGTH;
}

/** NaN and infinities are null in JSON: one value. */
function distinct(values: readonly ListedValue[]): readonly ListedValue[] {
  const found = new Map<unknown, ListedValue>();
  for (const { value, rows } of values) {
    const known = found.get(value);
    const sum = (known?.rows ?? 0) + (rows ?? 0);
    found.set(value, rows === undefined ? { value } : { value, rows: sum });
  }
  return [...found.values()].sort((one, other) => (other.rows ?? 0) - (one.rows ?? 0));
}
