import { withoutPreamble } from "../core/model/endpoint-title.js";
import { type CatalogueBody, type CatalogueEndpoint, categoriesOf, lockOf } from "./catalogue-body.js";

/** What an endpoint sums and counts, and by which groups. */
function measuresText({ of, measures, groups }: NonNullable<CatalogueEndpoint["aggregate"]>): string {
  const by = groups.map(({ name, grains }) =>
    grains === undefined ? name : `${name} (${grains.join(", ")})`,
  );
  const named = `${of}=${measures.map(({ name }) => name).join(",")}`;
  return oneLine(` [${named}${by.length === 0 ? "" : `; group_by: ${by.join(", ")}`}]`);
}

/** `llms.txt`: what language models read first (llmstxt.org). */
export function llmsText(body: CatalogueBody, server: string): string {
  const sections = [...categoriesOf(body.endpoints).keys()].map((category) => {
    const endpoints = body.endpoints.filter((endpoint) => endpoint.category === category);
    const links = endpoints.map(({ path, title, description, aggregate, ...rest }) => {
      const lock = lockOf(rest, body.tier);
      const measures = aggregate === undefined ? "" : measuresText(aggregate);
      const about = oneLine(withoutPreamble(description));
      return `- [${oneLine(title)}](${server}${path}): ${about}${measures}${lock === null ? "" : ` (${lock})`}`;
    });
    return `## ${oneLine(category)}\n\n${links.join("\n")}\n`;
  });
  return `# ${oneLine(body.title)}

> A read-only HTTP API for analytics data. GET an endpoint for its rows as JSON, or with the suffix .csv, .ndjson, .parquet or .arrow. Endpoints above the Public tier need a key in the header X-API-Key.

- [OpenAPI](${server}/openapi.json): every endpoint, parameter and column
- [MCP](${server}/mcp): tools for language models (POST, Streamable HTTP)

${sections.join("\n")}`;
}

function oneLine(text = ""): string {
  return text.replace(/\s+/g, " ").trim();
}
