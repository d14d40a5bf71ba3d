import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { PageRoute } from "@routewright/runtime/internal/core/http/route.js";

/** The pages of `docs` as Markdown: an integrator who knows the address of the service needs no other copy of them. */

/** The package has them beside the compiled program. */
const ROOT = fileURLToPath(new URL(import.meta.url.includes("/dist/") ? ".." : ".", import.meta.url));
const DOCS = join(ROOT, "docs");

/** What pages link to beside each other. */
const ASSETS = "../database/assets.json";

const MARKDOWN = "text/markdown";

/** A document that is a text, which is read at its first request. */
type DocumentRoute = (path: string, type: string, read: () => string) => PageRoute;

/** `/guide`, which lists the pages, and `/guide/{name}.md`. @param documentRoute of the other documents, which are loaded with them alone */
export function guideRoutes(documentRoute: DocumentRoute): readonly PageRoute[] {
  const names = readdirSync(DOCS).filter((name) => name.endsWith(".md"));
  const text = (name: string): string =>
    readFileSync(join(DOCS, name), "utf8").replaceAll(`](${ASSETS})`, "](assets.json)");
  return [
    documentRoute("/guide", MARKDOWN, () => indexOf(names.map((name) => [name, text(name)]))),
    ...names.map((name) => documentRoute(`/guide/${name}`, MARKDOWN, () => text(name))),
    documentRoute("/guide/assets.json", "application/json", () => readFileSync(join(DOCS, ASSETS), "utf8")),
  ];
}

/** Integrators first, in the order in which they need them; the others follow. */
const FIRST = [
  ...["overview", "customers", "intents", "webhooks", "errors", "limits", "sandbox"],
  ...["deposit-accounts", "travel-rule", "provider-protocol"],
].map((name) => `${name}.md`);

function indexOf(pages: readonly (readonly [name: string, text: string])[]): string {
  const place = (name: string): number => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
  const sorted = [...pages].sort(([left], [right]) => place(left) - place(right));
  const lines = sorted.map(([name, text]) => `- [${/^# (.+)$/m.exec(text)?.[1] ?? name}](guide/${name})`);
  return [
    ...[
      "# Guide",
      "",
      "Each page is Markdown. Every call, request, answer and event is in [OpenAPI](openapi.json), ",
    ],
    ...["and as a page at [/docs](docs). Errors and limits are pages of their own.", "", ...lines, ""],
  ].join("\n");
}
