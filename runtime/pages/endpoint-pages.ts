import { allows, type Tier, TIER_NAMES } from "../model/tier.js";
import { type CatalogueBody, type CatalogueEndpoint, lockOf } from "./catalogue-body.js";
import { escapeHtml, htmlDocument } from "./pages.js";

/** Index of the server-rendered pages; `/endpoints/v1/…` is the page of an endpoint. */
export const ENDPOINTS_PATH = "/endpoints";

/** The pages have no scripts and load nothing. */
export const ENDPOINT_PAGE_POLICY =
  "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** `llms.txt`: what language models read first (llmstxt.org). */
export function llmsText(body: CatalogueBody): string {
  const sections = groupsOf(body).map(([category, endpoints]) => {
    const about = Object.hasOwn(body.categories, category) ? `${oneLine(body.categories[category])}\n\n` : "";
    const links = endpoints.map(
      ({ path, description, ...rest }) =>
        `- [${path}](${ENDPOINTS_PATH}${path}): ${oneLine(description)}${lockNote(rest, body.tier)}`,
    );
    return `## ${oneLine(category)}\n\n${about}${links.join("\n")}\n`;
  });
  return `# ${oneLine(body.title)}

> A read-only HTTP API for analytics data. GET an endpoint for its rows as JSON, or with the suffix .csv, .ndjson, .parquet or .arrow. Endpoints above the Public tier need a key in the header X-API-Key.

- [OpenAPI](/openapi.json): every endpoint, parameter and column
- [MCP](/mcp): tools for language models (POST, Streamable HTTP)

${sections.join("\n")}`;
}

/** The list of endpoints as a page. */
export function endpointIndex(body: CatalogueBody): string {
  const groups = groupsOf(body).map(([category, endpoints]) => {
    const items = endpoints.map(
      ({ path, description, ...rest }) =>
        `<li><a href="${escapeHtml(ENDPOINTS_PATH + path)}">${escapeHtml(path)}</a> ${escapeHtml(oneLine(description))}${lockNote(rest, body.tier)}</li>`,
    );
    return `<h2>${escapeHtml(category)}</h2>\n<ul>\n${items.join("\n")}\n</ul>`;
  });
  return page(
    `Endpoints of ${body.title}`,
    `All endpoints of ${body.title}, by category.`,
    groups.join("\n"),
  );
}

/** The page of one endpoint: its description, columns, parameters and, for callers that may call it, a sample. */
export function endpointPage(body: CatalogueBody, endpoint: CatalogueEndpoint): string {
  const { path, description, columns, parameters, callable, tier } = endpoint;
  const rows = columns.map(({ name, type, description: about }) => [name, type ?? "", about]);
  const filters = (parameters ?? []).map((parameter) => [
    parameter.name,
    `${parameter.column} ${parameter.operator}`,
    parameter.description,
  ]);
  const examples = columns.flatMap(({ name, example }) => (example === undefined ? [] : [[name, example]]));
  const sample =
    callable && examples.length > 0 ? JSON.stringify(Object.fromEntries(examples), null, 2) : null;
  const isLocked = !allows(body.tier, tier);
  const parts = [
    `<p>${escapeHtml(description)}</p>`,
    `<p>${TIER_NAMES[tier]} (${tier})${isLocked ? ": needs a key of this tier" : callable ? "" : ": not for this key"}. <a href="/explore?endpoint=${escapeHtml(encodeURIComponent(path))}">Open in the explorer</a></p>`,
    `<h2>Columns</h2>${table(["Column", "Type", "Description"], rows)}`,
    filters.length > 0
      ? `<h2>Parameters</h2>${table(["Parameter", "Compares", "Description"], filters)}`
      : "",
    sample === null ? "" : `<h2>Example of a row</h2><pre tabindex="0">${escapeHtml(sample)}</pre>`,
  ];
  return page(`${path} · ${body.title}`, oneLine(description), parts.join("\n"), path);
}

function groupsOf({
  endpoints,
}: CatalogueBody): readonly (readonly [string, readonly CatalogueEndpoint[]])[] {
  const groups = new Map<string, CatalogueEndpoint[]>();
  for (const endpoint of endpoints) {
    const group = groups.get(endpoint.category) ?? [];
    groups.set(endpoint.category, group);
    group.push(endpoint);
  }
  return [...groups];
}

function lockNote(endpoint: Pick<CatalogueEndpoint, "callable" | "tier">, held: Tier): string {
  const lock = lockOf(endpoint, held);
  return lock === null ? "" : ` (${lock})`;
}

function oneLine(text = ""): string {
  return text.replace(/\s+/g, " ").trim();
}

function table(names: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (texts: readonly string[], tag: string) =>
    `<tr>${texts.map((text) => `<${tag}>${escapeHtml(text)}</${tag}>`).join("")}</tr>`;
  return `<div class="wide" tabindex="0" role="region" aria-label="${names[0] ?? ""}s"><table><thead>${cells(names, "th")}</thead><tbody>${rows.map((row) => cells(row, "td")).join("\n")}</tbody></table></div>`;
}

function page(title: string, description: string, main: string, heading = title): string {
  const about = `<meta name="description" content="${escapeHtml(description.slice(0, 300))}">`;
  const body = `<nav aria-label="Documentation"><a href="/explore">Explore</a> <a href="${ENDPOINTS_PATH}">Endpoints</a> <a href="/docs">Reference</a> <a href="/openapi.json">OpenAPI</a></nav>
<main>
<h1>${escapeHtml(heading)}</h1>
${main}
</main>`;
  return htmlDocument(title, `${about}\n${STYLE}`, body);
}

const STYLE = `<style>
:root { color-scheme: light dark; }
html { background: Canvas; color: CanvasText; }
body { max-width: 60rem; margin: 0 auto; padding: 1rem; font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
.wide, pre { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { padding: 4px 12px 4px 0; text-align: left; vertical-align: top; overflow-wrap: normal; }
</style>`;
