import { type Html, html } from "@routewright/runtime/internal/core/http/html.js";
import type { RampResponse } from "../core/ramp-errors.js";
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
): RampResponse {
  const content = html`<h1>${title}</h1>
    <p>${text}</p>`;
  return { status, body: page({ title, content }), headers: pageHeaders(origins) };
}

/**
 * The pages' only script: everything works without it. It copies texts, polls for changes, and at the end notifies
 * the window that the page was opened from.
 */
export const SCRIPT = `"use strict";
(() => {
  const { poll, version, end } = document.body.dataset;
  const PAUSE_MS = 2500;
  const MAX_PAUSE_MS = 60000;
  const READING_MS = 2500;

  document.querySelector(".summary")?.focus();

  const format = { day: "numeric", month: "long", year: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZoneName: "short" };
  for (const time of document.querySelectorAll("time")) time.textContent = new Date(time.dateTime).toLocaleString("en", format);

  const select = (element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  };

  const copy = async (button) => {
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      return true;
    } catch {
      // Browsers often forbid the clipboard in a frame: select the text, so that the customer can copy it.
      select(document.getElementById(button.dataset.from));
      return document.execCommand("copy");
    }
  };

  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const done = await copy(button);
      document.getElementById("copied").textContent = done ? button.dataset.label + " copied." : button.dataset.label + " selected.";
      button.textContent = done ? "Copied" : "Selected";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
  }

  // Providers forbid their pages in frames of others.
  if (parent !== window) for (const link of document.querySelectorAll("a[data-elsewhere]")) link.target = "_blank";

  const look = async (pause) => {
    let next = Math.min(pause * 2, MAX_PAUSE_MS);
    try {
      const response = await fetch(poll, { cache: "no-store", credentials: "omit" });
      if (response.status === 404 || response.status === 410) return location.reload();
      if (response.ok) {
        const now = await response.json();
        if (now.version !== version) return location.reload();
        next = PAUSE_MS;
      }
    } catch {}
    setTimeout(look, next, next);
  };
  if (poll) setTimeout(look, PAUSE_MS, PAUSE_MS);

  if (end) {
    const { message, origins, url } = JSON.parse(end);
    const others = [opener, parent === window ? null : parent].filter((other) => other !== null);
    for (const other of others) for (const origin of origins) other.postMessage(message, origin);
    if (url !== null) setTimeout(() => location.replace(url), READING_MS);
  }
})();
`;

/** The pages' only style sheet. */
export const STYLE = `:root { color-scheme: light dark; --ink: #16202c; --soft: #4a5868; --paper: #fff; --ground: #eef1f5; --line: #c5ced8;
  --accent: #0b57a4; --on-accent: #fff; --good: #14672f; --bad: #a4161a; --bad-ground: #fdf0f0; --note-ground: #fff6dc; }
@media (prefers-color-scheme: dark) { :root { --ink: #e9eef4; --soft: #aab6c4; --paper: #18212c; --ground: #0f151d; --line: #445263;
  --accent: #7fb8f5; --on-accent: #0b1622; --good: #7ad39a; --bad: #ff9d9d; --bad-ground: #34191c; --note-ground: #322a12; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, "Liberation Sans", Arial, sans-serif; }
main { max-width: 34rem; margin: 2rem auto; padding: 1.75rem; background: var(--paper); border: 1px solid var(--line); border-radius: 0.75rem; }
h1 { margin: 0 0 0.75rem; font-size: 1.5rem; line-height: 1.25; }
h2 { margin: 1.75rem 0 0.5rem; font-size: 1.1rem; }
p { margin: 0 0 1rem; }
.from { margin: 0 0 0.25rem; color: var(--soft); font-size: 0.9rem; }
h1.good { color: var(--good); }
h1.bad { color: var(--bad); }
dl { margin: 0 0 1.25rem; border-top: 1px solid var(--line); }
dl > div { display: flex; flex-wrap: wrap; align-items: center; gap: 0.1rem 1rem; padding: 0.6rem 0; border-bottom: 1px solid var(--line); }
dt { flex: 0 0 8.5rem; color: var(--soft); }
dd { flex: 1 1 12rem; margin: 0; overflow-wrap: anywhere; unicode-bidi: isolate; font-weight: 600; }
.code { font-family: ui-monospace, "Liberation Mono", monospace; font-size: 0.95rem; }
label, legend { display: block; padding: 0; font-weight: 600; }
fieldset { margin: 0 0 1.25rem; padding: 0; border: 0; min-width: 0; }
.field { margin: 0 0 1.25rem; }
.hint { margin: 0; color: var(--soft); font-size: 0.9rem; }
.choice { display: flex; align-items: center; gap: 0.6rem; min-height: 2.75rem; font-weight: 400; }
input[type=radio], input[type=checkbox] { width: 1.25rem; height: 1.25rem; margin: 0; flex: none; accent-color: var(--accent); }
input:not([type=radio], [type=checkbox]), select { width: 100%; margin-top: 0.3rem; padding: 0.65rem 0.75rem; border: 1px solid var(--soft); border-radius: 0.4rem;
  background: var(--paper); color: inherit; font: inherit; }
[aria-invalid=true] { border: 2px solid var(--bad) !important; }
.error { margin: 0.3rem 0 0; color: var(--bad); font-weight: 600; }
.summary { margin: 0 0 1.5rem; padding: 1rem; border: 2px solid var(--bad); border-radius: 0.4rem; background: var(--bad-ground); }
.summary h2 { margin: 0 0 0.25rem; color: var(--bad); }
.summary ul { margin: 0; padding-left: 1.25rem; }
.summary a { color: var(--bad); }
.note { padding: 0.75rem 1rem; border-radius: 0.4rem; background: var(--note-ground); }
button, .button { display: block; width: 100%; padding: 0.8rem 1rem; border: 1px solid var(--accent); border-radius: 0.4rem; background: var(--accent); color: var(--on-accent);
  font: inherit; font-weight: 600; text-align: center; text-decoration: none; cursor: pointer; }
.button + dl { margin-top: 1rem; }
button.quiet { margin-top: 0.75rem; border-color: transparent; background: none; color: var(--accent); }
button.copy { width: auto; min-height: 2.25rem; padding: 0.25rem 0.75rem; background: none; color: var(--accent); font-size: 0.9rem; }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
[tabindex="-1"]:focus-visible { outline: none; }
[hidden] { display: none; }
.live { display: flex; align-items: center; gap: 0.6rem; margin: 1.25rem 0 0; color: var(--soft); }
.live::before { content: ""; flex: none; width: 0.7rem; height: 0.7rem; border-radius: 50%; background: var(--accent); animation: pulse 1.6s ease-in-out infinite; }
@keyframes pulse { 50% { opacity: 0.25; } }
@media (prefers-reduced-motion: reduce) { .live::before { animation: none; } }
@media (max-width: 30rem) { main { margin: 0; padding: 1.25rem; border: 0; border-radius: 0; min-height: 100vh; } dt { flex-basis: 6.5rem; } .parts dt { flex-basis: 100%; } }
.parts dd { display: flex; align-items: center; justify-content: space-between; gap: 0.75rem; flex: 1 1 auto; }
`;
