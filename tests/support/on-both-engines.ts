const within = (folder: string) => (name: string) => `tests/${folder}/${name}.test.ts`;
const http = within("core/http");
const request = within("core/request");
const handler = within("core/handler");
const response = within("core/response");

/** Suites that run on both engines. */
export const ON_BOTH_ENGINES: readonly string[] = [
  ...[
    "bodies",
    "column-filters",
    "filter",
    "filters",
    "injection",
    "own-rows",
    "pages",
    "random-filters",
  ].map(request),
  ...["sorting", "undeclared-columns"].map(request),
  ...["column-names", "methods", "parameter-examples", "properties", "too-large"].map(handler),
  ...["addresses", "changes-without-build", "cursors", "cursors-while-rebuilt", "formats"].map(response),
  ...["freed-memory", "parts", "paused-readers", "random-changes", "require-fresh"].map(response),
  ...["data-quality", "last-load"].map(response),
  ...["hits", "revalidation"].map(response),
  ...["served-values", "streaming", "tables"].map(response),
  "tests/core/warehouse/mute-name-server.test.ts",
  "tests/core/tenants/tenants.test.ts",
  "tests/core/warehouse/busy-process.test.ts",
  "tests/core/warehouse/health-checks.test.ts",
  "tests/metrics/array-dimensions.test.ts",
  "tests/metrics/conversions.test.ts",
  "tests/metrics/custom-grains.test.ts",
  "tests/metrics/custom-offsets.test.ts",
  "tests/metrics/date-parts.test.ts",
  "tests/metrics/far-joins.test.ts",
  "tests/metrics/filters-by-result.test.ts",
  "tests/metrics/filter.test.ts",
  "tests/metrics/forms-of-callers.test.ts",
  "tests/metrics/large-numbers.test.ts",
  "tests/metrics/ossie/tpcds.test.ts",
  "tests/metrics/pages.test.ts",
  "tests/metrics/readiness.test.ts",
  "tests/metrics/roll-ups.test.ts",
  "tests/metrics/totals-of-types.test.ts",
  "tests/metrics/weeks-on-spine.test.ts",
  "tests/verify/roll-ups.test.ts",
  "tests/suggest/roll-ups.test.ts",
  "tests/commands/columns.test.ts",
  "tests/commands/prototype-names.test.ts",
  "tests/server/system/endpoints.test.ts",
  "tests/server/system/values.test.ts",
  "tests/server/system/facets.test.ts",
  "tests/server/system/chart.test.ts",
  "tests/dbt/while-dbt-runs.test.ts",
  "tests/pages/explorer/every-chart.test.ts",
  "tests/server/mcp/summaries.test.ts",
  "tests/server/odata/rows.test.ts",
  "tests/server/odata/apply.test.ts",
  "tests/server/odata/changing-rows.test.ts",
  "tests/server/odata/left-streams.test.ts",
  "tests/server/odata/batch.test.ts",
  "tests/server/odata/refusals.test.ts",
  "tests/diff/oracle/oracle.test.ts",
  "tests/diff/oracle/type-square.test.ts",
];

/**
 * Quick ones that only the rest runs on ClickHouse: they take four fifths of its time, and what they find there the others and
 * `tests/clickhouse` mostly find too.
 */
export const LATER_ON_CLICKHOUSE: readonly string[] = [
  ...["column-filters", "filter", "own-rows"].map(request),
  ...["cursors", "data-quality", "hits", "parts", "revalidation", "served-values"].map(response),
  ...["filter", "readiness", "totals-of-types"].map(within("metrics")),
  ...["chart", "endpoints"].map(within("server/system")),
  ...["changing-rows", "refusals", "rows"].map(within("server/odata")),
];

const BEFORE_A_QUERY = "decided before a query: the engine takes no part";
const CONNECTIONS = "about connections of clients: the engine takes no part";
const HEADERS = "about headers and malformed requests: the engine takes no part";
const RELEASES = "about the files of a release: the engine takes no part";
const TYPES = "about PostgreSQL's types; ClickHouse's are in tests/clickhouse/values.test.ts";
const FAULT =
  "breaks PostgreSQL's own connections; tests/clickhouse/faults.test.ts and safety.test.ts break ClickHouse";
const ABOVE = "about what stands above the engines";
const CACHES = "about the headers of responses and caches before the server: the engine takes no part";
const QUEUE = "holds queries by a PostgreSQL lock; the queue stands above the engines";

/** The other suites of those folders, each with its reason. */
export const ON_POSTGRES_ONLY: Readonly<Record<string, string>> = {
  "tests/core/response/failed-compression.test.ts": "whole responses, compressed above the engines",
  "tests/server/release/refresher.test.ts": "refreshes, which ask no database",
  "tests/core/response/abandoned-queries.test.ts":
    "holds a look-up of PostgreSQL back; who joins a query stands above the engines",
  ...reason(CONNECTIONS, ["crowds", "file-descriptors", "framing", "graceful-shutdown", "nginx"].map(http)),
  ...reason(
    CONNECTIONS,
    ["oversized", "pipelines", "slow-senders", "ten-thousand", "unfinished-bodies"].map(http),
  ),
  ...reason(HEADERS, ["cors", "headers", "malformed", "public-address", "spans", "traces"].map(http)),
  ...reason(HEADERS, ["forwarded-headers"].map(http)),
  [http("slow-readers")]: "memory of responses above the engines; streaming.test.ts reads slowly from both",
  ...reason(
    BEFORE_A_QUERY,
    ["accepted-values", "bearer-tokens", "keyring", "keys", "required-filters"].map(request),
  ),
  ...reason(
    BEFORE_A_QUERY,
    [
      "costly-requests",
      "hostile-filters",
      "hostile-issuers",
      "rate-limits",
      "running-server",
      "unknown-keys",
    ].map(request),
  ),
  [handler("deprecation")]: BEFORE_A_QUERY,
  ...reason(
    "serve the starter, whose models are PostgreSQL's",
    ["document-examples", "documented-answers", "documented-defaults"].map(handler),
  ),
  [handler("hidden-successors")]: BEFORE_A_QUERY,
  ...reason(FAULT, ["errors-behind", "failures", "replica"].map(handler)),
  [handler("former-paths")]: "a former path has the handler of the new one: no query differs",
  [handler("problem-details")]: BEFORE_A_QUERY,
  [response("lagging-replica")]: "a replica of PostgreSQL",
  [handler("versions")]: "a version is an endpoint of its own: no query differs",
  [handler("query-method")]: "QUERY is POST by another method: no query differs",
  [handler("metrics")]: "counts requests: the engine takes no part",
  [handler("schemathesis")]:
    "reads the OpenAPI document; properties.test.ts sends random requests to both engines",
  ...reason(ABOVE, ["answers", "cancelled", "response-memory"].map(response)),
  ...reason(TYPES, ["numbers", "python-readers"].map(response)),
  ...reason(CACHES, ["caching-headers", "shared-caches", "verify-cache"].map(response)),
  [response("stream-limits")]: QUEUE,
  ...reason(
    RELEASES,
    ["adapter", "damaged-folder", "damaged-installation", "schema-numbers"].map(within("server/release")),
  ),
  [within("server/release")("copies")]: "serves a copy from both engines itself",
  ...reason(BEFORE_A_QUERY, ["document-limit", "operators"].map(within("server/system"))),
  ...reason(
    ABOVE,
    ["bounded-cache", "floods", "name-lookup", "outbound", "recent-metrics", "timers"].map(http),
  ),
  [within("server/system")("values-crowd")]:
    "counts queries in PostgreSQL; who shares one is decided above the engines",
  [within("server/release")("generated-handler")]: "mounts one handler in Express: the engine takes no part",
};

function reason(text: string, suites: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(suites.map((suite) => [suite, text]));
}
