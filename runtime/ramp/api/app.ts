import express, { type Express, type Request, type Response } from "express";
import {
  ANY_ORIGIN,
  COMMON_HEADERS,
  NO_STORE,
  TEXT_POLICY,
  requestIdOf,
  setHeaders,
} from "../../http/headers.js";
import {
  type RampResponse,
  RAMP_ERRORS,
  errorBody,
  isRampError,
  rampError,
  type RampError,
  type RampAnswer,
} from "../core/ramp-errors.js";
import { problemPage } from "../hosted-pages/layout.js";
import { ENDPOINTS, PAGE_PATHS, SYSTEM_PATHS } from "./all-routes.js";
import type { ApiServices } from "./authenticate.js";
import type { PublicPath } from "./handle-request.js";

/** The ramp API as an Express app: endpoints, the system's own paths, the documentation, then 404. */
export function rampApp(service: ApiServices): Express {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.enable("case sensitive routing");
  app.use(commonHeaders);
  for (const path of [...ENDPOINTS, ...SYSTEM_PATHS, ...PAGE_PATHS]) addPath(app, service, path);
  for (const path of [...ENDPOINTS, ...PAGE_PATHS]) addMethodNotAllowed(app, service, path);
  if (service.docs) app.use(service.docs);
  app.use((_request, response) => send(service, response, null, rampError("NOT_FOUND")));
  app.use((error: unknown, request: Request, response: Response, next: express.NextFunction) => {
    if (response.headersSent) next(error);
    else send(service, response, null, errorOf(service, request, error));
  });
  return app;
}

const commonHeaders: express.RequestHandler = (request, response, next) => {
  setHeaders(response, [...ANY_ORIGIN, ...COMMON_HEADERS]);
  response.setHeader(
    "Access-Control-Expose-Headers",
    "Retry-After, X-Request-Id, X-Idempotency-Replayed, Link",
  );
  response.setHeader("X-Request-Id", requestIdOf(request));
  response.locals["started"] = performance.now();
  next();
};

function expressPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ":$1");
}

function addPath(app: Express, service: ApiServices, { method, path, isPage, handle }: PublicPath): void {
  app[method.toLowerCase() as "get" | "post" | "delete"](expressPath(path), async (request, response) => {
    if (isPage) removeCorsHeaders(response);
    const outcome = await handle(service, request).catch((error: unknown) =>
      errorOf(service, request, error),
    );
    if (outcome === "gone") response.destroy();
    else send(service, response, path, isPage && isRampError(outcome) ? errorPage(outcome) : outcome);
  });
}

/** Browsers may call with a customer's token. Project credentials do not belong in a browser, but are not blocked. */
const PREFLIGHT = {
  "Access-Control-Allow-Methods": "GET, HEAD, POST, DELETE, OPTIONS",
  "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, X-Request-Id",
  "Access-Control-Max-Age": "7200",
};

/** Other methods of a path. Only endpoints answer a preflight: other origins have no business with a hosted page. */
function addMethodNotAllowed(app: Express, service: ApiServices, { path, isPage }: PublicPath): void {
  const methods = [...ENDPOINTS, ...PAGE_PATHS]
    .filter((other) => other.path === path)
    .map(({ method }) => (method === "GET" ? "GET, HEAD" : method));
  app.all(expressPath(path), (request, response) => {
    if (isPage) removeCorsHeaders(response);
    response.setHeader("Allow", [...methods, ...(isPage ? [] : ["OPTIONS"])].join(", "));
    if (request.method === "OPTIONS" && !isPage) return void response.status(204).set(PREFLIGHT).end();
    const error = rampError("METHOD_NOT_ALLOWED");
    send(service, response, path, isPage ? errorPage(error) : error);
  });
}

/** Other origins cannot read the responses of hosted pages. */
function removeCorsHeaders(response: Response): void {
  response.removeHeader("Access-Control-Allow-Origin");
  response.removeHeader("Access-Control-Expose-Headers");
}

/** SQLSTATE classes and driver errors of an unreachable database. */
const DATABASE_LOST = /^(08|53|57)|^ECONN|^EPIPE$|^ENOENT$/;
/** Messages of driver errors without a code. */
const CONNECTION_LOST = /timeout exceeded when trying to connect|Connection terminated|is not queryable/;

function errorOf({ ramp }: ApiServices, request: Request, error: unknown): RampError {
  const { code = "", message = "" } = error as { code?: string; message?: string };
  if (error instanceof URIError) return rampError("NOT_FOUND");
  ramp.log.error({ requestId: requestIdOf(request), method: request.method, err: error }, "request failed");
  const isLost = DATABASE_LOST.test(code) || CONNECTION_LOST.test(message);
  return isLost ? rampError("SERVICE_UNAVAILABLE", { retryAfter: 1 }) : rampError("INTERNAL_ERROR");
}

function send({ ramp }: ApiServices, response: Response, path: string | null, outcome: RampAnswer): void {
  const { method } = response.req;
  const { status, body, headers = {} } = isRampError(outcome) ? errorResponse(outcome) : outcome;
  if (!response.destroyed && !response.headersSent) {
    setHeaders(response, [...NO_STORE, ...TEXT_POLICY]);
    const length = String(Buffer.byteLength(body));
    response.writeHead(status, {
      ...(status === 204
        ? {}
        : { "Content-Type": "application/json; charset=utf-8", "Content-Length": length }),
      ...headers,
    });
    response.end(body);
  }
  const milliseconds = performance.now() - (response.locals["started"] as number);
  ramp.metrics.count({ path: path ?? "other" }, { method, status, milliseconds });
  const requestId = response.getHeader("X-Request-Id");
  ramp.log.info({ requestId, method, route: path, status, milliseconds }, "request");
}

function retryAfter({ retryAfter: seconds }: RampError): Record<string, string> {
  return seconds === null ? {} : { "Retry-After": String(seconds) };
}

function errorPage(error: RampError): RampResponse {
  const { status, message } = RAMP_ERRORS[error.error];
  const answer = problemPage(status, "That did not work", message);
  return { ...answer, headers: { ...answer.headers, ...retryAfter(error) } };
}

function errorResponse(error: RampError): RampResponse {
  const { status } = RAMP_ERRORS[error.error];
  const headers = retryAfter(error);
  if (error.error === "INVALID_CREDENTIALS")
    headers["WWW-Authenticate"] = 'Basic realm="ramp", charset="UTF-8"';
  if (error.error === "INVALID_TOKEN") headers["WWW-Authenticate"] = 'Bearer realm="ramp"';
  // The rest of the body is not read: the connection closes after the response.
  if (error.error === "BODY_TOO_LARGE") headers["Connection"] = "close";
  return { status, body: errorBody(error), headers };
}
