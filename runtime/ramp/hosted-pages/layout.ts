import type { PageExit } from "./stage.js";

/** How often a page reloads without script, and how long the last page stays, in seconds. */
const REFRESH_SECONDS = "5";

export interface Layout {
  readonly title: string;
  readonly content: Html;
  /** Present on a page that waits for something. */
  readonly live?: undefined | { readonly statusPath: string; readonly version: string };
  readonly ending?: PageExit | undefined;
}

/** A whole page. All addresses in it are relative: it works behind a proxy that puts a path in front. */
export function page({ title, content, live, ending }: Layout): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="../pages/page.css">
<script src="../pages/page.js" defer></script>
${withoutScript({ live, ending })}
</head>
<body${live ? html` data-poll="${live.statusPath}" data-version="${live.version}"` : null}${ending ? html` data-end="${JSON.stringify(ending)}"` : null}>
<main>
${content}
</main>
</body>
</html>
`.text;
}

function withoutScript({ live, ending }: Pick<Layout, "live" | "ending">): Html | null {
  if (live) return html`<noscript><meta http-equiv="refresh" content="${REFRESH_SECONDS}" /></noscript>`;
  if (!ending?.url) return null;
  const target = ending.url.replaceAll("'", "%27");
  return html`<noscript
    ><meta http-equiv="refresh" content="${REFRESH_SECONDS}; url='${target}'"
  /></noscript>`;
}

/** Escaped HTML: only `html` makes it. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | readonly Html[] | string | null;

/** Builds a page. Values that are not `Html` are escaped; null shows nothing. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((text, string, i) => text + textOf(parts[i - 1] ?? null) + string));
}

function textOf(part: Part): string {
  if (part === null) return "";
  if (typeof part === "string") return escapeText(part);
  if (part instanceof Html) return part.text;
  return part.map(({ text }) => text).join("");
}

function escapeText(text: string): string {
  return text.replace(/[&<>"'`]/g, (character) => `&#${String(character.charCodeAt(0))};`);
}

/** The response to a request for a page. */
export interface PageResponse {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A page's headers: its address is a secret, its content a customer's own, and only who is registered may frame it. */
export function pageHeaders(frameOrigins: readonly string[]): Readonly<Record<string, string>> {
  return {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src data:",
      "connect-src 'self'",
      "form-action 'self'",
      "base-uri 'none'",
      `frame-ancestors ${frameOrigins.length === 0 ? "'none'" : frameOrigins.join(" ")}`,
    ].join("; "),
    ...(frameOrigins.length === 0 ? { "X-Frame-Options": "DENY" } : {}),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
  };
}

/** A page with an error. */
export function problemPage(
  status: number,
  title: string,
  text: string,
  origins: readonly string[] = [],
): PageResponse {
  const content = html`<h1>${title}</h1>
    <p>${text}</p>`;
  return { status, body: page({ title, content }), headers: pageHeaders(origins) };
}
