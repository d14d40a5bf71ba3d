import { BASE, curlOf as callOf } from "../explorer/api.js";
import { type Parameters } from "../explorer/api-request.js";
import type { CatalogueEndpoint } from "../catalogue-body.js";

/** Endpoints of this API that the guide shows things by: a public one that answers without a key where there is one. */
export interface Examples {
  /** Answers without a parameter; null where none does. */
  readonly plain: CatalogueEndpoint | null;
  /** Has a filter. */
  readonly filtered: CatalogueEndpoint | null;
  /** Has pages. */
  readonly paged: CatalogueEndpoint | null;
}

export function examplesOf(endpoints: readonly CatalogueEndpoint[]): Examples {
  const callable = endpoints
    .filter((each) => each.callable && each.deprecation_date === null)
    .sort((a, b) => Number(a.tier !== "tier0") - Number(b.tier !== "tier0"));
  const open = callable.filter(({ require_any_of }) => require_any_of.length === 0);
  const find = (from: readonly CatalogueEndpoint[], has: (each: CatalogueEndpoint) => boolean) =>
    from.find(has) ?? null;
  const hasFilter = (each: CatalogueEndpoint): boolean => filterOf(each) !== null;
  const hasPages = ({ pagination }: CatalogueEndpoint): boolean => pagination !== null;
  return {
    // A row of several columns shows more than a single number.
    plain: find(open, ({ columns }) => columns.length > 2) ?? open[0] ?? null,
    filtered: find(open, hasFilter) ?? find(callable, hasFilter),
    // The code has a place for the key: an endpoint that needs another one serves too.
    paged: find(open, hasPages) ?? find(callable, hasPages) ?? find(endpoints, hasPages),
  };
}

/** A parameter with a value that its column has had, by the examples of the catalogue; null without one. */
export function filterOf({ parameters, filters = [], columns }: CatalogueEndpoint): Parameters | null {
  const exampleOf = (column: string): string | null => {
    const example = columns.find(({ name }) => name === column)?.example;
    const isText = typeof example === "string" || typeof example === "number" || typeof example === "boolean";
    return isText && String(example).trim() !== "" ? String(example) : null;
  };
  for (const { name, column, operator, accepted_values } of parameters ?? []) {
    const value = accepted_values?.[0] ?? exampleOf(column);
    if (value === null || (operator === "IN" && value.includes(","))) continue;
    return { [name]: [/^(>=|<=)$/.test(operator) ? value.slice(0, 10) : value] };
  }
  for (const { column } of filters) {
    const value = exampleOf(column);
    if (value !== null) return { [`${column}[eq]`]: [value] };
  }
  return null;
}

/** A call of an endpoint by curl. It has a placeholder for the key. */
export function curlOf(endpoint: CatalogueEndpoint, parameters: Parameters = {}): string {
  return callOf({ endpoint, parameters }, endpoint.tier !== "tier0");
}

const headersOf = ({ tier }: CatalogueEndpoint): boolean => tier !== "tier0";

/** Reads all pages by the header `Link`. */
export function allPagesScript(endpoint: CatalogueEndpoint): string {
  const options = headersOf(endpoint) ? ', { headers: { "X-API-Key": process.env.API_KEY } }' : "";
  const limit = String(endpoint.pagination?.max_limit ?? "");
  return `let url = ${JSON.stringify(`${BASE}${endpoint.path}.json?limit=${limit}`)};
const rows = [];
while (url) {
  const response = await fetch(url${options});
  if (!response.ok) throw new Error((await response.json()).detail);
  const page = await response.json();
  rows.push(...${endpoint.pagination?.response === "envelope" ? "page.items" : "page"});
  const next = /<([^>]*)>; rel="next"/.exec(response.headers.get("Link") ?? "")?.[1];
  url = next && new URL(next, url).href;
}`;
}

/** The same in Python. */
export function allPagesPython(endpoint: CatalogueEndpoint): string {
  const hasKey = headersOf(endpoint);
  const limit = String(endpoint.pagination?.max_limit ?? "");
  return `${hasKey ? "import os\n" : ""}from urllib.parse import urljoin
import requests

url = ${JSON.stringify(`${BASE}${endpoint.path}?limit=${limit}`)}
rows = []
while url:
    response = requests.get(url,${hasKey ? ' headers={"X-API-Key": os.environ["API_KEY"]},' : ""} timeout=30)
    response.raise_for_status()
    rows += response.json()${endpoint.pagination?.response === "envelope" ? '["items"]' : ""}
    following = response.links.get("next", {}).get("url")
    url = following and urljoin(url, following)`;
}

/** A table in pandas; public rows need no key. */
export function pandasOf(endpoint: CatalogueEndpoint): string {
  const address = JSON.stringify(`${BASE}${endpoint.path}.csv`);
  const options = headersOf(endpoint) ? ', storage_options={"X-API-Key": os.environ["API_KEY"]}' : "";
  return `${headersOf(endpoint) ? "import os\n" : ""}import pandas as pd

rows = pd.read_csv(${address}${options})`;
}

/** A Singer tap of an endpoint: it prints the schema, and a record for each row of all pages. */
export function singerOf({ path, tier, columns, pagination, resource }: CatalogueEndpoint): string {
  const limit = pagination === null ? "" : `?limit=${String(pagination.max_limit)}`;
  const properties = Object.fromEntries(columns.map(({ name }) => [name, {}]));
  const headers = tier === "tier0" ? "{}" : '{"X-API-Key": os.environ["API_KEY"]}';
  return `import json, os, re
from urllib.parse import urljoin
from urllib.request import Request, urlopen

stream = ${JSON.stringify(resource)}
schema = {"properties": ${JSON.stringify(properties)}}
print(json.dumps({"type": "SCHEMA", "stream": stream, "schema": schema, "key_properties": []}))
url = ${JSON.stringify(`${BASE}${path}.ndjson${limit}`)}
while url:
    with urlopen(Request(url, headers=${headers}), timeout=30) as response:
        for line in response:
            print(json.dumps({"type": "RECORD", "stream": stream, "record": json.loads(line)}))
        following = re.search('<([^>]*)>; rel="next"', response.headers.get("Link", ""))
        url = following and urljoin(url, following[1])`;
}

/** A pipeline of dlt that loads all pages of an endpoint. */
export function dltOf({ path, tier, pagination, resource }: CatalogueEndpoint): string {
  const limit = pagination === null ? "" : `, "params": {"limit": ${String(pagination.max_limit)}}`;
  const selector = pagination?.response === "envelope" ? ', "data_selector": "items"' : "";
  const hasKey = tier !== "tier0";
  const headers = hasKey ? ', "headers": {"X-API-Key": os.environ["API_KEY"]}' : "";
  return `${hasKey ? "import os\n" : ""}import dlt
from dlt.sources.rest_api import rest_api_source

source = rest_api_source({
    "client": {"base_url": ${JSON.stringify(BASE)}, "paginator": "header_link"${headers}},
    "resources": [
        {"name": ${JSON.stringify(resource)}, "endpoint": {"path": ${JSON.stringify(path.slice(1))}${limit}${selector}}},
    ],
})
dlt.pipeline("api", destination="duckdb").run(source)`;
}
