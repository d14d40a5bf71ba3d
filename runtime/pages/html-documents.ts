import type { ApiAbout } from "../core/model/about.js";
import { PAGE_ROUTES } from "../core/handler/system-routes.js";

/** Documents load scripts and styles from this server only, and send requests to no other host. */
export const POLICY = [
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
export const EXPLORER_POLICY = POLICY.replace(" 'unsafe-inline'", "");

/** Charts of public endpoints may stand in any page. */
export const EMBED_POLICY = EXPLORER_POLICY.replace("frame-ancestors 'none'", "frame-ancestors *");

/** `/docs` (Swagger UI) and `/redoc`; of the data API also `/explore`, `/guide` and `/status` (runtime/docs/catalogue.md, Explorer). */
export const pagesOf = (about: ApiAbout | null): readonly PageParts[] =>
  about === null ? [SWAGGER, REDOC] : [SWAGGER, REDOC, EXPLORER, GUIDE, STATUS];

/** The HTML of one of them. `hasAccount`: whether `/account` gives keys. */
export function pageDocument(
  page: PageParts,
  title: string,
  about: ApiAbout | null,
  hasAccount: boolean,
): string {
  // The explorer comes first in the menu.
  const menu = about === null ? [...pagesOf(about), GUIDE] : MENU;
  const account = hasAccount ? [ACCOUNT_LINK] : [];
  return documentOf({ title, hasFeed: about !== null, ...about }, [...menuOf(menu, page), ...account], page);
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

/** A chart alone, without menu and key (runtime/docs/catalogue.md, Explorer). */
export function embedDocument(title: string): string {
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
