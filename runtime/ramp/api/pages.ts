import type { Express, Request } from "express";
import { readBody } from "../../http/body.js";
import type { PageKind } from "../page/link.js";
import { type PageAnswer, problemPage } from "../page/opened.js";
import { actOnPage, pageStatus, showPage } from "../page/page.js";
import { SCRIPT } from "../page/script.js";
import { STYLE } from "../page/style.js";
import { admit } from "./access.js";
import type { Answer } from "./answer.js";
import type { Service } from "./app.js";
import { ERRORS, isRefusal, refuse, type Refusal } from "./errors.js";

/** A path of the hosted pages, for browsers: what is wrong is told in HTML. */
interface PagePath {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly handle: (service: Service, request: Request) => Promise<Answer | Refusal | "gone">;
}

const token = (request: Request): string => String(request.params["token"]);

function pagesOf(kind: PageKind): readonly PagePath[] {
  const path = `/${kind}/:token`;
  return [
    {
      method: "GET",
      path,
      handle: ({ ramp }, request) =>
        showPage(
          ramp,
          kind,
          token(request),
          new URL(request.url, "http://localhost").searchParams.has("leave"),
        ),
    },
    { method: "POST", path, handle: (service, request) => act(service, kind, request) },
    {
      method: "GET",
      path: `${path}/status`,
      handle: ({ ramp }, request) => pageStatus(ramp, kind, token(request)),
    },
  ];
}

async function act(
  { ramp }: Service,
  kind: PageKind,
  request: Request,
): Promise<PageAnswer | Refusal | "gone"> {
  const body = await readBody(request);
  switch (body.kind) {
    case "gone":
      return "gone";
    case "too-large":
      return refuse("BODY_TOO_LARGE");
    case "not-text":
      return refuse("INVALID_REQUEST");
    case "text":
      return actOnPage(ramp, kind, token(request), {
        text: body.text,
        contentType: request.get("content-type") ?? "",
        site: request.get("sec-fetch-site"),
        origin: request.get("origin"),
      });
  }
}

/** For as long as a page may be open while a new version is rolled out. */
const FILE_HEADERS = { "Cache-Control": "public, max-age=300" };

const file = (path: string, type: string, body: string): PagePath => ({
  method: "GET",
  path,
  handle: () => Promise.resolve({ status: 200, body, headers: { ...FILE_HEADERS, "Content-Type": type } }),
});

const PAGE_PATHS: readonly PagePath[] = [
  ...pagesOf("onboarding"),
  ...pagesOf("checkout"),
  file("/pages/page.js", "text/javascript; charset=utf-8", SCRIPT),
  file("/pages/page.css", "text/css; charset=utf-8", STYLE),
];

/** How the app answers and what it makes of a fault. */
interface Outlet {
  readonly send: (request: Request, response: Express["response"], path: string, answer: Answer) => void;
  readonly refusalOf: (request: Request, error: unknown) => Refusal;
}

/** Adds the hosted pages to the app. Answers carry no leave for other origins to read them. */
export function addPages(app: Express, service: Service, { send, refusalOf }: Outlet): void {
  for (const { method, path, handle } of PAGE_PATHS)
    app[method === "GET" ? "get" : "post"](path, async (request, response) => {
      closeToOthers(response);
      const outcome = await serve(service, request, handle).catch((error: unknown) =>
        refusalOf(request, error),
      );
      if (outcome === "gone") response.destroy();
      else send(request, response, path, isRefusal(outcome) ? refusalPage(outcome) : outcome);
    });
  for (const path of new Set(PAGE_PATHS.map((page) => page.path)))
    app.all(path, (request, response) => {
      closeToOthers(response);
      const methods = PAGE_PATHS.filter((page) => page.path === path).map(({ method }) => method);
      response.setHeader("Allow", ["HEAD", ...methods].join(", "));
      send(request, response, path, refusalPage(refuse("METHOD_NOT_ALLOWED")));
    });
}

async function serve(
  service: Service,
  request: Request,
  handle: PagePath["handle"],
): Promise<Answer | Refusal | "gone"> {
  const refused = await admit(service.gate, "public", request);
  return isRefusal(refused) ? refused : handle(service, request);
}

function closeToOthers(response: Express["response"]): void {
  response.removeHeader("Access-Control-Allow-Origin");
  response.removeHeader("Access-Control-Expose-Headers");
}

function refusalPage(refusal: Refusal): PageAnswer {
  const { status } = ERRORS[refusal.refusal];
  const isOurs = status >= 500;
  const text = isOurs
    ? "Something went wrong here, not with you. Please try again in a moment."
    : status === 429
      ? "There were too many requests from where you are. Please try again in a minute."
      : "The request could not be understood. Please open your link again.";
  const answer = problemPage(status, "That did not work", text);
  const after = refusal.retryAfter === null ? {} : { "Retry-After": String(refusal.retryAfter) };
  return { ...answer, headers: { ...answer.headers, ...after } };
}
