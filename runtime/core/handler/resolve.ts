import type { IncomingMessage } from "node:http";
import { jsonOf, type ServedEndpoint } from "../model/served-endpoint.js";
import { type HttpError, httpError, isHttpError, type Result } from "../model/errors.js";
import {
  columnsOf,
  type Condition,
  FILTER,
  type RawFields,
  type ResolvedQuery,
  type RowFormat,
  type Selection,
} from "../model/query.js";
import type { Caller } from "../model/caller.js";
import {
  asksGroups,
  filterToLoad,
  ownRows,
  readParameters,
  withOperators,
} from "../request/resolve-query.js";
import {
  readCursor,
  bodyFields,
  NO_FIELDS,
  fieldsOfParsed,
  queryFields,
  readRequireFresh,
} from "../request/request-fields.js";
import { cursorScope } from "../response/cursors.js";
import { formatOf } from "../response/content-negotiation.js";
import { MAX_BODY_BYTES, type BodyErrors, readText } from "../http/body.js";
import { BUSY_RETRY_SECONDS } from "../http/headers.js";
import { loadMetrics } from "../warehouse/load-metrics.js";
import { TIER_SHARES } from "../warehouse/caller-shares.js";
import type { Gateway } from "./gateway.js";

/** A request; `body` is set when middleware such as `express.json()` has already read it. */
export type DataRequest = IncomingMessage & { readonly body?: unknown };

const NO_NAMES: readonly string[] = [];

/**
 * Names of the parameters of a query, with `fields=<column>` for each column that it chooses, `filter=<column>` for each that its
 * expression compares, and `group_by=<group>` and
 * `measures=<measure>` for what is asked by group, also where no measure is named.
 */
export function parameterNames(
  endpoint: ServedEndpoint,
  { fields = NO_FIELDS, selection: { columns, conditions, grouping } }: ResolvedQuery,
): readonly string[] {
  const compared = fields.has(FILTER) ? comparedNames(conditions) : NO_NAMES;
  if (grouping !== undefined)
    return [
      ...fields.keys(),
      ...compared,
      ...grouping.groups.map(({ key }) => `group_by=${key}`),
      ...grouping.measures.map(({ name }) => `${grouping.aggregate.of}=${name}`),
    ];
  if (fields.size === 0) return NO_NAMES;
  const chosen = columns === undefined || columns === endpoint.all ? [] : columns.columns;
  return [...fields.keys(), ...compared, ...chosen.map(({ name }) => `fields=${name}`)];
}

function comparedNames(conditions: readonly Condition[]): readonly string[] {
  return comparedColumns(conditions).map((column) => `${FILTER}=${column}`);
}

/** The columns that the parameter `filter` compares. */
export function comparedColumns(conditions: readonly Condition[]): readonly string[] {
  const columns = conditions.filter(({ name }) => name === FILTER).flatMap(columnsOf);
  // U+0000 is before the name of a measure.
  return [...new Set(columns.map((column) => column.replace("\0", "")))];
}

/** The query of a request. Null when the client disconnected while sending its body. */
export function resolveRequest(
  gateway: Gateway,
  endpoint: ServedEndpoint,
  request: DataRequest,
  caller: Caller,
): Result<ResolvedQuery> | Promise<Result<ResolvedQuery> | null> {
  const { url = "" } = request;
  const mark = url.indexOf("?");
  const query = mark === -1 ? "" : url.slice(mark + 1);
  const format = formatOf(request, endpoint);
  if (request.method === "POST" || request.method === "QUERY")
    return resolveBody(gateway, endpoint, request, caller, { query, format });
  const fields = query === "" ? NO_FIELDS : queryFields(query);
  return resolve(gateway, endpoint, caller, { fields, source: "query", format });
}

async function resolveBody(
  gateway: Gateway,
  endpoint: ServedEndpoint,
  request: DataRequest,
  caller: Caller,
  { query, format }: { readonly query: string; readonly format: RowFormat },
): Promise<Result<ResolvedQuery> | null> {
  // A caller who may read no rows is refused before its body is read.
  const own = ownRows(endpoint.spec, caller.org);
  if (isHttpError(own)) return own;
  if (query !== "") return httpError("queryOnPost");
  const fields = await readBodyFields(request, caller);
  if (fields === null || isHttpError(fields)) return fields;
  return resolve(gateway, endpoint, caller, { fields, source: "body", format });
}

/** The fields of a JSON body; null when the client disconnected while sending. */
export async function readBodyFields(
  request: DataRequest,
  caller: Caller,
): Promise<Result<RawFields> | null> {
  // RFC 10008 asks for it. A POST may say anything.
  if (request.method === "QUERY" && !isJson(request.headers["content-type"]))
    return httpError("queryNotJson");
  if (request.body !== undefined) return fieldsOfParsed(request.body);
  const text = await readBodyText(request, caller);
  return typeof text === "string" ? bodyFields(text) : text;
}

function isJson(contentType = ""): boolean {
  return /^application\/json\s*(?:;|$)/i.test(contentType);
}

/** The text of a caller's body; null when the client disconnected while sending. */
export function readBodyText(request: IncomingMessage, { id, tier }: Caller): Promise<Result<string> | null> {
  return readText(request, { id, share: TIER_SHARES[tier] }, BODY_ERRORS);
}

const BODY_ERRORS: BodyErrors<HttpError> = {
  "not-text": httpError("bodyNotJson"),
  "too-large": httpError("bodyTooLarge", { max: MAX_BODY_BYTES }),
  overloaded: httpError("overloaded", { n: BUSY_RETRY_SECONDS }),
};

/** What a caller asks of an endpoint. */
interface Question {
  readonly fields: RawFields;
  readonly source: "query" | "body";
  readonly format: RowFormat;
}

/** Checks the fields and makes the query from them, limited to the caller's own rows. A promise where groups are asked. */
export function resolve(
  gateway: Gateway,
  endpoint: ServedEndpoint,
  caller: Caller,
  question: Question,
): Result<ResolvedQuery> | Promise<Result<ResolvedQuery>> {
  const own = ownRows(endpoint.spec, caller.org);
  if (isHttpError(own)) return own;
  const fields = withOperators(endpoint, question.fields);
  if (isHttpError(fields)) return fields;
  const loading = filterToLoad(endpoint, fields);
  if (loading !== null) return loading.then(() => resolve(gateway, endpoint, caller, question));
  const { format } = question;
  const asked = { fields, format, own };
  const { aggregate } = endpoint;
  if (aggregate === undefined || !asksGroups(endpoint.spec, fields))
    return queryOf(gateway, endpoint, caller, asked, readParameters(endpoint, fields, question.source));
  return loadMetrics().then(({ readGroups }) =>
    queryOf(gateway, endpoint, caller, asked, readGroups(endpoint, aggregate, fields, question.source)),
  );
}

/** The query of a selection, also one that is made of other fields. `own`: the condition on the caller's rows. */
export function queryOf(
  gateway: Gateway,
  endpoint: ServedEndpoint,
  caller: Caller,
  { fields, format, own }: Omit<Question, "source"> & { readonly own: Condition | null },
  selection: Result<Selection>,
): Result<ResolvedQuery> {
  if (isHttpError(selection)) return selection;
  const selected = own === null ? selection : { ...selection, conditions: [own, ...selection.conditions] };
  const pagedBy = selection.grouping ? selection.grouping.groups[0] : endpoint.spec.cursor;
  const paged = pagedBy !== undefined ? afterCursor(gateway, endpoint, fields, selected) : selected;
  if (isHttpError(paged)) return paged;
  const { relation, path: route, requireFresh } = endpoint.spec;
  const mustBeFresh = requireFresh === true && readRequireFresh(fields);
  if (isHttpError(mustBeFresh)) return mustBeFresh;
  const { timeoutMs, maxRowsRead } = gateway.queryLimits[caller.tier];
  const written = format === "csv" ? gateway.csvFormat : writtenFormat(format, endpoint, selection);
  const query = { relation, route, selection: paged, format: written, timeoutMs, maxRowsRead, fields };
  return mustBeFresh ? { ...query, mustBeFresh } : query;
}

/** `json-declared` is about columns of rows: groups have the format that the endpoint declares for all its numbers. */
function writtenFormat(format: RowFormat, { spec }: ServedEndpoint, { grouping }: Selection): RowFormat {
  return format === "json-declared" && grouping !== undefined ? jsonOf(spec) : format;
}

/** What an endpoint with cursors selects. */
function afterCursor(
  { cursors }: Gateway,
  endpoint: ServedEndpoint,
  fields: RawFields,
  selection: Selection,
): Result<Selection> {
  const cursor = readCursor(fields);
  if (isHttpError(cursor)) return cursor;
  const scope = cursorScope(endpoint.spec, selection);
  if (cursor === null) return { ...selection, keyset: { scope, after: null } };
  const position = cursors.read(cursor, scope);
  if (position === null) return httpError("invalidCursor");
  return { ...selection, keyset: { scope, after: position.values, types: position.types } };
}
