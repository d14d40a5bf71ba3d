import type { Request } from "express";
import { runIdempotent, type IdempotencyKey } from "../core/idempotency.js";
import type { Customer } from "../sign-in/customer-token.js";
import type { Project } from "../sign-in/project-credentials.js";
import { type ApiServices, authenticate, authorize, countFailure } from "./authenticate.js";
import { isRampError, type RampError, rampError, type RampAnswer, errorAt } from "../core/ramp-errors.js";
import type { RouteRequest, Route } from "./route.js";
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { readBody } from "../../http/body.js";
import { networkOf } from "../../http/headers.js";
import { numberProblem } from "../core/exact-json.js";
import { isStorable, parseJson, type Violation, violations } from "../core/json-schema.js";

/** A path of the app: an endpoint, one of the service's own as on the data API, or a hosted page, whose errors are HTML. */
export interface PublicPath {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly isPage: boolean;
  readonly handle: (service: ApiServices, request: Request) => Promise<RampAnswer | "gone">;
}

/**
 * Handles one request to an endpoint: authentication, rate limit, query, body, idempotency key, work. "gone" when the client
 * disconnected before anything was done.
 */
export async function handleRequest(
  service: ApiServices,
  route: Route,
  request: Request,
): Promise<RampAnswer | "gone"> {
  const caller = await authenticate(service, route.access, request);
  if (isRampError(caller)) return caller;
  const url = new URL(request.originalUrl, "http://localhost");
  const query = readQuery(url, route);
  if (isRampError(query)) return query;
  const received = await readBodyText(service, request, caller);
  if (received === "gone" || isRampError(received)) return received;
  const body = parseBody(request, route, received.text);
  if (isRampError(body)) return body;
  const call = {
    ramp: service.ramp,
    caller,
    parameters: request.params as Record<string, string>,
    query,
    body: body.value,
    text: received.text,
    headers: request.headers,
    path: url.pathname,
  } as RouteRequest<never, never, never>;
  switch (route.run.kind) {
    case "direct": {
      const answer = body.invalid ?? (await route.run.handle(call));
      // Callbacks of providers are limited only where their signature is wrong.
      const isForged = isRampError(answer) && answer.error === "INVALID_SIGNATURE";
      return isForged ? countFailure(service, request, answer) : answer;
    }
    case "once": {
      // Only project's and customers' endpoints accept a key.
      const known = caller as Project | Customer;
      const { projectId } = known;
      const customerId = "customerId" in known ? known.customerId : null;
      const key = readKey(request, [request.method, url.pathname, customerId, received.text]);
      if (isRampError(key)) return key;
      const { invalid } = body;
      // A key that was used with another body is reported before an invalid body.
      const work = invalid ? { prepare: () => Promise.resolve(invalid) } : route.run.work(call);
      return runIdempotent(service.ramp, { projectId, authorize: (tx) => authorize(tx, known) }, key, work);
    }
  }
}

/** Longest `Idempotency-Key`, in characters (runtime/ramp/docs/limits.md). */
const MAX_KEY_LENGTH = 256;

/** A parsed body. */
interface ReadBody {
  /** The text itself when it is not JSON. */
  readonly value: unknown;
  /** Null: the value matches the schema. */
  readonly invalid: RampError | null;
}

/** Of the memory for unfinished bodies, for requests without credentials. */
const UNKNOWN_SENDERS_SHARE = 5 / 8;

const COMPRESSED = rampError("UNSUPPORTED_MEDIA_TYPE", {
  message: "The body must not be compressed. Send it without Content-Encoding.",
});

/** The text of a request's body; "gone" when the client disconnected meanwhile. */
export async function readBodyText(
  { addressOf }: ApiServices,
  request: IncomingMessage,
  caller: Project | Customer | null,
): Promise<{ readonly text: string } | RampError | "gone"> {
  const { projectId, customerId }: Partial<Project & Customer> = caller ?? {};
  const id = projectId === undefined ? networkOf(addressOf(request)) : `${projectId} ${customerId ?? ""}`;
  const { "content-encoding": encoding = "identity" } = request.headers;
  const body = await readBody(request, { id, share: caller === null ? UNKNOWN_SENDERS_SHARE : 1 });
  switch (body.kind) {
    case "gone":
      return "gone";
    case "too-large":
      return rampError("BODY_TOO_LARGE");
    case "overloaded":
      return rampError("SERVICE_UNAVAILABLE", { retryAfter: 1 });
    case "not-text":
    case "text":
      if (encoding.toLowerCase() !== "identity") return COMPRESSED;
      return body.kind === "text" ? body : errorAt("INVALID_REQUEST", "", "is not UTF-8");
  }
}

const UNSTORABLE = "holds U+0000 or half a character, or is nested too deep";

function parseBody(request: IncomingMessage, { body: schema }: Route, text: string): ReadBody | RampError {
  if (schema === null) return { value: null, invalid: null };
  const isJson = /^application\/json\s*(;|$)/i.test(request.headers["content-type"] ?? "");
  if (text !== "" && !isJson) return rampError("UNSUPPORTED_MEDIA_TYPE");
  const value = text.trim() === "" ? {} : parseJson(text);
  const unreadable =
    value === undefined ? "is not JSON" : isStorable(value) ? numberProblem(text, "metadata") : UNSTORABLE;
  if (unreadable !== null) return { value: text, invalid: errorAt("INVALID_REQUEST", "", unreadable) };
  const wrong = violations(schema, value);
  return { value, invalid: wrong.length === 0 ? null : invalidRequest(wrong) };
}

function invalidRequest(details: readonly Violation[]): RampError {
  return rampError("INVALID_REQUEST", { details: details.slice(0, 20) });
}

/** The query as an object of strings; duplicate and unknown parameters are errors. */
function readQuery(url: URL, { query: schema }: Route): Readonly<Record<string, string>> | RampError {
  const query: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of url.searchParams) {
    if (name in query) return errorAt("INVALID_REQUEST", `/${name.slice(0, 100)}`, "is given twice");
    query[name] = value;
  }
  const plain = { ...query };
  if (!isStorable(plain)) return errorAt("INVALID_REQUEST", "", "holds U+0000");
  const wrong = schema === null ? [] : violations(schema, plain);
  return wrong.length === 0 ? plain : invalidRequest(wrong);
}

/**
 * The `Idempotency-Key`, or null without one.
 * @param fingerprinted method, path, customer (null on project-level endpoints), and the body as it was sent: parsed, two numbers that
 *   differ in their last digit would be one
 */
function readKey(
  request: IncomingMessage,
  fingerprinted: readonly (string | null)[],
): IdempotencyKey | null | RampError {
  const given = request.headersDistinct["idempotency-key"];
  if (given === undefined) return null;
  const [key = ""] = given;
  if (given.length > 1 || key === "" || key.length > MAX_KEY_LENGTH)
    return rampError("INVALID_IDEMPOTENCY_KEY");
  return { key, fingerprint: createHash("sha256").update(JSON.stringify(fingerprinted)).digest() };
}
