type Placeholders<T extends string> = T extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholders<Rest>
  : never;
type PlaceholderValues<C extends ErrorCode> = Record<
  Placeholders<(typeof ERRORS)[C]["detail"]>,
  string | number
>;

/** An error response. Expected, so it is returned and never thrown. */
export interface HttpError {
  readonly code: ErrorCode;
  readonly status: number;
  readonly detail: string;
  /** The parameter or field that it is about, for the log; null where there is none. Never a value. */
  readonly parameter: string | null;
  /** Seconds to wait before a retry, also sent as `Retry-After`; null when a retry does not help. */
  readonly retryAfter: number | null;
}

/** A value, or the error with which the request is refused. Faults are thrown. */
export type Result<T> = T | HttpError;

export function isHttpError(result: unknown): result is HttpError {
  return typeof result === "object" && result !== null && "code" in result && "retryAfter" in result;
}

/** Creates an error of the table, with a value for each placeholder of its text. */
export function httpError<C extends ErrorCode>(
  code: C,
  ...[fill]: [keyof PlaceholderValues<C>] extends [never] ? [] : [PlaceholderValues<C>]
): HttpError {
  const { status, detail } = ERRORS[code];
  const values: Readonly<Record<string, string | number>> = fill ?? {};
  const text = detail.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name]));
  const parameter = values["name"] ?? values["field"] ?? null;
  const retryAfter = detail.includes("{n}") ? Number(values["n"]) : null;
  return { code, status, detail: text, parameter: parameter === null ? null : String(parameter), retryAfter };
}

/** `detail`: the text for the caller, with `{name}` placeholders; `when`: the condition, for the documentation. */
function answers<Status extends number>(status: Status) {
  return <const Detail extends string>(detail: Detail, when: string) => ({ status, detail, when }) as const;
}

const badRequest = answers(400);
const forbidden = answers(403);
const failed = answers(500);
const unavailable = answers(503);

/**
 * Every error of the data API (runtime/docs/errors.md). Nothing else makes an error body; OpenAPI and the tests read
 * this table.
 */
export const ERRORS = {
  missingKey: forbidden("Missing authentication header: X-API-Key", "the endpoint needs a key; none is sent"),
  unknownKey: forbidden("Invalid API Key", "the key sent is not known"),
  expiredKey: forbidden("This API key expired at {at}.", "the time in the key's `expires` has passed"),
  keysUnreachable: unavailable(
    "The keys cannot be read. Try again in {n} seconds.",
    "the key is not known, or was read too long ago, and the database of KEYS_DATABASE_URL does not respond; `Retry-After` has the seconds",
  ),
  invalidToken: answers(401)(
    "Invalid token: {reason}",
    "the JWT is expired, has another issuer or audience, or has no tier",
  ),
  tokenRequired: answers(401)(
    "Send an API key, or a token of the issuer that the WWW-Authenticate header leads to.",
    "`/mcp` gets neither a key nor a token, API_JWT_ISSUER is set and MCP_ANONYMOUS is not",
  ),
  issuerUnreachable: unavailable(
    "The keys of the token's issuer cannot be read. Try again in {n} seconds.",
    "the issuer of the JWT does not respond; `Retry-After` has the seconds",
  ),
  notListed: forbidden(
    "Access denied. This key may not call {path}.",
    "the key's `allowed` names neither the endpoint's category nor its path",
  ),
  differentKeys: badRequest(
    "X-API-Key and Authorization hold different keys. Send one of them.",
    "both headers are sent, differ, and the second is a key or a token of the issuer too",
  ),
  tierTooLow: forbidden(
    "Access denied. This endpoint requires {tier} access. User '{user}' has {held} access.",
    "the key's tier is below the endpoint's",
  ),
  organizationRequired: forbidden(
    "This endpoint serves each organization its own rows. Send the key of an organization.",
    "the endpoint has `meta.routewright.rows`, and no key with an `org` is sent, or the column's type cannot hold that `org`",
  ),
  metricsForbidden: forbidden(
    "Metrics are open to loopback callers and tier3 keys only.",
    "the caller has neither a loopback address nor a tier3 key, and METRICS_PUBLIC is not set",
  ),
  hostNotLocal: forbidden(
    "The header {header} names no loopback address. Set PUBLIC_URL to the address at which clients reach this server.",
    "`/mcp` or `/metrics` of a server that listens on a loopback address, without PUBLIC_URL or TRUST_PROXY, gets another Host or Origin",
  ),
  originNotAllowed: forbidden(
    "Pages of this Origin may not call /mcp. Add it to CORS_ORIGINS.",
    "`/mcp` gets an Origin that is neither the server's own nor one of CORS_ORIGINS",
  ),
  unsupportedQuery: badRequest(
    "Unsupported query parameters: {names}",
    "a query parameter is not declared; several are listed alphabetically",
  ),
  unsupportedBody: badRequest(
    "Unsupported body fields: {names}",
    "a body field is not declared; several are listed alphabetically",
  ),
  filterOperator: badRequest(
    "Filter '{name}' needs one of the operators {operators}: '{name}[eq]' in a query string, an object in a body.",
    "a column of `meta.routewright.filters` is sent without an operator, or with one that its type does not support",
  ),
  unknownField: badRequest(
    "'fields' must be among: {names}.",
    "`fields` names a column that the endpoint does not have",
  ),
  valuesColumn: badRequest(
    "'column' must be among: {names}.",
    "`/v1/system/values` gets a column that no row or group of the endpoint has, or one that is marked as private data",
  ),
  chartColumn: badRequest(
    "'{name}' must be among: {names}.",
    "`/v1/system/chart` gets a column that no row of the endpoint has, or one that is marked as private data; none where the endpoint serves groups instead of rows",
  ),
  notAddable: badRequest(
    "Parameter '{name}' cannot be used: the values of its column '{column}' are no numbers.",
    "`y` of `/v1/system/chart` names a column whose values are not added up",
  ),
  grainOfTime: badRequest(
    "'grain' needs a column of dates or times as 'x'.",
    "`/v1/system/chart` gets a `grain` beside an `x` of another type",
  ),
  subscriptionInvalid: badRequest(
    "{problem}",
    "`/v1/system/subscriptions` gets no subscription, an address that gets none, or one more than a key may have",
  ),
  parameterRequired: badRequest("Parameter '{name}' is required.", "a system endpoint lacks a parameter"),
  invalidCursor: badRequest(
    "'cursor' is not a cursor of this endpoint with these filters and this sort. Ask for the first page without it.",
    "`cursor` is of another installation, endpoint, caller, filter or sort, or the endpoint's columns have changed",
  ),
  sortKeyTooLong: badRequest(
    "The sort key of the page's last row does not fit into a cursor. Sort by other columns, or page by offset.",
    "the last row's sort columns are too long for a cursor (8 KiB)",
  ),
  cursorWithOffset: badRequest("'cursor' and 'offset' exclude each other. Send one of them.", "both sent"),
  filterSyntax: badRequest(
    "'filter' at position {position}: expected {expected}; found {found}.",
    "`filter` is not an expression of its grammar (filter.md)",
  ),
  filterColumn: badRequest(
    "'filter' at position {position}: expected one of the columns {names}.",
    "`filter` names a column that `meta.routewright.filters` does not open",
  ),
  filterValue: badRequest(
    "'filter' at position {position}: expected {expected}.",
    "`filter` compares a column with a value of another type, or in a way that its type does not have",
  ),
  filterTooComplex: badRequest(
    "'filter' may have at most {bytes} bytes, {values} values, and {depth} levels of parentheses and 'not'.",
    "`filter` is longer, has more values or is nested deeper",
  ),
  filterRequired: badRequest(
    "At least one business filter is required for this endpoint.",
    "the request has no parameter or column filter that narrows the rows, and the model does not set `allow_unfiltered: true`",
  ),
  anyOfRequired: badRequest(
    "At least one of [{names}] is required for this endpoint.",
    "the request has none of the listed parameters",
  ),
  legacyParameters: badRequest(
    "This endpoint does not declare API parameters. Add meta.api to the dbt model to enable filters or pagination.",
    "a parameter is sent to an endpoint whose model has no meta.api",
  ),
  aboveMaximum: badRequest("'{field}' must be <= {max}.", "limit or offset is too large"),
  belowMinimum: badRequest("'{field}' must be >= {min}.", "limit or offset is too small"),
  notInteger: badRequest("'{field}' must be an integer.", "limit or offset is not a whole number"),
  tooManyValues: badRequest(
    "Parameter '{name}' allows at most {max} values.",
    "a list is longer than the parameter's max_items",
  ),
  notSingle: badRequest(
    "Parameter '{name}' expects a single value.",
    "a list or an object is sent for a parameter that takes one value",
  ),
  valueNotOfType: badRequest(
    "Parameter '{name}' must be {type}.",
    "the value is not of the column's type: `an integer`, `a number`, `a boolean`, `a UUID`, `a date in YYYY-MM-DD format`, `a date-time` (RFC 3339), `an IP address` (or a network), and so on (requests.md, Values of filters)",
  ),
  notFilterable: badRequest(
    "Parameter '{name}' cannot be used: values of its column cannot be compared like this.",
    "the column's type in the database has no comparison, or no text that a pattern and `case` can read",
  ),
  valueNotAccepted: badRequest(
    "Parameter '{name}' must be one of: {values}.",
    "the column accepts only the listed values, and the value is not one of them",
  ),
  valueTooLong: badRequest(
    "Parameter '{name}' allows at most {max} characters.",
    "a value is longer than the parameter's max_length (1,000 by default)",
  ),
  nulCharacter: badRequest(
    "Parameter '{name}' must not contain the character U+0000.",
    "a value contains U+0000, which PostgreSQL texts cannot hold",
  ),
  notSortable: badRequest(
    "This endpoint does not support user-controlled sorting.",
    "sort_by or sort_direction is sent to an endpoint without sortable_fields",
  ),
  sortField: badRequest("'sort_by' must be one of: {names}.", "sort_by is not a sortable field"),
  groupUnknown: badRequest(
    "'group_by' must be among: {names}.",
    "`group_by` names a group, or a grain of a time, that not all of the measures or metrics asked have",
  ),
  groupTwice: badRequest("'group_by' names {name} twice.", "`group_by` names a group twice, in one grain"),
  measureUnknown: badRequest(
    "'{field}' must be among: {names}.",
    "`measures` or `metrics` names one that the endpoint does not have",
  ),
  timeGroupRequired: badRequest(
    "'group_by' must name metric_time for {names}: a window or an offset has a value per period.",
    "a metric with a window, an offset or a to-date is asked without its time as a group",
  ),
  startWithoutTime: badRequest(
    "'start_date' needs metric_time in 'group_by' for {names}, which holds all time.",
    "`start_date` is sent for a metric that accumulates all time, without its time as a group",
  ),
  filterTimeGroup: badRequest(
    "'filter' compares the time of {names} in a group with other columns. Compare it at the top, or in a group of its own.",
    "`filter` joins a condition on the time of a metric that accumulates or shifts it with one on another group, by `or` or `not`",
  ),
  resultUnknown: badRequest(
    "'{name}' must be asked in '{field}'.",
    "a condition on the results of a measure or metric that the request does not ask",
  ),
  resultInOr: badRequest(
    "'filter' may compare {name} outside of 'or' only.",
    "`filter` has a measure in an `or`, beside a column of rows or within a `not` of several conditions",
  ),
  parameterNeeds: badRequest(
    "'{name}' requires {other}.",
    "`top` without `sort_by`, `other` without `top`, `totals` without `group_by`, or `compare` without both dates",
  ),
  notCombined: badRequest(
    "'{option}' has no value for {names}, {reason}.",
    "`totals` or `other` is sent for a metric with a window, an offset, a to-date or a choice of one time, or by a list, map or tuple of ClickHouse; `compare` is sent with a further condition on the compared time",
  ),
  notCompared: badRequest(
    "'group_by' cannot have {name} with 'compare': its periods do not follow those of the period before.",
    "`compare` by weeks of a period that is not whole weeks, by months of one that is not whole months, by years or custom periods as they are called, or by a time that not all metrics have",
  ),
  sortDirectionAlone: badRequest(
    "'sort_direction' requires 'sort_by'.",
    "sort_direction is sent without sort_by",
  ),
  sortDirection: badRequest(
    "'sort_direction' must be ASC or DESC.",
    "sort_direction is neither ASC nor DESC; upper and lower case are the same",
  ),
  tooManyRows: badRequest(
    "This request would read more than {max} rows of the database, the limit of {tier}. Narrow its filters.",
    "the ClickHouse query would read more rows than MAX_ROWS_READ",
  ),
  queryTooLarge: badRequest(
    "This request needs more {need} of the database than it may have. Ask for fewer groups, a shorter range, a narrower filter or a smaller page.",
    "the query exceeded its time limit, the memory or disk space that the database gives it, or a limit of its role on rows and bytes; the log has the cause under the X-Request-Id",
  ),
  queryOnPost: badRequest(
    "POST endpoints accept filter and pagination fields in JSON body only.",
    "a POST or a QUERY carries a query string",
  ),
  queryNotJson: answers(415)(
    "QUERY takes JSON: send Content-Type: application/json.",
    "a QUERY has no `Content-Type`, or another one",
  ),
  bodyNotJson: badRequest("Request body must be valid JSON.", "the body cannot be parsed"),
  bodyNotObject: badRequest("Request body must be a JSON object.", "the body is JSON, but not an object"),
  bodyTooComplex: badRequest(
    "Request body must not hold more than {max} values or nest deeper than {depth} levels.",
    "the body is JSON with more values or deeper nesting",
  ),
  batchTooLong: badRequest(
    "Request body must hold one MCP message.",
    "the body of `POST /mcp` is a list of several messages",
  ),
  bodyTooLarge: answers(413)("Request body must not be larger than {max} bytes.", "the body is over 1 MiB"),
  unknownTier: badRequest("'tier' must be one of: {names}.", "`?tier=` of /openapi.json names no tier"),
  notFound: answers(404)("Not Found", "no endpoint has this path"),
  gone: answers(410)(
    "This endpoint answered until {at}. {instead}",
    "the time that `meta.routewright.gone_after` gives after the endpoint's `deprecation_date` has passed; `Link` names the successor, where the caller may know of it",
  ),
  methodNotAllowed: answers(405)(
    "Method Not Allowed",
    "the path exists, but not with this method; `Allow` lists its methods",
  ),
  rangeNotSatisfiable: answers(416)(
    "The body has {bytes} bytes: the range begins behind them.",
    "`Range` of a GET begins behind the last byte of a body whose length is known; `Content-Range` has the length",
  ),
  notAcceptable: answers(406)(
    "'{name}' names no form that this address has.",
    "`Accept` or `$format` of a request below `/odata` has neither JSON nor, for `$metadata`, XML",
  ),
  notImplemented: answers(501)(
    "'{name}' is not offered: {reason}.",
    "a request below `/odata` uses a part of OData that the service or the endpoint does not have",
  ),
  rateLimited: answers(429)(
    "Rate limit exceeded. Try again in {n} seconds.",
    "the caller's window, or the limit of documents by address, is used up; `Retry-After` has the seconds",
  ),
  quotaExceeded: answers(429)(
    "The quota of {quota} {unit} a month is used up. Try again in {n} seconds.{upgrade}",
    "the organization has used its quota of the calendar month in UTC; `Retry-After` has the seconds until the next, or 1 where other processes hold the rest, and the text the plan's `upgrade`",
  ),
  quotaUnreachable: unavailable(
    "The quota cannot be read. Try again in {n} seconds.",
    "the organization has a quota, and the database of KEYS_DATABASE_URL does not respond; `Retry-After` has the seconds",
  ),
  queryFailed: failed(
    "Database query failed.",
    "the database cannot answer; the cause is in the log under the X-Request-Id",
  ),
  tooManyDigits: failed(
    "A value of '{name}' has more digits than its documented type. Ask for another format than Parquet or Arrow.",
    "a value for Parquet or Arrow has more digits than the model declares",
  ),
  unexpected: failed(
    "Internal Server Error",
    "an unexpected error; the cause is in the log under the X-Request-Id",
  ),
  sourceFailed: answers(502)(
    "A source from which the database reads cannot answer.",
    "a foreign table, a linked server or a function of the relation reports a lost connection, a lock or a conflict; the cause is in the log under the X-Request-Id",
  ),
  overloaded: unavailable(
    "The service is overloaded. Try again in {n} seconds.",
    "too many queries are waiting, bodies are arriving, or event streams are open; `Retry-After` has the seconds",
  ),
  unreachable: unavailable(
    "The database cannot be reached. Try again in {n} seconds.",
    "no server of the database accepts a connection, or it does not respond within the query's time limit; `Retry-After` has the seconds",
  ),
  noSubscriptions: unavailable(
    "This server has no subscriptions. Its events are at /v1/system/events.",
    "`/v1/system/subscriptions` of a server without `WEBHOOK_SECRETS_KEY`, or without PostgreSQL",
  ),
  notFresh: unavailable(
    "The rows are older than promised, or of no known build. Try again in {n} seconds, or without 'require_fresh'.",
    "`require_fresh=true` is sent, and the endpoint's `X-Data-Freshness` is `error` or unknown; `Retry-After` has the seconds",
  ),
  testsFailed: unavailable(
    "No rows are served while dbt tests of them fail: {failed}. Try again in {n} seconds.",
    "tests of the model failed, which has `meta.routewright.on_failed_test: refuse`; `Retry-After` has the seconds",
  ),
  malformedRequest: badRequest("Bad Request", "what arrives is not HTTP; the connection closes"),
  requestTimeout: answers(408)(
    "The request has not arrived in time.",
    "headers take over 10 seconds, or a body over 30; the connection closes",
  ),
  chunkTooLarge: answers(413)(
    "The extensions of a chunk are too long.",
    "a chunked body has extensions over 16 KiB; the connection closes",
  ),
  expectationUnknown: answers(417)(
    "The header Expect may only be 100-continue.",
    "`Expect` has another value; the connection closes",
  ),
  headersTooLarge: answers(431)(
    "The address and the headers of a request hold 16 KiB together. Send longer lists in the body of a POST, where the endpoint takes one.",
    "a query string or the headers are too long; the connection closes",
  ),
  tooManyConnections: unavailable(
    "The server has too many connections. Try again in {n} seconds.",
    "10,000 connections are open and busy; `Retry-After` has the seconds",
  ),
};

export type ErrorCode = keyof typeof ERRORS;
