import express, { type Express, type RequestHandler } from "express";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import swaggerUi from "swagger-ui-express";

const require = createRequire(import.meta.url);

/** The two pages bring their own scripts and styles; nothing comes from another host, and none may be called. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self' blob:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join("; ");

/** Paths that `docsApp` answers. */
export function isDocsPath(path: string): boolean {
  return /^\/(docs|redoc)(\/|$)/.test(path);
}

/** An Express app with `/docs` (Swagger UI) and `/redoc`, both from the installed packages (data-api.md §4.2). */
export function docsApp(title: string): Express {
  const app = express();
  app.disable("x-powered-by");
  app.use(setPolicy);
  const swagger = swaggerPage(title);
  app.get("/docs", (_request, response) => void response.type("html").send(swagger));
  app.use("/docs", swaggerUi.serve);
  app.get("/redoc", (_request, response) => void response.type("html").send(redocPage(title)));
  app.get("/redoc/redoc.js", sendRedoc);
  app.get("/redoc/start.js", (_request, response) => void response.type("js").send(REDOC_START));
  return app;
}

const sendRedoc: RequestHandler = (_request, response) => {
  response.set("Cache-Control", "public, max-age=3600").type("js").send(redocScript());
};

let script: string | null = null;

/** Redoc's bundle, which the build puts among the package's assets; read at the page's first request. */
function redocScript(): string {
  script ??= readFileSync(require.resolve("@routewright/runtime/assets/redoc.js"), "utf8");
  return script;
}

const setPolicy: RequestHandler = (_request, response, next) => {
  response.setHeader("Content-Security-Policy", PAGE_POLICY);
  response.setHeader("Referrer-Policy", "no-referrer");
  next();
};

/** Swagger UI names its files relative to a folder; the page itself is at `/docs`, without a slash. */
function swaggerPage(title: string): string {
  const swaggerOptions = {
    url: "/openapi.json",
    persistAuthorization: true,
    displayRequestDuration: true,
    docExpansion: "none",
    filter: true,
  };
  // The bar at the top holds the maker's name and nothing that this page needs.
  const customCss = ".swagger-ui .topbar { display: none }";
  const customSiteTitle = escapeHtml(title);
  const page = swaggerUi.generateHTML(undefined, { customSiteTitle, customCss, swaggerOptions });
  return page.replaceAll('"./', '"/docs/');
}

const REDOC_START = `Redoc.init("/openapi.json", { disableSearch: false, hideDownloadButton: false, sortTagsAlphabetically: false }, document.getElementById("redoc"));`;

function redocPage(title: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<style>body { margin: 0; }</style>
</head>
<body>
<div id="redoc"></div>
<script src="/redoc/redoc.js"></script>
<script src="/redoc/start.js"></script>
</body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${String(character.charCodeAt(0))};`);
}
