import { type Html, html } from "./html.js";
import type { Ending } from "./ending.js";

/** How often a page looks for news by itself where no script runs, and how long it says goodbye, in seconds. */
const REFRESH_SECONDS = "5";

export interface Layout {
  readonly title: string;
  readonly content: Html;
  /** Present on a page that waits for something. */
  readonly live?: { readonly statusPath: string; readonly version: string };
  readonly ending?: Ending;
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
${withoutScript(live !== undefined, ending?.url ?? null)}
</head>
<body${live ? html` data-poll="${live.statusPath}" data-version="${live.version}"` : null}${ending ? html` data-end="${JSON.stringify(ending)}"` : null}>
<main>
${content}
</main>
</body>
</html>
`.text;
}

function withoutScript(isLive: boolean, url: string | null): Html | null {
  if (isLive) return html`<noscript><meta http-equiv="refresh" content="${REFRESH_SECONDS}" /></noscript>`;
  if (url === null) return null;
  const target = url.replaceAll("'", "%27");
  return html`<noscript
    ><meta http-equiv="refresh" content="${REFRESH_SECONDS}; url='${target}'"
  /></noscript>`;
}
