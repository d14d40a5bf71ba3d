import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

/** Before the name of a view (MCP Apps). */
const VIEW_URI = "ui://routewright/";

const MIME_TYPE = "text/html;profile=mcp-app";

/** What a host shows of tools in the conversation. Each view is one document: the explorer's modules and styles, without an address. */
const VIEWS: Readonly<Record<string, string>> = {
  chart: "The points of chart_endpoint, drawn.",
  table: "The rows of query_endpoint, with facets.",
  endpoint: "What describe_endpoint describes, as a page.",
};

const VIEW_OF_TOOL: Readonly<Record<string, string>> = {
  chart_endpoint: "chart",
  query_endpoint: "table",
  describe_endpoint: "endpoint",
};

/** Nothing is loaded, and no server is called: data come by the host's calls of tools. */
const _meta = { ui: { csp: { connectDomains: [], resourceDomains: [] }, prefersBorder: true } };

/** The view of a tool, as its `_meta`. */
export function viewMeta(tool: string): {
  readonly _meta?: { readonly ui: { readonly resourceUri: string } };
} {
  const view = VIEW_OF_TOOL[tool];
  return view === undefined ? {} : { _meta: { ui: { resourceUri: VIEW_URI + view } } };
}

export const VIEW_RESOURCES = Object.entries(VIEWS).map(([name, description]) => ({
  uri: VIEW_URI + name,
  name,
  description,
  mimeType: MIME_TYPE,
  _meta,
}));

/** The document of a view; null where there is none. */
export function viewAt(uri: string) {
  const found = VIEW_RESOURCES.find((each) => each.uri === uri);
  if (found === undefined) return null;
  return { uri, mimeType: MIME_TYPE, text: documentOf(found.name), _meta };
}

/** Styles and the script, read once. */
let parts: readonly [styles: string, script: string] | null = null;

function documentOf(view: string): string {
  parts ??= [
    ["frame", "explore", "assistant-style"].map((name) => asset(`${name}.css`)).join(""),
    // The end of a script must not be in it.
    asset("assistant.js").replaceAll("</script", "<\\/script"),
  ];
  const [styles, script] = parts;
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${view}</title><style>${styles}</style></head><body class="assistant" data-view="${view}"><main aria-busy="true"></main><script>${script}</script></body></html>`;
}

const { resolve } = createRequire(import.meta.url);
const asset = (name: string): string => readFileSync(resolve(`@routewright/runtime/assets/${name}`), "utf8");
