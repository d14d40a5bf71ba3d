import type { Express, Request } from "express";
import { readBodyText } from "./handle-request.js";
import { type PageResponse, problemPage } from "../hosted-pages/layout.js";
import { actOnPage, pageStatus, showPage } from "../hosted-pages/hosted-page.js";
import { SCRIPT, STYLE } from "../hosted-pages/layout.js";
import { authenticate } from "./authenticate.js";
import {
  type RampResponse,
  RAMP_ERRORS,
  isRampError,
  rampError,
  type RampError,
} from "../core/ramp-errors.js";
import type { ApiServices } from "./all-routes.js";

/** A path of the hosted pages, for browsers: errors are HTML. */
interface PagePath {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly handle: (service: ApiServices, request: Request) => Promise<RampResponse | RampError | "gone">;
}

const token = (request: Request): string => String(request.params["token"]);

async function act(
  { ramp, authentication }: ApiServices,
  request: Request,
): Promise<PageResponse | RampError | "gone"> {
  const body = await readBodyText(authentication, request, null);
  if (body === "gone" || isRampError(body)) return body;
  const contentType = request.get("content-type") ?? "";
  return actOnPage(ramp, token(request), { text: body.text, contentType });
}

/** For as long as a page may be open while a new version is rolled out. */
const FILE_HEADERS = { "Cache-Control": "public, max-age=300" };

const file = (path: string, type: string, body: string): PagePath => ({
  method: "GET",
  path,
  handle: () => Promise.resolve({ status: 200, body, headers: { ...FILE_HEADERS, "Content-Type": type } }),
});

const PAGE_PATHS: readonly PagePath[] = [
  {
    method: "GET",
    path: "/onboarding/:token",
    handle: ({ ramp }, request) => showPage(ramp, token(request), request.query["leave"] !== undefined),
  },
  { method: "POST", path: "/onboarding/:token", handle: act },
  {
    method: "GET",
    path: "/onboarding/:token/status",
    handle: ({ ramp }, request) => pageStatus(ramp, token(request)),
  },
  file("/pages/page.js", "text/javascript; charset=utf-8", SCRIPT),
  file("/pages/page.css", "text/css; charset=utf-8", STYLE),
];

/** How the app sends a response and turns an exception into an error. */
interface PageResponder {
  readonly send: (response: Express["response"], path: string, answer: RampResponse) => void;
  readonly errorOf: (request: Request, error: unknown) => RampError;
}

/** Adds the hosted pages to the app. Other origins cannot read their responses. */
export function addPages(app: Express, service: ApiServices, { send, errorOf }: PageResponder): void {
  for (const { method, path, handle } of PAGE_PATHS)
    app[method === "GET" ? "get" : "post"](path, async (request, response) => {
      removeCorsHeaders(response);
      const outcome = await serve(service, request, handle).catch((error: unknown) =>
        errorOf(request, error),
      );
      if (outcome === "gone") response.destroy();
      else send(response, path, isRampError(outcome) ? errorPage(outcome) : outcome);
    });
  for (const path of new Set(PAGE_PATHS.map((page) => page.path)))
    app.all(path, (_request, response) => {
      removeCorsHeaders(response);
      const methods = PAGE_PATHS.filter((page) => page.path === path).map(({ method }) => method);
      response.setHeader("Allow", ["HEAD", ...methods].join(", "));
      send(response, path, errorPage(rampError("METHOD_NOT_ALLOWED")));
    });
}

async function serve(
  service: ApiServices,
  request: Request,
  handle: PagePath["handle"],
): Promise<RampResponse | RampError | "gone"> {
  const error = await authenticate(service.authentication, "public", request);
  return isRampError(error) ? error : handle(service, request);
}

function removeCorsHeaders(response: Express["response"]): void {
  response.removeHeader("Access-Control-Allow-Origin");
  response.removeHeader("Access-Control-Expose-Headers");
}

function errorPage(error: RampError): PageResponse {
  const { status, message } = RAMP_ERRORS[error.error];
  const answer = problemPage(status, "That did not work", message);
  const after = error.retryAfter === null ? {} : { "Retry-After": String(error.retryAfter) };
  return { ...answer, headers: { ...answer.headers, ...after } };
}
