import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { needs } from "./needs.js";
import { LATER_ON_CLICKHOUSE, ON_BOTH_ENGINES } from "./on-both-engines.js";

/** `npm test` runs the quick ones, `npm run test:rest` the rest, `npm run test:all` both. */
export type TestSet = "quick" | "rest" | "all";

/** Test files of a folder; the folder itself, with all below it, where none is named. */
const within = (folder: string, ...names: readonly string[]): readonly string[] =>
  names.length === 0 ? [`tests/${folder}/`] : names.map((name) => `tests/${folder}/${name}.test.ts`);

/** What `npm test` leaves to the rest, by the reason: each of these files takes seconds of a processor, together they take most of the time. */
export const REST: Readonly<Record<string, readonly string[]>> = {
  "drive a browser": [
    ...within("pages/explorer", "changes", "charts", "embed", "envelope", "every-chart"),
    ...within(
      "pages/explorer",
      "explorer",
      "expression",
      "facets",
      "grouping",
      "many",
      "samples",
      "start",
      "states",
      "table",
      "trouble",
      "views",
    ),
    ...within("pages", "account", "guide", "pages", "pictures", "prototype-names", "status", "tasks"),
    ...within("ramp/hosted-pages", "pages"),
    ...within("readme", "site"),
  ],
  "run dbt or MetricFlow": [...within("dbt"), ...within("metrics/metricflow")],
  "follow the pages' commands, or install the packages and use them": [
    ...within("readme", "commands", "how-to", "traces"),
    ...within("packaging", "install", "start"),
    ...within("end-to-end", "clients", "generated-clients", "typed-client"),
    ...within("ramp/api", "clients"),
    ...within("server/odata", "clients"),
    ...within("starter", "clickhouse-copy", "copies"),
  ],
  "run the templates' pipelines and dashboards": [
    ...within("ci-templates", "publish-clients", "pull-request", "review-request", "runs", "schema"),
    ...within("packaging", "monitoring"),
    ...within("server/operations", "prometheus"),
  ],
  "start commands and servers as processes, and stop, freeze or replace them": [
    ...within("server/operations", "served", "log-output", "who-costs-what"),
    ...within("server/operations/workers"),
    ...within("server/events", "databases", "streams", "subscriptions", "under-kills"),
    ...within(
      "server/accounts",
      "metering",
      "quotas",
      "random-operators",
      "stored-keys",
      "unlucky-databases",
      "upgrade",
      "use-under-kills",
      "workers",
    ),
    ...within("server/release", "adapter", "copies", "damaged-folder", "damaged-installation"),
    ...within("watch", "config", "guard", "refresh", "serve-freshness", "serve-run-results", "watch-command"),
    ...within("postgres", "connections", "lost-connections", "outage", "swaps-under-traffic", "too-large"),
    ...within("postgres/embedded"),
    ...within("clickhouse", "changes-under-traffic", "errors-behind", "faults"),
    ...within("core/handler", "errors-behind", "replica", "too-large"),
    ...within("core/request", "running-server", "unknown-keys"),
    ...within("core/response", "answers", "lagging-replica"),
    ...within("core/warehouse", "busy-process", "fairness", "mute-database", "mute-name-server"),
    ...within("end-to-end", "secrets"),
    ...within("ddl", "at-once", "cluster", "while-served"),
    ...within("ramp/core", "secrets-in-logs"),
    ...within("ramp/database", "backup", "database-restart"),
    ...within("ramp/intents", "crash", "under-kills"),
    ...within("ramp/operator", "commands", "taken-port"),
    ...within("commands", "purge", "terminal", "unwritable"),
    ...within("render", "other-code"),
  ],
  "need a further server: a proxy, a pooler, Redis, a store of files, an identity provider": [
    ...within(
      "server/accounts",
      "account-page",
      "attacks-on-organizations",
      "attacks-on-sessions",
      "operator-events",
    ),
    ...within("artifacts", "compressed", "contract", "served", "watch"),
    ...within("core/http", "forwarded-headers", "nginx", "public-address"),
    ...within("core/request", "hostile-issuers"),
    ...within("core/request/rate-limit", "outage", "processes", "redis-store"),
    ...within("core/response", "shared-caches", "verify-cache"),
    ...within("postgres", "pgbouncer"),
    ...within("ddl", "load", "stores"),
    ...within("ramp/sign-in", "identity-providers", "issuers"),
  ],
  "compare thousands of answers with a second program, or change data at random": [
    ...within("diff/oracle"),
    ...within("core/warehouse", "against-sql", "row-formats", "rows-as-bytes"),
    ...within("core/request", "random-filters"),
    ...within("core/response", "cursors-while-rebuilt", "python-readers", "random-changes", "tables"),
    ...within("core/request", "costly-requests", "injection"),
    ...within("core/tenants"),
    ...within("diff", "aggregate-mutations"),
    ...within("lint", "arbitrary"),
    ...within(
      "metrics",
      "against-postgres",
      "every-cumulative",
      "forms-of-callers",
      "group-options",
      "roll-ups",
    ),
    ...within(
      "core/handler",
      "document-examples",
      "documented-answers",
      "parameter-examples",
      "properties",
      "schemathesis",
    ),
    ...within(
      "clickhouse",
      "against-postgres",
      "every-filter",
      "every-setting",
      "random-changes",
      "random-relations",
      "settings",
    ),
    ...within("commands", "prototype-names"),
    ...within(
      "postgres",
      "changed-columns",
      "discarded-sessions",
      "every-filter",
      "every-setting",
      "every-type",
    ),
    ...within("postgres", "random-changes", "search-path"),
    ...within(
      "ddl",
      "engine-limits",
      "exact-files",
      "freshness",
      "newer-duckdb",
      "only-passed",
      "copied-quality",
      "prototype-names",
      "random-files",
      "readers",
      "script",
      "writers",
      "wrong-input",
    ),
    ...within("render", "kept", "known-entries", "random"),
    ...within("suggest", "roll-ups"),
    ...within("verify", "aggregates", "roll-ups"),
    ...within("server/mcp", "apps", "conformance"),
    ...within("ramp/api", "schemathesis"),
    ...within("ramp/providers/conformance"),
    ...within("ramp/simulation"),
  ],
  "measure memory, or hold thousands of connections": [
    ...within("server/system", "values-crowd"),
    ...within("core/http", "crowds", "file-descriptors", "floods", "slow-readers", "ten-thousand"),
    ...within("core/warehouse", "chosen-statements"),
    ...within("postgres", "varied-filters"),
    ...within(
      "core/response",
      "freed-memory",
      "paused-readers",
      "response-memory",
      "stream-limits",
      "streaming",
    ),
  ],
  "walk through the ramp from end to end, each in a database of its own, or wait for its time limits": [
    ...within(
      "ramp/intents",
      "deposit-crashes",
      "deposits",
      "joint",
      "late-prices",
      "many-projects",
      "new-prices",
      "refunds",
      "refusals",
      "requirements",
      "travel-rule",
    ),
    ...within("ramp/operator", "housekeeping", "operators"),
    ...within("ramp/sandbox", "clock", "magic-amounts"),
    ...within("ramp/api", "document-limit", "erasure", "forwarded-headers", "integration"),
    ...within("ramp/core", "clock"),
    ...within("ramp/database", "restored-events", "settings", "silent-connections", "store"),
    ...within("ramp/providers", "templates", "wrong-messages"),
    ...within("ramp/webhooks", "feed", "hostile-receivers", "order", "slow-names"),
  ],
};

const tests = fileURLToPath(new URL("..", import.meta.url));

const TEST_FILES: readonly string[] = readdirSync(tests, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".test.ts"))
  .map((file) => `tests/${file.replaceAll("\\", "/")}`)
  .sort();

/** Test files that some of REST's paths name. */
export function namedBy(paths: readonly string[]): readonly string[] {
  const isNamed = (file: string) => (path: string) =>
    path.endsWith("/") ? file.startsWith(path) : file === path;
  return TEST_FILES.filter((file) => paths.some(isNamed(file)));
}

/** Test files of a set. */
export function filesOf(set: TestSet): readonly string[] {
  if (set === "all") return TEST_FILES;
  const rest = new Set(namedBy(Object.values(REST).flat()));
  return TEST_FILES.filter((file) => rest.has(file) === (set === "rest"));
}

/** Of the suites that run on both engines, those that a set runs on ClickHouse. */
export function filesOnClickhouse(set: TestSet): readonly string[] {
  const files = filesOf(set);
  const isLater = (file: string): boolean => LATER_ON_CLICKHOUSE.includes(file);
  return ON_BOTH_ENGINES.filter((file) =>
    set === "quick"
      ? files.includes(file) && !isLater(file)
      : files.includes(file) || (set === "rest" && isLater(file)),
  );
}

/** What a run of a set ends with: what ran, and what it left out. */
export function summaryOf(set: TestSet, hasClickhouse = needs("libchdb.so", "python3")): string {
  const files = filesOf(set);
  const onClickhouse = hasClickhouse
    ? `and ${String(filesOnClickhouse(set).length)} on ClickHouse too`
    : "none on ClickHouse, which is not installed";
  const ran = `Ran ${String(files.length)} of ${String(TEST_FILES.length)} test files, ${onClickhouse}.`;
  if (set !== "quick") return ran;
  const reasons = Object.entries(REST).map(
    ([reason, paths]) => `${String(namedBy(paths).length).padStart(4)} that ${reason}`,
  );
  const left = TEST_FILES.length - files.length;
  const later = hasClickhouse
    ? [`${String(LATER_ON_CLICKHOUSE.length).padStart(4)} of those that ran, on ClickHouse`]
    : [];
  return [ran, `\`npm run test:all\` adds ${String(left)}:`, ...reasons, ...later].join("\n");
}
