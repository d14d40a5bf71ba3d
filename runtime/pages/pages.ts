import express, { type Express, type RequestHandler } from "express";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { extname } from "node:path";
import { gzipSync } from "node:zlib";
import swaggerUi from "swagger-ui-express";

const require = createRequire(import.meta.url);

/** Both pages load scripts and styles from this server only, and send requests to no other host. */
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
  "form-action 'self'",
].join("; ");

/** The explorer has no inline styles. */
const EXPLORER_POLICY = PAGE_POLICY.replace(" 'unsafe-inline'", "");

/** Whether `docsApp` or `explorerApp` serves a path. */
export function isDocsPath(path: string): boolean {
  return /^\/(docs|redoc|explore)(\/|$)/.test(path);
}

/** An Express app with `/docs` (Swagger UI) and `/redoc`, without files of other hosts. */
export function docsApp(title: string, hasExplorer = false): Express {
  const app = express();
  app.disable("x-powered-by");
  app.use(setPolicy);
  app.get(
    "/docs",
    (_request, response) => void response.type("html").send(swaggerPage({ title, hasExplorer })),
  );
  app.get("/docs/start.js", sendAsset("reference.js"));
  app.get("/docs/start.css", sendAsset("swagger.css"));
  // Of the current release, and compressed.
  for (const file of ["swagger-ui-bundle.js", "swagger-ui.css"]) app.get(`/docs/${file}`, sendAsset(file));
  app.use("/docs", swaggerUi.serve);
  app.get(
    "/redoc",
    (_request, response) => void response.type("html").send(redocPage({ title, hasExplorer })),
  );
  app.get("/redoc/redoc.js", sendAsset("redoc.js"));
  app.get("/redoc/start.js", sendAsset("reference.js"));
  return app;
}

/** An Express app with `/explore` (runtime/docs/catalogue.md, Explorer). */
export function explorerApp(title: string): Express {
  const app = express();
  app.disable("x-powered-by");
  app.get("/explore", (_request, response) => {
    response.setHeader("Content-Security-Policy", EXPLORER_POLICY);
    response.type("html").send(explorerPage(title));
  });
  for (const file of ["explore.js", "explore-chart.js", "explore-chunk.js", "explore.css"])
    app.get(`/explore/${file}`, sendAsset(file));
  return app;
}

/** Sends a file of the package's assets. */
function sendAsset(file: string): RequestHandler {
  return sendFile(require.resolve(`@routewright/runtime/assets/${file}`));
}

/** Sends a file, read and compressed at its first request. */
function sendFile(file: string): RequestHandler {
  let plain: Buffer | null = null;
  let compressed: Buffer | null = null;
  return (request, response) => {
    plain ??= readFileSync(file);
    response.set({ "Cache-Control": "private, max-age=3600", Vary: "Accept-Encoding" }).type(extname(file));
    if (request.acceptsEncodings("gzip") === false) return void response.send(plain);
    compressed ??= gzipSync(plain);
    response.set("Content-Encoding", "gzip").send(compressed);
  };
}

/** A shared cache would give a page to others with the rate limit of its first reader. */
const setPolicy: RequestHandler = (_request, response, next) => {
  response.setHeader("Cache-Control", "private, no-cache");
  response.setHeader("Content-Security-Policy", PAGE_POLICY);
  response.setHeader("Referrer-Policy", "no-referrer");
  next();
};

/** The documents of a service. */
const MENU = [
  ["/explore", "Explore"],
  ["/docs", "Swagger UI"],
  ["/redoc", "Redoc"],
  ["/openapi.json", "OpenAPI"],
] as const;

interface Reference {
  readonly title: string;
  /** The ramp has no explorer. */
  readonly hasExplorer: boolean;
}

/** `head` and `scripts` are trusted HTML; the title is text. */
function referencePage(
  { title, hasExplorer }: Reference,
  id: string,
  head: string,
  scripts: readonly string[],
): string {
  const menu = MENU.filter(([path]) => hasExplorer || path !== "/explore")
    .map(([path, name]) => `<a href="${path}">${name}</a>`)
    .join(" ");
  const tags = scripts.map((src) => `<script src="${src}"></script>\n`).join("");
  return htmlDocument(
    title,
    `${head}\n${NAVIGATION_STYLE}`,
    `<nav class="back" aria-label="Documentation">${menu}</nav>
${id === "redoc" ? `<main id="${id}"></main>` : `<div id="${id}"></div>`}
${tags}<script type="module" src="/${id === "redoc" ? "redoc" : "docs"}/start.js"></script>`,
  );
}

/** `head` and `body` are trusted HTML; the title is text. */
function htmlDocument(title: string, head: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
${head}
</head>
<body>
${body}
</body>
</html>
`;
}

/** Both libraries draw light pages only: in dark mode their colours are inverted. */
const NAVIGATION_STYLE = `<style>
.back { display: flex; gap: 16px; padding: 10px 20px; font: 15px/1.4 system-ui, sans-serif; background: #fff; }
.back a { color: #1456b8; }
@media (prefers-color-scheme: dark) {
  html { background: #fff; filter: invert(0.92) hue-rotate(180deg); }
}
</style>`;

function swaggerPage(reference: Reference): string {
  const styles = ["swagger-ui.css", "start.css"].map(
    (file) => `<link rel="stylesheet" href="/docs/${file}">`,
  );
  return referencePage(reference, "swagger-ui", styles.join("\n"), ["/docs/swagger-ui-bundle.js"]);
}

/** Redoc's menu truncates badges longer than a method. */
const REDOC_STYLE = `<style>
body { margin: 0; }
.menu-content .operation-type.badge { width: auto; padding: 0 4px; }
@media (prefers-color-scheme: dark) {
  .redoc-json, .redoc-json *, [role="tabpanel"] button, [role="tab"] { color: #1b2733 !important; }
  [role="tab"][aria-selected="true"] { background: #fff !important; }
  .redoc-json .token.string { color: #0b5a35 !important; }
}
</style>`;

function redocPage(reference: Reference): string {
  return referencePage(reference, "redoc", REDOC_STYLE, ["/redoc/redoc.js"]);
}

function explorerPage(title: string): string {
  const name = escapeHtml(title);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${name}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/explore/explore.css">
<script type="module" src="/explore/explore.js"></script>
</head>
<body>
<a class="skip" href="#panel">Skip to the endpoint</a>
<header class="frame">
<h1>${name}</h1>
<nav aria-label="Documentation">
<a href="/explore" aria-current="page">Explore</a>
<a href="/docs">Swagger UI</a>
<a href="/redoc">Redoc</a>
<a href="/openapi.json">OpenAPI</a>
</nav>
<form id="key-form">
<output id="caller"></output>
<input id="key" type="password" aria-label="API key, kept in this tab only" placeholder="API key (this tab only)" autocomplete="off" spellcheck="false">
<button>Use key</button>
<button id="forget" type="button" hidden>Forget key</button>
</form>
<button id="theme" type="button" aria-pressed="false">Dark</button>
</header>
<div id="problem"></div>
<main aria-busy="true">
<div class="waiting">
<p>Loading the catalogue …</p>
<p class="late">This takes long. If nothing appears, reload the page.</p>
</div>
<noscript><p class="waiting">This page needs JavaScript. The same is described at <a href="/openapi.json">/openapi.json</a>.</p></noscript>
</main>
</body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${String(character.charCodeAt(0))};`);
}
