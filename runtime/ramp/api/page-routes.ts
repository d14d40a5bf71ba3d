import type { Request } from "express";
import { type ApiServices, type PublicPath, readBodyText } from "./handle-request.js";
import { type PageResponse, problemPage, SCRIPT, STYLE } from "../hosted-pages/layout.js";
import { actOnPage, pageStatus, showPage } from "../hosted-pages/hosted-page.js";
import { authenticate } from "./authenticate.js";
import { RAMP_ERRORS, isRampError, type RampError } from "../core/ramp-errors.js";

function page(method: PublicPath["method"], path: string, handle: PublicPath["handle"]): PublicPath {
  return {
    method,
    path,
    isPage: true,
    async handle(service, request) {
      const error = await authenticate(service.authentication, "public", request);
      return isRampError(error) ? error : handle(service, request);
    },
  };
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

const file = (path: string, type: string, body: string): PublicPath =>
  page("GET", path, () =>
    Promise.resolve({ status: 200, body, headers: { ...FILE_HEADERS, "Content-Type": type } }),
  );

export const PAGE_PATHS: readonly PublicPath[] = [
  page("GET", "/onboarding/:token", ({ ramp }, request) =>
    showPage(ramp, token(request), request.query["leave"] !== undefined),
  ),
  page("POST", "/onboarding/:token", act),
  page("GET", "/onboarding/:token/status", ({ ramp }, request) => pageStatus(ramp, token(request))),
  file("/pages/page.js", "text/javascript; charset=utf-8", SCRIPT),
  file("/pages/page.css", "text/css; charset=utf-8", STYLE),
];

export function errorPage(error: RampError): PageResponse {
  const { status, message } = RAMP_ERRORS[error.error];
  const answer = problemPage(status, "That did not work", message);
  const after = error.retryAfter === null ? {} : { "Retry-After": String(error.retryAfter) };
  return { ...answer, headers: { ...answer.headers, ...after } };
}
