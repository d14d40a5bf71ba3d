type Placeholders<T extends string> = T extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholders<Rest>
  : never;
type Values<C extends ErrorCode> = Record<Placeholders<(typeof ERRORS)[C]["detail"]>, string | number>;

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
  ...[fill]: [keyof Values<C>] extends [never] ? [] : [Values<C>]
): HttpError {
  const { status, detail } = ERRORS[code];
  const values: Readonly<Record<string, string | number>> = fill ?? {};
  const text = detail.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name]));
  const parameter = values["name"] ?? values["field"] ?? null;
  const retryAfter = detail.includes("{n}") ? Number(values["n"]) : null;
  return { code, status, detail: text, parameter: parameter === null ? null : String(parameter), retryAfter };
}

/**
 * Every error of the data API (runtime/docs/errors.md). Nothing else makes an error body; OpenAPI and the tests read
 * this table. `detail`: the text for the caller, with `{name}` placeholders; `when`: the condition, for the documentation.
 */
export const ERRORS = {
  missingKey: {
    status: 403,
    detail: "Missing authentication header: X-API-Key",
    when: "the endpoint needs a key and none is sent",
  },
  unknownKey: { status: 403, detail: "Invalid API Key", when: "the key sent is not known" },
  expiredKey: {
    status: 403,
    detail: "This API key expired at {at}.",
    when: "the time in the key's `expires` has passed",
  },
  invalidToken: {
    status: 401,
    detail: "Invalid token: {reason}",
    when: "the JWT is expired, has another issuer or audience, or has no tier",
  },
  issuerUnreachable: {
    status: 503,
    detail: "The keys of the token's issuer cannot be read. Try again in {n} seconds.",
    when: "the issuer of the JWT does not respond; `Retry-After` has the seconds",
  },
  notListed: {
    status: 403,
    detail: "Access denied. This key may not call {path}.",
    when: "the key's `allowed` names neither the endpoint's category nor its path",
  },
  differentKeys: {
    status: 400,
    detail: "X-API-Key and Authorization hold different keys. Send one of them.",
    when: "both headers are sent and differ",
  },
  tierTooLow: {
    status: 403,
    detail: "Access denied. This endpoint requires {tier} access. User '{user}' has {held} access.",
    when: "the key's tier is below the endpoint's",
  },
  organizationRequired: {
    status: 403,
    detail: "This endpoint serves each organization its own rows. Send the key of an organization.",
    when: "the endpoint has `meta.routewright.rows`, and no key with an `org` is sent, or the column's type cannot hold that `org`",
  },
  metricsForbidden: {
    status: 403,
    detail: "Metrics are open to loopback callers and tier3 keys only.",
    when: "the caller has neither a loopback address nor a tier3 key, and METRICS_PUBLIC is not set",
  },
  unsupportedQuery: {
    status: 400,
    detail: "Unsupported query parameters: {names}",
    when: "a query parameter is not declared; several are listed alphabetically",
  },
  unsupportedBody: {
    status: 400,
    detail: "Unsupported body fields: {names}",
    when: "a body field is not declared; several are listed alphabetically",
  },
  filterOperator: {
    status: 400,
    detail:
      "Filter '{name}' needs one of the operators {operators}: '{name}[eq]' in a query string, an object in a body.",
    when: "a column of `meta.routewright.filters` is sent without an operator, or with one that its type does not support",
  },
  unknownField: {
    status: 400,
    detail: "'fields' must be among: {names}.",
    when: "`fields` names a column that the endpoint does not have",
  },
  invalidCursor: {
    status: 400,
    detail:
      "'cursor' is not a cursor of this endpoint with these filters and this sort. Ask for the first page without it.",
    when: "`cursor` is of another installation, endpoint, caller, filter or sort, or the endpoint's columns have changed",
  },
  sortKeyTooLong: {
    status: 400,
    detail:
      "The sort key of the page's last row does not fit into a cursor. Sort by other columns, or page by offset.",
    when: "the last row's sort columns are too long for a cursor (8 KiB)",
  },
  cursorWithOffset: {
    status: 400,
    detail: "'cursor' and 'offset' exclude each other. Send one of them.",
    when: "both are sent",
  },
  filterRequired: {
    status: 400,
    detail: "At least one business filter is required for this endpoint.",
    when: "the request has no parameter or column filter that narrows the rows, and the model does not set `allow_unfiltered: true`",
  },
  anyOfRequired: {
    status: 400,
    detail: "At least one of [{names}] is required for this endpoint.",
    when: "the request has none of the listed parameters",
  },
  legacyParameters: {
    status: 400,
    detail:
      "This endpoint does not declare API parameters. Add meta.api to the dbt model to enable filters or pagination.",
    when: "a parameter is sent to an endpoint whose model has no meta.api",
  },
  aboveMaximum: { status: 400, detail: "'{field}' must be <= {max}.", when: "limit or offset is too large" },
  belowMinimum: { status: 400, detail: "'{field}' must be >= {min}.", when: "limit or offset is too small" },
  notInteger: {
    status: 400,
    detail: "'{field}' must be an integer.",
    when: "limit or offset is not a whole number",
  },
  tooManyValues: {
    status: 400,
    detail: "Parameter '{name}' allows at most {max} values.",
    when: "a list is longer than the parameter's max_items",
  },
  notSingle: {
    status: 400,
    detail: "Parameter '{name}' expects a single value.",
    when: "a list or an object is sent for a parameter that takes one value",
  },
  valueNotOfType: {
    status: 400,
    detail: "Parameter '{name}' must be {type}.",
    when: "the value is not of the column's type: `an integer`, `a number`, `a boolean`, `a UUID`, `a date in YYYY-MM-DD format`, `a date-time` (RFC 3339), `an IP address` (or a network)",
  },
  valueNotAccepted: {
    status: 400,
    detail: "Parameter '{name}' must be one of: {values}.",
    when: "the column accepts only the listed values, and the value is not one of them",
  },
  valueTooLong: {
    status: 400,
    detail: "Parameter '{name}' allows at most {max} characters.",
    when: "a value is longer than the parameter's max_length (1,000 by default)",
  },
  nulCharacter: {
    status: 400,
    detail: "Parameter '{name}' must not contain the character U+0000.",
    when: "a value contains U+0000, which PostgreSQL texts cannot hold",
  },
  notSortable: {
    status: 400,
    detail: "This endpoint does not support user-controlled sorting.",
    when: "sort_by or sort_direction is sent to an endpoint without sortable_fields",
  },
  sortField: {
    status: 400,
    detail: "'sort_by' must be one of: {names}.",
    when: "sort_by is not a sortable field",
  },
  sortDirectionAlone: {
    status: 400,
    detail: "'sort_direction' requires 'sort_by'.",
    when: "sort_direction is sent without sort_by",
  },
  sortDirection: {
    status: 400,
    detail: "'sort_direction' must be ASC or DESC.",
    when: "sort_direction is neither ASC nor DESC; upper and lower case are the same",
  },
  tooManyRows: {
    status: 400,
    detail:
      "This request would read more than {max} rows of the database, the limit of {tier}. Narrow its filters.",
    when: "the ClickHouse query would read more rows than MAX_ROWS_READ",
  },
  queryOnPost: {
    status: 400,
    detail: "POST endpoints accept filter and pagination fields in JSON body only.",
    when: "a POST carries a query string",
  },
  bodyNotJson: { status: 400, detail: "Request body must be valid JSON.", when: "the body cannot be parsed" },
  bodyNotObject: {
    status: 400,
    detail: "Request body must be a JSON object.",
    when: "the body is JSON, but not an object",
  },
  bodyTooComplex: {
    status: 400,
    detail: "Request body must not hold more than {max} values or nest deeper than {depth} levels.",
    when: "the body is JSON with more values or deeper nesting",
  },
  batchTooLong: {
    status: 400,
    detail: "Request body must hold one MCP message.",
    when: "the body of `POST /mcp` is a list of several messages",
  },
  bodyTooLarge: {
    status: 413,
    detail: "Request body must not be larger than {max} bytes.",
    when: "the body is over 1 MiB",
  },
  unknownTier: {
    status: 400,
    detail: "'tier' must be one of: {names}.",
    when: "`?tier=` of /openapi.json names no tier",
  },
  notFound: { status: 404, detail: "Not Found", when: "no endpoint has this path" },
  methodNotAllowed: {
    status: 405,
    detail: "Method Not Allowed",
    when: "the path exists, but not with this method; `Allow` lists its methods",
  },
  rateLimited: {
    status: 429,
    detail: "Rate limit exceeded. Try again in {n} seconds.",
    when: "the caller's window is used up; `Retry-After` has the seconds",
  },
  queryFailed: {
    status: 500,
    detail: "Database query failed.",
    when: "the database cannot answer; the cause is in the log under the X-Request-Id",
  },
  tooManyDigits: {
    status: 500,
    detail:
      "A value of '{name}' has more digits than its documented type. Ask for another format than Parquet or Arrow.",
    when: "a value for Parquet or Arrow has more digits than the model declares",
  },
  unexpected: {
    status: 500,
    detail: "Internal Server Error",
    when: "an unexpected error; the cause is in the log under the X-Request-Id",
  },
  overloaded: {
    status: 503,
    detail: "The service is overloaded. Try again in {n} seconds.",
    when: "too many queries are waiting, or too many bodies are arriving; `Retry-After` has the seconds",
  },
  unreachable: {
    status: 503,
    detail: "The database cannot be reached. Try again in {n} seconds.",
    when: "no server of the database accepts a connection; `Retry-After` has the seconds",
  },
} as const satisfies Record<string, { status: number; detail: string; when: string }>;

export type ErrorCode = keyof typeof ERRORS;
