import type { Request, Response } from "express";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import type { ApiAbout } from "../core/model/about.js";
import { accentStyle } from "../core/model/accent.js";
import { setHeaders } from "../core/http/headers.js";
import type { Operation } from "../core/http/openapi.js";
import type { PageRoute } from "../core/http/route.js";
import type { Reply } from "../core/http/send.js";
import { BufferedResult, documentReply } from "../core/response/buffered-result.js";
import { privateControl } from "../core/response/caching-headers.js";
import {
  EMBED_POLICY,
  embedDocument,
  EXPLORER_POLICY,
  pageDocument,
  pagesOf,
  POLICY,
} from "./html-documents.js";

const require = createRequire(import.meta.url);

/** The files of the documents, of the package's assets. Swagger UI's are those of the current release. */
function documentFiles(): readonly string[] {
  const folder = dirname(require.resolve("@routewright/runtime/assets/explore.js"));
  return [
    ...["frame.css", "theme.js", "reference.js", "reference-style.css", "redoc.js"],
    ...["swagger-ui-bundle.js", "swagger-ui.css", "guide.js", "guide-style.css", "explore.css"],
    ...["status.js", "status-style.css", "account-style.css"],
    // Those that the explorer loads later have names of their own.
    ...readdirSync(folder).filter((name) => /^explore[\w-]*\.js$/.test(name)),
  ];
}

/** The documents with their files, none of them of another host. `hasAccount`: whether `/account` gives keys. */
export function documentRoutes(
  title: string,
  about: ApiAbout | null = null,
  hasAccount = false,
): readonly PageRoute[] {
  const names = documentFiles();
  const files = names.map((file) => {
    const type = file.endsWith(".css") ? "text/css" : "text/javascript";
    const read = (): Buffer => {
      const text = readFileSync(require.resolve(`@routewright/runtime/assets/${file}`));
      const isFrame = file === "frame.css" && about?.accent !== undefined;
      return isFrame ? Buffer.concat([text, Buffer.from(accentStyle(about.accent))]) : text;
    };
    return get(`/docs/${file}`, document(type, POLICY, read));
  });
  return [
    ...pagesOf(about).map((page) => {
      const read = (): Buffer => Buffer.from(pageDocument(page, title, about, hasAccount));
      return get(page.route.path, document("text/html", page.policy, read), page.route.operation);
    }),
    // Links are relative, so that they hold below the path of any proxy: `/docs/` is another folder than `/docs`.
    ...pagesOf(about).map(({ route: { path } }) =>
      get(`${path}/`, () => Promise.resolve(movedTo(`..${path}`))),
    ),
    ...(about !== null
      ? [
          get(
            "/explore/embed",
            document("text/html", EMBED_POLICY, () => Buffer.from(embedDocument(title))),
          ),
        ]
      : []),
    ...files,
    ...swaggerFiles(names),
  ];
}

/** The other files of Swagger UI, such as `oauth2-redirect.html`, as its middleware serves them. */
function swaggerFiles(known: readonly string[]): readonly PageRoute[] {
  const names = readdirSync(dirname(require.resolve("swagger-ui-dist/package.json")));
  const others = names.filter((name) => /\.(css|html|js|png)$/.test(name) && !known.includes(name));
  return others.map((name) => ({ ...get(`/docs/${name}`, serveSwaggerFile), sends: true as const }));
}

/** Null once it is sent, or the client has gone. */
const serveSwaggerFile: PageRoute["handle"] = async ({ request, response }) => {
  // Loaded at its first request: with Express it took 8 MB and 100 ms of processor time of each start.
  const { default: swaggerUi } = await import("swagger-ui-express");
  return new Promise((resolve, reject) => {
    const target = Object.assign(request, { url: (request.url ?? "").replace(/^\/docs/, "") });
    response.once("close", () => resolve(null));
    const headers = { "Cache-Control": privateControl(request), ...headersFor(POLICY) };
    setHeaders(response, Object.entries(headers).flat());
    const next = (error?: unknown): void =>
      error === undefined ? pass() : reject(new Error("Swagger UI.", { cause: error }));
    const handlers = [...swaggerUi.serve];
    const pass = (): void => {
      const handler = handlers.shift();
      if (handler === undefined) reject(new Error("Swagger UI has no such file."));
      else void handler(target as Request, response as Response, next);
    };
    pass();
  });
};

function get(path: string, handle: PageRoute["handle"], operation: Operation | null = null): PageRoute {
  return { method: "GET", path, operation, handle };
}

function movedTo(location: string): Reply {
  return { status: 301, body: "", headers: { Location: location } };
}

/** A document that is a text, which is read at its first request. */
export function documentRoute(path: string, type: string, read: () => string): PageRoute {
  return get(
    path,
    document(type, POLICY, () => Buffer.from(read())),
  );
}

/** Sends what is read at its first request. */
function document(type: string, policy: string, read: () => Buffer): PageRoute["handle"] {
  let result: BufferedResult | null = null;
  const headers = {
    "Content-Type": `${type}; charset=utf-8`,
    ...headersFor(policy),
    Vary: "Accept-Encoding",
  };
  return ({ request }) => documentReply((result ??= new BufferedResult(read(), 0, 0)), request, headers);
}

function headersFor(policy: string) {
  return {
    "Content-Security-Policy": policy,
    "Referrer-Policy": "no-referrer",
  };
}

/** A form says where it stands (`Origin`) to this server alone. */
export const ACCOUNT_HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  ...headersFor(EXPLORER_POLICY),
  "Referrer-Policy": "same-origin",
};
