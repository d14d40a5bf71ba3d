const dataApi = (name: string): string => `tests/data-api/${name}.test.ts`;
const hostile = (name: string): string => `tests/hostile/${name}.test.ts`;
const faults = (name: string): string => `tests/faults/${name}.test.ts`;

/** Suites that run on both engines. */
export const ON_BOTH_ENGINES: readonly string[] = [
  ...[
    ...[
      "addresses",
      "bodies",
      "column-filters",
      "cursors",
      "cursors-while-rebuilt",
      "filters",
      "formats",
      "headers",
      "injection",
      "malformed",
      "own-rows",
    ],
    ...[
      "methods",
      "pages",
      "parts",
      "properties",
      "required-filters",
      "revalidation",
      "sorting",
      "streaming",
      "system",
    ],
    ...["tables", "traces"],
  ].map(dataApi),
  ...["costly-requests", "tunnels"].map(hostile),
  "tests/dbt/while-dbt-runs.test.ts",
  "tests/mcp/summaries.test.ts",
  "tests/diff/oracle/oracle.test.ts",
];

const BEFORE_A_QUERY = "decided before a query: the engine takes no part";
const TYPES =
  "about PostgreSQL's types; ClickHouse's are in tests/clickhouse/values.test.ts and special-values.ts";
const FAULT =
  "breaks PostgreSQL's own connections; tests/clickhouse/faults.test.ts and safety.test.ts break ClickHouse";
const QUEUE = "holds queries by a PostgreSQL lock; the queue stands above the engines";

/** The other suites of those folders, each with its reason. */
export const ON_POSTGRES_ONLY: Readonly<Record<string, string>> = {
  "tests/data-api/former-paths.test.ts": "A former path has the handler of the new one; no query differs.",
  [dataApi("accepted-values")]: BEFORE_A_QUERY,
  [dataApi("against-psql")]:
    "compares with psql; tests/clickhouse/against-client.test.ts compares with ClickHouse",
  [dataApi("columns")]: TYPES,
  [dataApi("deprecation")]: BEFORE_A_QUERY,
  [dataApi("documented-defaults")]: "serves the starter, whose models are PostgreSQL's",
  [dataApi("every-type")]: TYPES,
  [dataApi("failures")]: FAULT,
  [dataApi("generated-handler")]: "mounts one handler in Express: the engine takes no part",
  [dataApi("keys")]: BEFORE_A_QUERY,
  [dataApi("metrics")]: "counts requests: the engine takes no part",
  [dataApi("numbers")]: TYPES,
  [dataApi("python-readers")]: TYPES,
  [dataApi("rate-limits")]: BEFORE_A_QUERY,
  [dataApi("schemathesis")]:
    "reads the OpenAPI document; properties.test.ts sends random requests to both engines",
  [dataApi("tokens")]: BEFORE_A_QUERY,
  [dataApi("typed-filters")]: TYPES,
  [dataApi("values")]: TYPES,
  [hostile("crowds")]: BEFORE_A_QUERY,
  [hostile("framing")]: BEFORE_A_QUERY,
  [hostile("oversized")]: BEFORE_A_QUERY,
  [hostile("pipelines")]: BEFORE_A_QUERY,
  [hostile("slow-readers")]:
    "memory of responses above the engines; streaming.test.ts reads slowly from both",
  [hostile("slow-senders")]: BEFORE_A_QUERY,
  [hostile("ten-thousand")]: BEFORE_A_QUERY,
  [hostile("unknown-keys")]: BEFORE_A_QUERY,
  [hostile("varied-filters")]: "about PostgreSQL's prepared statements, which ClickHouse does not keep",
  [faults("answer-memory")]: "memory of responses above the engines",
  [faults("disk-full")]: "about the spool, which stands above the engines",
  [faults("fairness")]: QUEUE,
  [faults("file-descriptors")]: "about connections of clients: the engine takes no part",
  [faults("lost-connections")]: FAULT,
  [faults("nginx")]: "about the proxy: the engine takes no part",
  [faults("pgbouncer")]: "about PgBouncer",
  [faults("primary")]: "about the primary process of workers: the engine takes no part",
  [faults("stream-limits")]: QUEUE,
};
