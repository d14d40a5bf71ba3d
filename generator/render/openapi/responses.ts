import {
  ERRORS,
  type ErrorCode,
  type Json,
  type JsonMap,
  type JsonRecord,
  RATE_WINDOW_SECONDS,
  ref,
  responseObject,
} from "@routewright/runtime/model";

/** Headers of the data API (runtime/docs/requests.md). */
export const HEADERS = {
  "X-RateLimit-Limit": header("Requests that the caller may make per window.", "integer"),
  "X-RateLimit-Remaining": header("Requests left in the window.", "integer"),
  "X-RateLimit-Reset": header(
    `End of the ${RATE_WINDOW_SECONDS}-second window, as a Unix timestamp.`,
    "integer",
  ),
  RateLimit: header('Requests left in the window, and the seconds until it ends: `"minute";r=99;t=60`.'),
  "RateLimit-Policy": header('Requests per window, and its seconds: `"minute";q=100;w=60`.'),
  "X-Request-Id": header("Id of the request in the service's log."),
  "Retry-After": header("Seconds to wait before trying again.", "integer"),
  "WWW-Authenticate": header("How to authenticate (RFC 6750)."),
  Allow: header("The methods of the path."),
  "Accept-Query": header("What QUERY takes."),
  "Content-Range": header("Length of the body, as `bytes */` and a number."),
  ETag: header("Version of the response. Send it in `If-None-Match`: 304 while it is the same."),
  "X-Data-As-Of": header(
    "When dbt last built what the rows come from; absent where that is not known.",
    "string",
    "date-time",
  ),
  "X-Data-Freshness": header(
    'Whether the rows are as fresh as promised, `ok` or `error`, and until when: `ok;due="2026-11-30T05:00:00.000Z"`.',
  ),
  "X-Data-Quality": header(
    "What dbt's tests say of the rows: `passed`, `unknown` or `failed;failed=2`; absent where the model has none.",
  ),
  "Server-Timing": header(
    "What took how long, to callers of this machine and of tier3, or to all where the service says so.",
  ),
  "X-Total-Count": header("Rows on all pages, where `Prefer: count=exact` asks for it.", "integer"),
  "Preference-Applied": header("What of `Prefer` was heeded: `count=exact`."),
  Deprecation: header("When the path became deprecated, as `@` and a Unix timestamp (RFC 9745)."),
  Sunset: header("When the path may stop answering, as an HTTP date (RFC 8594)."),
  Link: header('The next page, `<...>; rel="next"`; absent on the last one.'),
} as const;

type HeaderName = keyof typeof HEADERS;

/** Body of every error (runtime/docs/errors.md). */
export const ERROR_SCHEMA: JsonRecord = {
  type: "object",
  description: "Why the request failed.",
  properties: { detail: { type: "string" } },
  required: ["detail"],
};

/** The same as problem details (RFC 9457), where `Accept` prefers them. */
export const PROBLEM_SCHEMA: JsonRecord = {
  type: "object",
  description: "Why the request failed, as problem details (RFC 9457).",
  properties: {
    type: { type: "string", format: "uri", description: "Names the error." },
    title: { type: "string", description: "When the error occurs." },
    status: { type: "integer" },
    detail: { type: "string" },
    "violated-policies": {
      type: "array",
      description: "The policies of `RateLimit-Policy` that the request exceeds.",
      items: { type: "string" },
    },
  },
  required: ["type", "title", "status", "detail"],
};

const ON_EVERY_RESPONSE: readonly HeaderName[] = [
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "RateLimit",
  "RateLimit-Policy",
  "X-Request-Id",
];

/** Headers of responses with rows; `Link` with pagination. */
export const ROWS_HEADERS: readonly HeaderName[] = [
  "ETag",
  "X-Data-As-Of",
  "X-Data-Quality",
  "Server-Timing",
];
export const PAGE_HEADERS: readonly HeaderName[] = [
  ...ROWS_HEADERS,
  "Link",
  "X-Total-Count",
  "Preference-Applied",
];

/** Header of rows whose age is promised. */
export const FRESHNESS_HEADERS: readonly HeaderName[] = ["X-Data-Freshness"];

/** Headers of a deprecated path with a date. */
export const DEPRECATED_HEADERS: readonly HeaderName[] = ["Deprecation", "Sunset"];

/** The 304 response. */
export const NOT_MODIFIED: JsonRecord = {
  description: "The rows are still those that `If-None-Match` names.",
  headers: headersOf(ROWS_HEADERS),
};

/** Header of documents. */
export const DOCUMENT_HEADERS: readonly HeaderName[] = ["ETag"];

/** Their 304 response. */
export const SAME_DOCUMENT: JsonRecord = {
  description: "The document is still the one that `If-None-Match` names.",
  headers: headersOf(DOCUMENT_HEADERS),
};

/** The headers of every response, and others. */
export function headersOf(more: readonly HeaderName[] = []): JsonRecord {
  return Object.fromEntries([...ON_EVERY_RESPONSE, ...more].map((name) => [name, ref("headers", name)]));
}

/** Without those of `/odata`, which describes itself. */
type Status = Exclude<(typeof ERRORS)[ErrorCode]["status"], 406 | 501>;

/** Groups of operations with the same error responses. */
export type OperationKind = "GET" | "POST" | "ended" | "values" | "limited" | "document" | "openapi" | "open";

interface ErrorResponse {
  /** Name in `components.responses`. */
  readonly name: string;
  /** One sentence; the body has the details. */
  readonly meaning: string;
  readonly of: readonly OperationKind[];
  readonly headers: readonly HeaderName[];
}

/** Operations that read rows. */
const DATA = ["GET", "POST", "values"] as const;
/** Operations with a rate limit. */
const LIMITED = [...DATA, "limited", "document", "openapi"] as const;
const ALL = [...LIMITED, "open"] as const;

/**
 * The operations of each error status. 404 and 405: after a manifest refresh a described path or its POST may be gone.
 */
const ERROR_RESPONSES: Readonly<Record<Status, ErrorResponse>> = {
  400: answer(
    "BadRequest",
    "The request does not match this description, or needs more of the database than it may have.",
    [...DATA, "openapi"],
  ),
  401: answer("Unauthorized", "The token is expired or not accepted: get another one.", ALL, [
    "WWW-Authenticate",
  ]),
  403: answer("Forbidden", "The key is missing, unknown, or may not call this path.", ALL),
  404: answer("NotFound", "The path no longer exists.", [...DATA, "openapi"]),
  405: answer(
    "MethodNotAllowed",
    "The path no longer supports this method; `Allow` lists its methods.",
    ["POST"],
    ["Allow"],
  ),
  408: answer("RequestTimeout", "The request has not arrived in time.", ["POST"]),
  410: answer("Gone", "The endpoint has ended; `Link` names its successor.", ["ended"], DEPRECATED_HEADERS),
  413: answer("ContentTooLarge", "The body is larger than 1 MiB.", ["POST"]),
  415: answer(
    "UnsupportedMediaType",
    "A QUERY does not say `Content-Type: application/json`.",
    [],
    ["Accept-Query"],
  ),
  416: answer(
    "RangeNotSatisfiable",
    "The range begins behind the last byte of the body; `Content-Range` has its length.",
    ["GET"],
    ["Content-Range"],
  ),
  417: answer("ExpectationFailed", "`Expect` is not `100-continue`.", ["POST"]),
  429: answer(
    "TooManyRequests",
    "The rate limit is exceeded: retry after the seconds in `Retry-After`.",
    LIMITED,
    ["Retry-After"],
  ),
  431: answer(
    "HeadersTooLarge",
    "The address and the headers hold more than 16 KiB together. The body of a POST, where the endpoint takes one, holds longer lists.",
    ["GET", "values", "openapi"],
  ),
  500: answer("InternalServerError", "The query failed. Quote `X-Request-Id` when you report it.", ALL),
  502: answer(
    "BadGateway",
    "A source from which the database reads cannot answer. Quote `X-Request-Id` when you report it.",
    DATA,
  ),
  503: answer(
    "ServiceUnavailable",
    "The service is overloaded, its database cannot be reached, or rows are refused that are too old or failed a test: retry after the seconds in `Retry-After`.",
    [...DATA, "limited"],
    ["Retry-After"],
  ),
};

function answer(
  name: string,
  meaning: string,
  of: readonly OperationKind[],
  headers: readonly HeaderName[] = [],
): ErrorResponse {
  return { name, meaning, of, headers };
}

/** The error responses of an operation that is of these kinds, by status, as references to components. */
export function errorReferences(...kinds: readonly OperationKind[]): readonly (readonly [string, Json])[] {
  return REFERENCES.filter(({ of }) => kinds.some((kind) => of.includes(kind))).map(
    ({ status, reference }) => [status, reference],
  );
}

const REFERENCES = Object.entries(ERROR_RESPONSES).map(([status, { name, of }]) => ({
  status,
  of,
  reference: ref("responses", name),
}));

/** What is said of `QUERY`, for which OpenAPI 3.1 has no operation. */
export function queryExtension(description: string): JsonRecord {
  return { "x-query": { description, responses: { 415: ref("responses", "UnsupportedMediaType") } } };
}

/** The components of all error responses: the meaning of the status, and an example per cause. */
export function errorComponents(hasEnds: boolean): JsonMap {
  return new Map(
    errorResponses(hasEnds).map(([status, { name, meaning, headers }]) => {
      const rows = Object.entries(ERRORS).filter(([, row]) => row.status === Number(status));
      const examples = Object.fromEntries(
        rows.map(([code, { when, detail }]) => [code, { summary: when, value: { detail } }]),
      );
      const content = { schema: ref("schemas", "Error"), examples };
      const response = responseObject(meaning, "application/json", content, headersOf(headers));
      const problem = { "application/problem+json": { schema: ref("schemas", "Problem") } };
      return [name, { ...response, content: { ...(response["content"] as JsonRecord), ...problem } }];
    }),
  );
}

/** Error statuses as a Markdown table, for the introduction. */
export function errorTable(hasEnds: boolean): readonly string[] {
  const rows = errorResponses(hasEnds).map(([status, { meaning }]) => `| ${status} | ${meaning} |`);
  return ["| Status | Meaning |", "|---|---|", ...rows];
}

/** `hasEnds`: some endpoint ends. */
function errorResponses(hasEnds: boolean): readonly (readonly [string, ErrorResponse])[] {
  return Object.entries(ERROR_RESPONSES).filter(([, { of }]) => hasEnds || !of.includes("ended"));
}

function header(description: string, type: "string" | "integer" = "string", format?: string): JsonRecord {
  return { description, schema: { type, ...(format !== undefined && { format }) } };
}
