import { ERRORS, type ErrorCode, RATE_WINDOW_SECONDS } from "@routewright/runtime/model";
import { type Json, type JsonMap, type JsonRecord, shared } from "./json-text.js";
import { type Operation, type RefusalSet, refusalsOf, type Status } from "./refusals.js";

/** Headers of the data API (data-api.md §8, decisions.md §A). */
export const HEADERS = {
  "X-RateLimit-Limit": header("Requests that the caller may make per window.", { type: "integer" }),
  "X-RateLimit-Remaining": header("Requests left in the window.", { type: "integer" }),
  "X-RateLimit-Reset": header(`End of the ${RATE_WINDOW_SECONDS}-second window, as a Unix timestamp.`, {
    type: "integer",
  }),
  "X-Request-Id": header("Name of the request in the service's log.", { type: "string" }),
  "Retry-After": header("Seconds to wait before trying again.", { type: "integer" }),
  Allow: header("The methods that the path has.", { type: "string" }),
  ETag: header("Names the rows: sent back in `If-None-Match`, it brings 304 while they are the same.", {
    type: "string",
  }),
  "X-Data-As-Of": header("When dbt last built the rows, where that is known.", {
    type: "string",
    format: "date-time",
  }),
} as const;

type HeaderName = keyof typeof HEADERS;

/** Body of every refusal (data-api.md §7). */
export const ERROR_SCHEMA: JsonRecord = {
  type: "object",
  description: "Why a request was refused.",
  properties: { detail: { type: "string" } },
  required: ["detail"],
};

const ON_EVERY_RESPONSE: readonly HeaderName[] = [
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "X-Request-Id",
];

/** An answer with a body and the headers that every response carries. */
export function response(
  description: string,
  mediaType: string,
  content: JsonRecord,
  more: readonly HeaderName[] = [],
) {
  return responseIn(description, { [mediaType]: content }, more);
}

/** The same where the caller chooses between media types. */
export function responseIn<Content extends JsonRecord>(
  description: string,
  content: Content,
  more: readonly HeaderName[] = [],
) {
  const headers = more === ROWS_HEADERS ? HEADERS_OF_ROWS : headersOf(more);
  return { description, headers, content } satisfies JsonRecord;
}

/** Headers of what is said of rows. */
export const ROWS_HEADERS: readonly HeaderName[] = ["ETag", "X-Data-As-Of"];

/** They stand with every operation. */
const HEADERS_OF_ROWS = shared(headersOf(ROWS_HEADERS));

/** The answer to a caller who has the rows already. */
export const NOT_MODIFIED: JsonRecord = {
  description: "The rows are still those that `If-None-Match` names.",
  headers: HEADERS_OF_ROWS,
};

function headersOf(more: readonly HeaderName[]): Record<string, JsonRecord> {
  return Object.fromEntries([...ON_EVERY_RESPONSE, ...more].map((name) => [name, ref("headers", name)]));
}

/** The refusals of an operation, by status, each a reference to its component. */
export function refusalReferences(operation: Operation): readonly (readonly [string, Json])[] {
  const refusals = refusalsOf(operation);
  const known = references.get(refusals);
  if (known) return known;
  const made = refusals.map(({ status, name }) => [String(status), sharedRef("responses", name)] as const);
  references.set(refusals, made);
  return made;
}

/** By the refusals, which are the same object wherever they are the same. */
const references = new WeakMap<readonly RefusalSet[], readonly (readonly [string, Json])[]>();

/** The components behind the references of these operations, by status and name. */
export function refusalComponents(operations: readonly Operation[]): JsonMap {
  const sets = new Map(operations.flatMap(refusalsOf).map((set) => [`${set.status} ${set.name}`, set]));
  const sorted = [...sets].sort(([a], [b]) => (a < b ? -1 : 1));
  return new Map(sorted.map(([, set]) => [set.name, refusalResponse(set)]));
}

function refusalResponse({ status, codes }: RefusalSet): Json {
  const causes = codes.map((code) => `- ${ERRORS[code].when}: \`${ERRORS[code].detail}\``);
  const examples = Object.fromEntries(codes.map((code) => [code, example(code)]));
  const content = { schema: ref("schemas", "Error"), examples };
  return response(
    ["Refused, because", "", ...causes].join("\n"),
    "application/json",
    content,
    extraHeaders(status),
  );
}

function example(code: ErrorCode): JsonRecord {
  return { summary: ERRORS[code].when, value: { detail: ERRORS[code].detail } };
}

function extraHeaders(status: Status): readonly HeaderName[] {
  switch (status) {
    case 405:
      return ["Allow"];
    case 429:
    case 503:
      return ["Retry-After"];
    case 400:
    case 403:
    case 404:
    case 413:
    case 500:
      return [];
  }
}

/** A reference to a component. */
export function ref(kind: "headers" | "responses" | "schemas", name: string): JsonRecord {
  return { $ref: `#/components/${kind}/${name}` };
}

/** A reference that stands in many places. */
function sharedRef(kind: "headers" | "responses", name: string): JsonRecord {
  return shared(ref(kind, name));
}

function header(description: string, schema: JsonRecord): JsonRecord {
  return { description, schema };
}
