import { runIdempotent, type IdempotencyKey } from "../core/idempotency.js";
import type { ProjectTransaction } from "../database/transaction.js";
import type { AuthenticatedCustomer, Customer } from "../sign-in/customer-token.js";
import type { Project } from "../sign-in/project-credentials.js";
import { type ApiServices, authenticate, countFailure, requireAuthorized } from "./authenticate.js";
import { isRampError, type RampError, rampError, type RampAnswer, errorAt } from "../core/ramp-errors.js";
import type { ApiRoute, RampAccess, RouteRequest } from "./route.js";
import type { Route } from "@routewright/runtime/internal/core/http/route.js";
import type { HttpExchange } from "@routewright/runtime/internal/core/http/serve.js";
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { type BodyErrors, readText } from "@routewright/runtime/internal/core/http/body.js";
import { record } from "@routewright/runtime/internal/core/model/schema.js";
import { networkOf } from "@routewright/runtime/internal/core/http/headers.js";
import { numberProblem } from "../core/exact-json.js";
import { isStorable, parseJson, type Violation, violations } from "../core/json-schema.js";

/** A route of the ramp, a hosted page or one of the service's own paths. */
export interface RampRoute extends Route<RampExchange, RampAccess | "open", RampError> {
  /** A hosted page: its errors are HTML, and pages of other origins have no business with it. */
  readonly isPage: boolean;
  /** No page of another origin may read its responses. */
  readonly isForOperators?: true;
}

/** A request to the ramp and its response. */
export interface RampExchange extends HttpExchange<RampRoute> {
  readonly service: ApiServices;
  /** Of the path. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly requestId: string;
  readonly started: number;
}

/**
 * Handles one request to an endpoint: authentication, rate limit, query, body, idempotency key, work. Null when the client
 * disconnected before anything was done.
 */
export async function handleRequest(
  { service, request, parameters }: RampExchange,
  route: ApiRoute,
): Promise<RampAnswer | null> {
  const caller = await authenticate(service, route.access, request);
  if (isRampError(caller)) return caller;
  const url = new URL(request.url ?? "/", "http://localhost");
  const query = readQuery(url, route);
  if (isRampError(query)) return query;
  const text = await readBodyText(service, request, caller);
  if (typeof text !== "string") return text;
  const body = parseBody(request, route, text);
  if (isRampError(body)) return body;
  const call = {
    ramp: service.ramp,
    caller,
    parameters,
    query,
    body: body.value,
    text,
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
      const known = caller as Project | AuthenticatedCustomer;
      const { projectId } = known;
      const isKeyUsed = "isKeyUsed" in known ? known.isKeyUsed : null;
      const customerId = "customerId" in known ? known.customerId : null;
      const key = readKey(request, [request.method ?? "", url.pathname, customerId, text]);
      if (isRampError(key)) return key;
      const { invalid } = body;
      // A key that was used with another body is reported before an invalid body.
      const work = invalid ? { prepare: () => Promise.resolve(invalid) } : route.run.work(call);
      const sender = {
        projectId,
        isKeyUsed,
        requireAuthorized: (tx: ProjectTransaction) => requireAuthorized(tx, known),
      };
      return runIdempotent(service.ramp, sender, key, work);
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

const BODY_ERRORS: BodyErrors<RampError> = {
  "too-large": rampError("BODY_TOO_LARGE"),
  overloaded: rampError("SERVICE_UNAVAILABLE", { retryAfter: 1 }),
  "not-text": errorAt("INVALID_REQUEST", "", "is not UTF-8"),
  compressed: rampError("UNSUPPORTED_MEDIA_TYPE", {
    message: "The body must not be compressed. Send it without Content-Encoding.",
  }),
};

/** The text of a request's body; null when the client disconnected meanwhile. */
export function readBodyText(
  { addressOf }: ApiServices,
  request: IncomingMessage,
  caller: Project | Customer | null,
): Promise<string | RampError | null> {
  const { projectId, customerId }: Partial<Project & Customer> = caller ?? {};
  const id = projectId === undefined ? networkOf(addressOf(request)) : `${projectId} ${customerId ?? ""}`;
  return readText(request, { id, share: caller === null ? UNKNOWN_SENDERS_SHARE : 1 }, BODY_ERRORS);
}

const UNSTORABLE = "holds U+0000 or half a character, or is nested too deep";

function parseBody(
  request: IncomingMessage,
  { operation: { body: schema } }: ApiRoute,
  text: string,
): ReadBody | RampError {
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

const NO_PARAMETERS = record({});

/** The query as an object of strings; duplicate and unknown parameters are errors. Providers may add their own to a callback's address. */
function readQuery(
  url: URL,
  { access, operation: { query: schema } }: ApiRoute,
): Readonly<Record<string, string>> | RampError {
  if (access === "provider") return {};
  const query: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of url.searchParams) {
    if (name in query) return errorAt("INVALID_REQUEST", `/${name.slice(0, 100)}`, "is given twice");
    query[name] = value;
  }
  const plain = { ...query };
  if (!isStorable(plain)) return errorAt("INVALID_REQUEST", "", "holds U+0000");
  const wrong = violations(schema ?? NO_PARAMETERS, plain);
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
