import type { Request, Response } from "express";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import type { ApiAbout } from "../core/model/about.js";
import { accentStyle } from "../core/model/accent.js";
import { PAGE_ROUTES } from "../core/handler/system-routes.js";
import { setHeaders } from "../core/http/headers.js";
import type { Operation } from "../core/http/openapi.js";
import type { PageRoute } from "../core/http/route.js";
import type { Reply } from "../core/http/send.js";
import { BufferedResult, documentReply } from "../core/response/buffered-result.js";
import { privateControl } from "../core/response/caching-headers.js";

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

/** Charts of public endpoints may stand in any page. */
const EMBED_POLICY = EXPLORER_POLICY.replace("frame-ancestors 'none'", "frame-ancestors *");

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

/** `/docs` (Swagger UI) and `/redoc`; of the data API also `/explore`, `/guide` and `/status` (runtime/docs/catalogue.md, Explorer). */
function documentPages(title: string, about: ApiAbout | null, hasAccount: boolean): readonly PageRoute[] {
  const head = { title, hasFeed: about !== null, ...about };
  const pages = pagesOf(about);
  // The explorer comes first in the menu.
  const menu = about === null ? [...pages, GUIDE] : MENU;
  const account = hasAccount ? [ACCOUNT_LINK] : [];
  return pages.map((page) => {
    const read = (): Buffer => Buffer.from(documentOf(head, [...menuOf(menu, page), ...account], page));
    return get(page.route.path, document("text/html", page.policy, read), page.route.operation);
  });
}

const pagesOf = (about: ApiAbout | null): readonly PageParts[] =>
  about === null ? [SWAGGER, REDOC] : [SWAGGER, REDOC, EXPLORER, GUIDE, STATUS];

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
    ...documentPages(title, about, hasAccount),
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

const ACCOUNT_LINK = '<a href="account">Get a key</a>';

/** The links to all pages, relative. */
function menuOf(pages: readonly PageParts[], current: PageParts | null): readonly string[] {
  return [...pages, { route: { path: "/openapi.json" }, name: "OpenAPI" }].map(
    ({ route: { path }, name }) =>
      `<a href="${path.slice(1)}"${path === current?.route.path ? ' aria-current="page"' : ""}>${name}</a>`,
  );
}

/** Trusted HTML of a document. */
interface DocumentParts {
  readonly styles: readonly string[];
  /** Of another maker, which is no module. */
  readonly library?: string;
  /** Absent: it works without. */
  readonly script?: string;
  /** In the header, before the button of the theme. */
  readonly tools?: string;
  readonly main: string;
  /** The id of its content. */
  readonly content: string;
}

interface PageParts extends DocumentParts {
  readonly route: (typeof PAGE_ROUTES)[keyof typeof PAGE_ROUTES];
  readonly name: string;
  readonly policy: string;
  readonly script: string;
}

/** What every document's header shows. */
interface DocumentHead extends Pick<ApiAbout, "description" | "logo"> {
  readonly title: string;
  readonly hasFeed: boolean;
}

const FEED = '<link rel="alternate" type="application/atom+xml" href="v1/system/changelog.atom">';

/** A document in the common frame, with the menu of all of them. Those are texts. */
function documentOf(
  { title, logo, description, hasFeed }: DocumentHead,
  links: readonly string[],
  parts: DocumentParts & Partial<Pick<PageParts, "route">>,
): string {
  const name = escapeHtml(title);
  const picture = logo === undefined ? "" : `<img src="${escapeHtml(logo)}" alt="">`;
  const styles = parts.styles.map((file) => `<link rel="stylesheet" href="docs/${file}">`);
  const library = parts.library && `<script src="docs/${parts.library}" defer></script>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="${escapeHtml(description ?? [title, parts.route?.operation.description].filter(Boolean).join(": "))}">
<title>${name}</title>
<link rel="icon" href="data:,">
<script src="docs/theme.js"></script>
${[hasFeed ? FEED : "", ...styles, library ?? ""].join("\n")}
${parts.script === undefined ? "" : `<script type="module" src="docs/${parts.script}"></script>`}
</head>
<body>
<a class="skip" href="#${parts.content}">Skip to the content</a>
<header class="frame">
<h1>${picture}${name}</h1>
<nav aria-label="Documentation">
${links.join("\n")}
</nav>
${parts.tools ?? ""}
<button id="theme" type="button">Dark theme</button>
</header>
${parts.main}
</body>
</html>
`;
}

/** What the account page shows, in the common frame. `main`: trusted HTML. `prefix`: the path below which a proxy serves the API. */
export function accountDocument(title: string, about: ApiAbout, prefix: string, main: string): string {
  const links = [...menuOf(MENU, null), ACCOUNT_LINK.replace(">Get a key", ' aria-current="page">Account')];
  const parts = { styles: ["frame.css", "account-style.css"], content: "account" };
  const frame = documentOf({ title, hasFeed: true, ...about }, links, { ...parts, main: MAIN });
  // Its forms are answered at several depths of the path.
  const located = frame.replace(/ (href|src)="(?=[a-z])(?!data:)/g, ` $1="${prefix}/`);
  return located.replace(MAIN, () => main);
}

/** In place of the content of a document. */
const MAIN = "\0";

/** A form says where it stands (`Origin`) to this server alone. */
export const ACCOUNT_HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  ...headersFor(EXPLORER_POLICY),
  "Referrer-Policy": "same-origin",
};

/** A chart alone, without menu and key (runtime/docs/catalogue.md, Explorer). */
function embedDocument(title: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<script src="../docs/theme.js"></script>
<link rel="stylesheet" href="../docs/frame.css">
<link rel="stylesheet" href="../docs/explore.css">
<script type="module" src="../docs/explore-embed.js"></script>
</head>
<body class="embed">
<main aria-busy="true">
<p class="note">Loading the chart …</p>
</main>
</body>
</html>
`;
}

/** The frame's style comes after Swagger UI's, whose ground it replaces. */
const SWAGGER: PageParts = {
  route: PAGE_ROUTES.docs,
  name: "Swagger UI",
  policy: POLICY,
  styles: ["swagger-ui.css", "frame.css", "reference-style.css"],
  library: "swagger-ui-bundle.js",
  script: "reference.js",
  main: '<div id="swagger-ui"></div>',
  content: "swagger-ui",
};

const REDOC: PageParts = {
  route: PAGE_ROUTES.redoc,
  name: "Redoc",
  policy: POLICY,
  styles: ["frame.css", "reference-style.css"],
  library: "redoc.js",
  script: "reference.js",
  main: '<main id="redoc"></main>',
  content: "redoc",
};

const EXPLORER: PageParts = {
  route: PAGE_ROUTES.explore,
  name: "Explore",
  policy: EXPLORER_POLICY,
  styles: ["frame.css", "explore.css"],
  script: "explore.js",
  tools: `<form id="key-form">
<output id="caller"></output>
<input id="key" type="password" aria-label="API key, kept in this tab only" placeholder="API key, this tab" autocomplete="off" spellcheck="false">
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

const GUIDE: PageParts = {
  route: PAGE_ROUTES.guide,
  name: "Guide",
  policy: EXPLORER_POLICY,
  styles: ["frame.css", "guide-style.css"],
  script: "guide.js",
  main: `<main aria-busy="true">
<p>Loading the guide …</p>
<noscript><p>This page needs JavaScript. The same is described at <a href="openapi.json">openapi.json</a>.</p></noscript>
</main>`,
  content: "guide",
};

const STATUS: PageParts = {
  route: PAGE_ROUTES.status,
  name: "Status",
  policy: EXPLORER_POLICY,
  styles: ["frame.css", "status-style.css"],
  script: "status.js",
  main: `<main aria-busy="true">
<p>Loading the status …</p>
<noscript><p>This page needs JavaScript. The same is at <a href="v1/system/status.atom">status.atom</a>.</p></noscript>
</main>`,
  content: "status",
};

const MENU = [EXPLORER, GUIDE, STATUS, SWAGGER, REDOC];

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${String(character.charCodeAt(0))};`);
}
