import type { RequestListener } from "node:http";
import { ANY_ORIGIN, NOSNIFF, requestIdOf } from "@routewright/runtime/internal/core/http/headers.js";
import { type PathItem, pathOf, RouteTable } from "@routewright/runtime/internal/core/http/route.js";
import { errorHeaders, preflightHeaders, type Reply } from "@routewright/runtime/internal/core/http/send.js";
import { type Hooks, serve } from "@routewright/runtime/internal/core/http/serve.js";
import { RAMP_ERRORS, errorBody, rampError, type RampError } from "../core/ramp-errors.js";
import { problemPage } from "../hosted-pages/layout.js";
import { rampRoutes } from "./all-routes.js";
import type { ApiServices } from "./authenticate.js";
import type { RampExchange, RampRoute } from "./handle-request.js";

/** The ramp as a listener: endpoints, the service's own paths, hosted pages and the documentation. */
export function rampListener(service: ApiServices): RequestListener {
  const routes = new RouteTable(rampRoutes(service), isClosedToPages);
  return (request, response) => {
    const path = pathOf(request.url ?? "/");
    // `/v1/intent/` is `/v1/intent`.
    const { item, parameters } =
      routes.find(path) ?? routes.find(path.replace(/(?<=.)\/$/, "")) ?? UNKNOWN_PATH;
    const started = performance.now();
    void serve(HOOKS, {
      service,
      request,
      response,
      item,
      parameters,
      requestId: requestIdOf(request),
      started,
    });
  };
}

const UNKNOWN_PATH: {
  readonly item: PathItem<RampRoute>;
  readonly parameters: Readonly<Record<string, string>>;
} = {
  item: { path: "", allowed: null, routes: [] },
  parameters: {},
};

const EXPOSED: readonly string[] = [
  ...ANY_ORIGIN,
  "Access-Control-Expose-Headers",
  "Retry-After, X-Request-Id, X-Idempotency-Replayed, Link",
];

const HOOKS: Hooks<RampExchange, RampError> = {
  /** Browsers may call with a customer's token. Project credentials do not belong in a browser, but are not blocked. */
  preflight: preflightHeaders(
    "GET, HEAD, POST, PATCH, DELETE, OPTIONS",
    "Authorization, Content-Type, Idempotency-Key, X-Request-Id",
  ),
  // Other origins cannot read the responses of hosted pages and of paths for operators.
  headersOf: ({ item, requestId }) => [
    ...(item.routes.some(isClosedToPages) ? [] : EXPOSED),
    ...NOSNIFF,
    "X-Request-Id",
    requestId,
  ],
  check: ({ item: { allowed }, request }) =>
    allowed === null
      ? rampError("NOT_FOUND")
      : allowed.split(", ").includes(request.method ?? "")
        ? null
        : rampError("METHOD_NOT_ALLOWED"),
  notFound: () => rampError("NOT_FOUND"),
  onError,
  errorReply,
  onResponse,
};

const isClosedToPages = ({ isPage, isForOperators }: RampRoute): boolean => isPage || isForOperators === true;

/** All routes of a path are of one kind. */
function isPage({ routes: [first] }: PathItem<RampRoute>): boolean {
  return first?.isPage === true;
}

/**
 * SQLSTATE classes and driver errors of an unreachable database, and of transactions that it rolled back for another's sake (a deadlock) or
 * for its own time limit.
 */
const DATABASE_LOST = /^(08|40|53|57)|^25P0[34]$|^55P03$|^ECONN|^EPIPE$|^ENOENT$/;
/** Messages of driver errors without a code. */
const CONNECTION_LOST =
  /timeout exceeded when trying to connect|Connection terminated|is not queryable|Query read timeout/;

function onError({ service, request, requestId }: RampExchange, error: unknown): RampError {
  const { code = "", message = "" } = error as { code?: string; message?: string };
  service.ramp.log.error({ requestId, method: request.method, err: error }, "request failed");
  const isLost = DATABASE_LOST.test(code) || CONNECTION_LOST.test(message);
  return isLost ? rampError("SERVICE_UNAVAILABLE", { retryAfter: 1 }) : rampError("INTERNAL_ERROR");
}

function onResponse({ service, request, response, item, requestId, started }: RampExchange): void {
  // Nothing was sent to a client that had disconnected.
  if (!response.headersSent) return;
  const { method = "" } = request;
  const { statusCode: status } = response;
  const path = item.allowed === null ? null : item.path;
  const milliseconds = performance.now() - started;
  service.ramp.metrics.count({ path: path ?? "other" }, { method, status, milliseconds });
  service.ramp.log.info({ requestId, method, route: path, status, milliseconds }, "request");
}

/** `{error, message, details?}` (runtime/ramp/docs/errors.md); of a hosted page, a page. */
function errorReply({ item }: RampExchange, error: RampError): Reply {
  const { status, message } = RAMP_ERRORS[error.error];
  const facts = { status, retryAfter: error.retryAfter, challenge: CHALLENGES[error.error] ?? null };
  const headers = errorHeaders(facts, item.allowed);
  if (!isPage(item)) return { status, body: errorBody(error), headers };
  const page = problemPage(status, "That did not work", message);
  return { ...page, headers: { ...page.headers, ...headers } };
}

const CHALLENGES: Readonly<Partial<Record<RampError["error"], string>>> = {
  INVALID_CREDENTIALS: 'Basic realm="ramp", charset="UTF-8"',
  INVALID_TOKEN: 'Bearer realm="ramp"',
};
