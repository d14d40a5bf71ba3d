import express, { type Express, type RequestHandler } from "express";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { extname } from "node:path";
import { gzipSync } from "node:zlib";
import swaggerUi from "swagger-ui-express";

const require = createRequire(import.meta.url);

/** Documents load scripts and styles from this server only, and send requests to no other host. */
const POLICY = [
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
const EXPLORER_POLICY = POLICY.replace(" 'unsafe-inline'", "");

/** Whether `docsApp` serves a path. */
export function isDocsPath(path: string): boolean {
  return /^\/(docs|redoc|explore)(\/|$)/.test(path);
}

/** The files of the documents, of the package's assets. Swagger UI's are those of the current release. */
const FILES = [
  ...["frame.css", "theme.js", "reference.js", "reference-style.css", "redoc.js"],
  ...["swagger-ui-bundle.js", "swagger-ui.css"],
  ...["explore.js", "explore-chart.js", "explore-chunk.js", "explore.css"],
];

/**
 * An Express app with `/docs` (Swagger UI) and `/redoc`, without files of other hosts; of the data API also with `/explore`
 * (runtime/docs/catalogue.md, Explorer).
 */
export function docsApp(title: string, hasExplorer = false): Express {
  const app = express();
  app.disable("x-powered-by");
  // Links are relative, so that they hold below the path of any proxy: `/docs/` is another folder than `/docs`.
  app.enable("strict routing");
  app.use(setHeaders);
  for (const file of FILES) {
    const read = () => readFileSync(require.resolve(`@routewright/runtime/assets/${file}`));
    app.get(`/docs/${file}`, send(extname(file), {}, read));
  }
  const documents = { ...(hasExplorer && { "/explore": EXPLORER }), "/docs": SWAGGER, "/redoc": REDOC };
  const menu = [...Object.entries(documents), ["/openapi.json", { name: "OpenAPI" }] as const];
  for (const [path, parts] of Object.entries(documents)) {
    const current = (target: string): string => (target === path ? ' aria-current="page"' : "");
    const links = menu.map(
      ([target, { name }]) => `<a href="${target.slice(1)}"${current(target)}>${name}</a>`,
    );
    const read = () => Buffer.from(documentOf(title, links, parts));
    app.get(`${path}/`, (_request, response) => response.redirect(301, `..${path}`));
    app.get(path, send("html", { "Content-Security-Policy": parts.policy }, read));
  }
  app.use("/docs", swaggerUi.serve);
  return app;
}

/** Shared caches would repeat the rate limit of one reader. Browsers ask again, so that files of two versions never mix. */
const setHeaders: RequestHandler = (_request, response, next) => {
  response.setHeader("Cache-Control", "private, no-cache");
  response.setHeader("Content-Security-Policy", POLICY);
  response.setHeader("Referrer-Policy", "no-referrer");
  next();
};

/** Sends what is read and compressed at its first request. */
function send(type: string, headers: Readonly<Record<string, string>>, read: () => Buffer): RequestHandler {
  let plain: Buffer | null = null;
  let compressed: Buffer | null = null;
  return (request, response) => {
    plain ??= read();
    response.set({ ...headers, Vary: "Accept-Encoding" }).type(type);
    if (request.acceptsEncodings("gzip") === false) return void response.send(plain);
    compressed ??= gzipSync(plain);
    response.set("Content-Encoding", "gzip").send(compressed);
  };
}

/** Trusted HTML of a document. */
interface Parts {
  readonly name: string;
  readonly policy: string;
  readonly styles: readonly string[];
  /** Of another maker, which is no module. */
  readonly library?: string;
  readonly script: string;
  /** In the header, before the button of the theme. */
  readonly tools?: string;
  readonly main: string;
  /** The id of its content. */
  readonly content: string;
}

/** A document in the common frame, with the menu of all of them. The title is text. */
function documentOf(title: string, links: readonly string[], parts: Parts): string {
  const name = escapeHtml(title);
  const styles = parts.styles.map((file) => `<link rel="stylesheet" href="docs/${file}">`);
  const library = parts.library && `<script src="docs/${parts.library}" defer></script>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${name}</title>
<link rel="icon" href="data:,">
<script src="docs/theme.js"></script>
${[...styles, library ?? ""].join("\n")}
<script type="module" src="docs/${parts.script}"></script>
</head>
<body>
<a class="skip" href="#${parts.content}">Skip to the content</a>
<header class="frame">
<h1>${name}</h1>
<nav aria-label="Documentation">
${links.join("\n")}
</nav>
${parts.tools ?? ""}
<button id="theme" type="button" aria-pressed="false">Dark</button>
</header>
${parts.main}
</body>
</html>
`;
}

/** The frame's style comes after Swagger UI's, whose ground it replaces. */
const SWAGGER: Parts = {
  name: "Swagger UI",
  policy: POLICY,
  styles: ["swagger-ui.css", "frame.css", "reference-style.css"],
  library: "swagger-ui-bundle.js",
  script: "reference.js",
  main: '<div id="swagger-ui"></div>',
  content: "swagger-ui",
};

const REDOC: Parts = {
  name: "Redoc",
  policy: POLICY,
  styles: ["frame.css", "reference-style.css"],
  library: "redoc.js",
  script: "reference.js",
  main: '<main id="redoc"></main>',
  content: "redoc",
};

const EXPLORER: Parts = {
  name: "Explore",
  policy: EXPLORER_POLICY,
  styles: ["frame.css", "explore.css"],
  script: "explore.js",
  tools: `<form id="key-form">
<output id="caller"></output>
<input id="key" type="password" aria-label="API key, kept in this tab only" placeholder="API key (this tab only)" autocomplete="off" spellcheck="false">
<button>Use key</button>
<button id="forget" type="button" hidden>Forget key</button>
</form>`,
  main: `<div id="problem"></div>
<main aria-busy="true">
<div class="waiting">
<p>Loading the catalogue …</p>
<p class="late">This takes long. If nothing appears, reload the page.</p>
</div>
<noscript><p class="waiting">This page needs JavaScript. The same is described at <a href="openapi.json">openapi.json</a>.</p></noscript>
</main>`,
  content: "panel",
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${String(character.charCodeAt(0))};`);
}
