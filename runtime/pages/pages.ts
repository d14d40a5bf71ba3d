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

/** The files of the package's assets that are served, by path. */
const ASSETS = {
  "/docs/frame.css": "frame.css",
  "/docs/theme.js": "theme.js",
  "/docs/start.js": "reference.js",
  "/docs/start.css": "reference-style.css",
  // Of the current release, and compressed.
  "/docs/swagger-ui-bundle.js": "swagger-ui-bundle.js",
  "/docs/swagger-ui.css": "swagger-ui.css",
  "/redoc/redoc.js": "redoc.js",
};

const EXPLORER_ASSETS = {
  "/explore/explore.js": "explore.js",
  "/explore/explore-chart.js": "explore-chart.js",
  "/explore/explore-chunk.js": "explore-chunk.js",
  "/explore/explore.css": "explore.css",
};

/**
 * An Express app with `/docs` (Swagger UI) and `/redoc`, without files of other hosts; of the data API also with `/explore`
 * (runtime/docs/catalogue.md, Explorer).
 */
export function docsApp(title: string, hasExplorer = false): Express {
  const app = express();
  app.disable("x-powered-by");
  app.use(setHeaders);
  for (const [path, file] of Object.entries({ ...ASSETS, ...(hasExplorer && EXPLORER_ASSETS) }))
    app.get(path, sendAsset(file));
  for (const [path, parts] of Object.entries({ ...REFERENCES, ...(hasExplorer && { "/explore": EXPLORER }) }))
    app.get(path, sendDocument(documentOf(title, path, hasExplorer, parts), parts));
  app.use("/docs", swaggerUi.serve);
  return app;
}

/** A shared cache would give a document to others with the rate limit of its first reader. */
const setHeaders: RequestHandler = (_request, response, next) => {
  response.setHeader("Cache-Control", "private, no-cache");
  response.setHeader("Content-Security-Policy", POLICY);
  response.setHeader("Referrer-Policy", "no-referrer");
  next();
};

/** Sends a file of the package's assets. */
function sendAsset(file: string): RequestHandler {
  const send = sendCompressed(extname(file), () =>
    readFileSync(require.resolve(`@routewright/runtime/assets/${file}`)),
  );
  return (request, response, next) => {
    response.setHeader("Cache-Control", "private, max-age=3600");
    send(request, response, next);
  };
}

function sendDocument(text: string, { policy }: Parts): RequestHandler {
  const send = sendCompressed("html", () => Buffer.from(text));
  return (request, response, next) => {
    response.setHeader("Content-Security-Policy", policy);
    send(request, response, next);
  };
}

/** Sends what is read and compressed at its first request. */
function sendCompressed(type: string, read: () => Buffer): RequestHandler {
  let plain: Buffer | null = null;
  let compressed: Buffer | null = null;
  return (request, response) => {
    plain ??= read();
    response.set({ Vary: "Accept-Encoding" }).type(type);
    if (request.acceptsEncodings("gzip") === false) return void response.send(plain);
    compressed ??= gzipSync(plain);
    response.set("Content-Encoding", "gzip").send(compressed);
  };
}

/** The documents of a service. */
const MENU = [
  ["/explore", "Explore"],
  ["/docs", "Swagger UI"],
  ["/redoc", "Redoc"],
  ["/openapi.json", "OpenAPI"],
] as const;

/** Trusted HTML of a document. */
interface Parts {
  readonly policy: string;
  readonly head: string;
  /** Before the header. */
  readonly skip?: string;
  /** In the header, before the button of the theme. */
  readonly tools?: string;
  readonly main: string;
}

/** A document in the common frame, with the menu of all of them. The title is text. */
function documentOf(
  title: string,
  path: string,
  hasExplorer: boolean,
  { head, skip = "", tools = "", main }: Parts,
): string {
  const name = escapeHtml(title);
  const links = MENU.filter(([target]) => hasExplorer || target !== "/explore").map(
    ([target, label]) => `<a href="${target}"${target === path ? ' aria-current="page"' : ""}>${label}</a>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${name}</title>
<link rel="icon" href="data:,">
<script src="/docs/theme.js"></script>
${head}
</head>
<body>
${skip}
<header class="frame">
<h1>${name}</h1>
<nav aria-label="Documentation">
${links.join("\n")}
</nav>
${tools}
<button id="theme" type="button" aria-pressed="false">Dark</button>
</header>
${main}
</body>
</html>
`;
}

const FRAME_STYLE = '<link rel="stylesheet" href="/docs/frame.css">';

/** The frame's style comes after Swagger UI's, whose ground it replaces. */
const REFERENCES: Readonly<Record<string, Parts>> = {
  "/docs": {
    policy: POLICY,
    head: `<link rel="stylesheet" href="/docs/swagger-ui.css">
${FRAME_STYLE}
<link rel="stylesheet" href="/docs/start.css">
<script src="/docs/swagger-ui-bundle.js" defer></script>
<script type="module" src="/docs/start.js"></script>`,
    main: '<div id="swagger-ui"></div>',
  },
  "/redoc": {
    policy: POLICY,
    head: `${FRAME_STYLE}
<link rel="stylesheet" href="/docs/start.css">
<script src="/redoc/redoc.js" defer></script>
<script type="module" src="/docs/start.js"></script>`,
    main: '<main id="redoc"></main>',
  },
};

const EXPLORER: Parts = {
  policy: EXPLORER_POLICY,
  head: `${FRAME_STYLE}
<link rel="stylesheet" href="/explore/explore.css">
<script type="module" src="/explore/explore.js"></script>`,
  skip: '<a class="skip" href="#panel">Skip to the endpoint</a>',
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
<noscript><p class="waiting">This page needs JavaScript. The same is described at <a href="/openapi.json">/openapi.json</a>.</p></noscript>
</main>`,
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${String(character.charCodeAt(0))};`);
}
