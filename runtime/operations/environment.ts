import { type Outcome, unlessFailed } from "../model/outcome.js";
import { ENCODING_HINT, postgresAddressProblem } from "../connection/postgres-address.js";
import { clickhouseAddress } from "../model/clickhouse-address.js";
import { type PerTier, type Tier, RATE_LIMITS, TIERS } from "../model/tier.js";
import { clientAddress, type ClientAddress } from "../http/headers.js";
import {
  generationOf,
  runResultsOf,
  SECRETS_KEY_EXPECTED,
  secretsKey,
  tokenSettings,
  Variables,
} from "./variables.js";
import { watchedKeysFile, readKeys } from "./key-file-watcher.js";

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;

/** The validated settings of the environment variables (runtime/docs/settings.md). */
export type Environment = Readonly<ReturnType<typeof settingsOf>>;

/** The settings, and the names of all variables that are settings. */
interface EnvironmentReading {
  readonly environment: Environment;
  readonly names: ReadonlySet<string>;
}

/** Reads all variables. Reports every invalid one, not only the first. */
export function readEnvironment(
  source: Readonly<Record<string, string | undefined>>,
): Outcome<EnvironmentReading> {
  const variables = new Variables(source);
  const environment = settingsOf(variables);
  const { problems, names } = variables;
  return unlessFailed(problems, { environment, names });
}

function settingsOf(variables: Variables) {
  return {
    ...generationOf(variables),
    ...databaseUrls(variables),
    /** Redis in which all processes count rate limits; null: each process counts its own. */
    redisUrl: variables.parsed("REDIS_URL", null, "a redis:// or rediss:// address", redisAddress),
    /** Whether breaking and exposing changes are held back at refresh (runtime/docs/refresh.md). */
    refreshGuard: variables.flag("REFRESH_GUARD", false),
    /** File or address of dbt's `run_results.json`; null: build times are unknown. */
    runResults: runResultsOf(variables),
    keys: readKeys(variables),
    /** The key file, whose changes take effect in a running server; null: the keys are in `API_KEYS`. */
    keysFile: watchedKeysFile(variables),
    /** The issuer of JWTs that are accepted like keys; null: none. */
    tokens: tokenSettings(variables),
    /** Requests per minute by the caller's tier. */
    rateLimits: perTier(variables, "RATE_LIMITS", RATE_LIMITS, {
      what: "requests per minute",
      min: 1,
      example: "tier0=60,tier3=20000",
    }),
    host: variables.text("HOST") ?? "127.0.0.1",
    port: variables.whole("PORT", 8000, { min: 0, max: 65_535 }),
    addressOf: variables.parsed("TRUST_PROXY", clientAddress("false"), TRUST_EXPECTED, trustProxy),
    /** Public address of the data API, without a trailing slash; null: the one that a request names. */
    publicUrl: variables.parsed("PUBLIC_URL", null, "an http:// or https:// address", publicUrl),
    /** Origins whose pages may read responses; null: all. */
    corsOrigins: corsOrigins(variables),
    /** By the caller's tier; 0: no limit. */
    statementTimeoutMs: perTier(variables, "STATEMENT_TIMEOUT_MS", forAll(30_000), MILLISECONDS),
    maxRowsRead: maxRowsRead(variables),
    /** Connections for buffered results, per process. */
    databasePoolSize: variables.whole("DATABASE_POOL_SIZE", 10, { min: 1, max: 1000 }),
    /** Connections for streams, per process. */
    databaseStreamPoolSize: variables.whole("DATABASE_STREAM_POOL_SIZE", 4, { min: 1, max: 1000 }),
    /** Streams that one caller may read at a time, per process. */
    streamsPerCaller: variables.whole("STREAMS_PER_CALLER", 2, { min: 1, max: 1000 }),
    /** Time limit of a stream, by the caller's tier; 0: no limit. */
    streamTimeoutMs: perTier(variables, "STREAM_TIMEOUT_MS", DEFAULT_STREAM_TIMEOUTS, MILLISECONDS),
    /** Disk space for rows that streams have read ahead of their clients, per process; 0: none. */
    streamSpoolMegabytes: variables.whole("STREAM_SPOOL_MEGABYTES", 1024, { min: 0, max: 1_048_576 }),
    /** Memory for responses that clients have not read yet, per process. */
    answerMemoryMegabytes: variables.whole("ANSWER_MEMORY_MEGABYTES", 256, { min: 16, max: 65_536 }),
    /** Lifetime of cached results without a known version; 0: no cache. */
    cacheTtlSeconds: variables.whole("CACHE_TTL_SECONDS", 0, { min: 0, max: 31_536_000 }),
    /** Memory for cached results. */
    cacheMaxMegabytes: variables.whole("CACHE_MAX_MEGABYTES", 64, { min: 1, max: 65_536 }),
    /** Whether CSV cells that a spreadsheet would run as a formula get an apostrophe. */
    csvEscapeFormulas: variables.flag("CSV_ESCAPE_FORMULAS", false),
    /** Whether every caller gets `Server-Timing`. */
    serverTiming: variables.flag("SERVER_TIMING", false),
    /** Bearer token for the shared cache that the config file names; null: none is sent. */
    purgeToken: variables.text("PURGE_TOKEN"),
    /** Signs cursors: 32 bytes; null: a random key of the server. */
    cursorKey: variables.parsed("CURSOR_KEY", null, SECRETS_KEY_EXPECTED, secretsKey),
    /** Whether `/mcp` answers requests without key or token where tokens are accepted. */
    mcpAnonymous: variables.flag("MCP_ANONYMOUS", false),
    logLevel: variables.oneOf("LOG_LEVEL", "info", LOG_LEVELS),
    metricsPublic: variables.flag("METRICS_PUBLIC", false),
    /** Whether documents list every endpoint, or only those that the caller may call. */
    catalogue: variables.oneOf("CATALOGUE", "public", ["public", "allowed"]),
    /** The lowest tier that sees names of upstream nodes in the catalogue; null: none. */
    lineageTier: noneOr(variables.oneOf("LINEAGE_TIER", "tier1", [...TIERS, "none"])),
    /** Whether usage is recorded in the database. */
    usageEnabled: variables.flag("USAGE_ENABLED", true),
    rampPort: variables.whole("RAMP_PORT", 8001, { min: 0, max: 65_535 }),
    /** Null: the data API's. */
    rampDatabaseUrl: checked(variables, "RAMP_DATABASE_URL", postgresAddressProblem),
    /** Public address of the ramp, without a trailing slash; null: the address it listens on. */
    rampPublicUrl: variables.parsed("RAMP_PUBLIC_URL", null, "an http:// or https:// address", publicUrl),
    /** Requests a minute. */
    rampLimits: {
      perCustomer: variables.whole("RAMP_CUSTOMER_LIMIT", 120, { min: 1, max: 1_000_000 }),
      perProject: variables.whole("RAMP_PROJECT_LIMIT", 600, { min: 1, max: 1_000_000 }),
      perAddress: variables.whole("RAMP_ADDRESS_LIMIT", 600, { min: 1, max: 1_000_000 }),
      failedLoginsPerAddress: variables.whole("RAMP_FAILED_LOGIN_LIMIT", 60, { min: 1, max: 1_000_000 }),
    },
    /** A file of assets and chains beside the defaults; null: none. */
    rampAssetsFile: variables.text("RAMP_ASSETS_FILE"),
    /** How long events, deliveries and provider answers are kept. */
    rampRetentionDays: variables.whole("RAMP_RETENTION_DAYS", 90, { min: 1, max: 3_650 }),
    /** How long the order of an ended intent is looked up. */
    rampFollowUpDays: variables.whole("RAMP_FOLLOW_UP_DAYS", 60, { min: 1, max: 3_650 }),
    rampIntentLifetimeSeconds: variables.whole("RAMP_INTENT_LIFETIME_SECONDS", 86_400, {
      min: 60,
      max: 2_592_000,
    }),
    /** 32 bytes; null: a generated key beside the embedded database. */
    rampSecretsKey: variables.parsed("RAMP_SECRETS_KEY", null, SECRETS_KEY_EXPECTED, secretsKey),
    /** Keys from before or after a rotation: used for decryption only. */
    rampOtherSecretsKeys: variables.parsedList("RAMP_OTHER_SECRETS_KEYS", SECRETS_KEY_EXPECTED, secretsKey),
  };
}

function noneOr(tier: Tier | "none"): Tier | null {
  return tier === "none" ? null : tier;
}

const CLICKHOUSE_EXPECTED = `a clickhouse:// or clickhouses:// address of one server. ${ENCODING_HINT}`;

const DATABASE_EXPECTED = `a postgres://, clickhouse:// or clickhouses:// address of one server. ${ENCODING_HINT}`;

function databaseProblem(text: string): string | null {
  if (/^postgres/.test(text)) return postgresAddressProblem(text);
  return clickhouseUrl(text) === null ? DATABASE_EXPECTED : null;
}

/** An address, or a problem that says what it must be. */
function checked(
  variables: Variables,
  name: string,
  problemOf: (text: string) => string | null,
): string | null {
  const text = variables.text(name);
  const problem = text === null ? null : problemOf(text);
  if (problem === null) return text;
  variables.problems.push(`${name} must be ${problem.replace(/\.$/, "")}.`);
  return null;
}

/** `DATABASE_URL` is the database of the models; `CLICKHOUSE_URL` is theirs where `DATABASE_URL` is PostgreSQL for the rest. */
function databaseUrls(variables: Variables) {
  const url = checked(variables, "DATABASE_URL", databaseProblem);
  const own = variables.parsed("CLICKHOUSE_URL", null, CLICKHOUSE_EXPECTED, clickhouseUrl);
  const isClickhouse = url !== null && clickhouseUrl(url) !== null;
  if (isClickhouse && own !== null)
    variables.problems.push(
      "DATABASE_URL and CLICKHOUSE_URL are both ClickHouse addresses: set one of them.",
    );
  return {
    /** PostgreSQL; null: the embedded one, where one is needed. */
    databaseUrl: isClickhouse ? null : url,
    /** The ClickHouse that the data API reads; null: it reads PostgreSQL. */
    clickhouseUrl: isClickhouse ? url : own,
  };
}

/** Rows that a query may read in ClickHouse, by the caller's tier; 0: no limit. PostgreSQL's estimates are of rows returned. */
function maxRowsRead(variables: Variables): Readonly<PerTier<number>> {
  const rows = { what: "rows", min: 0, example: "tier0=1000000,tier3=0" };
  const limits = perTier(variables, "MAX_ROWS_READ", forAll(0), rows);
  const isClickhouse = ["DATABASE_URL", "CLICKHOUSE_URL"].some(
    (name) => clickhouseUrl(variables.text(name) ?? "") !== null,
  );
  if (!isClickhouse && Object.values(limits).some((limit) => limit > 0))
    variables.problems.push("MAX_ROWS_READ needs a clickhouse:// address in DATABASE_URL or CLICKHOUSE_URL.");
  return limits;
}

function clickhouseUrl(text: string): string | null {
  return clickhouseAddress(text) === null ? null : text;
}

/** The path, if any, is the number of a database. */
function redisAddress(text: string): string | null {
  return /^rediss?:\/\/[^/?#]+(\/\d*)?$/.test(text) && URL.canParse(text) ? text : null;
}

/** `*`, or a list of origins. */
function corsOrigins(variables: Variables): ReadonlySet<string> | null {
  if ((variables.text("CORS_ORIGINS") ?? "*") === "*") return null;
  const expected = "an origin such as https://app.example.com, and the whole value * for all origins";
  return new Set(variables.parsedList("CORS_ORIGINS", expected, webOrigin));
}

function webOrigin(text: string): string | null {
  return /^https?:\/\//i.test(text) && URL.canParse(text) && new URL(text).href === `${new URL(text).origin}/`
    ? new URL(text).origin
    : null;
}

/** An origin, and a path where a proxy serves the API below one. */
function publicUrl(text: string): string | null {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return null;
  const { origin, pathname, search, hash, username, password } = new URL(text);
  const isPlain =
    search === "" && hash === "" && username === "" && password === "" && !pathname.includes("//");
  return isPlain ? origin + pathname.replace(/\/+$/, "") : null;
}

const TRUST_EXPECTED =
  "true, false, a number of proxies, or IP addresses and networks with commas between them";

function trustProxy(text: string): ClientAddress | null {
  try {
    return clientAddress(text);
  } catch {
    return null;
  }
}

const MILLISECONDS = { what: "milliseconds", min: 0, example: "tier0=5000,tier3=60000" };

/** Higher tiers may read longer results. */
const DEFAULT_STREAM_TIMEOUTS: PerTier<number> = {
  tier0: 600_000,
  tier1: 1_200_000,
  tier2: 1_800_000,
  tier3: 3_600_000,
};

/** One number for all tiers, or numbers by tier; those of other tiers are the defaults. */
function perTier(
  variables: Variables,
  name: string,
  defaults: Readonly<PerTier<number>>,
  { what, min, example }: { readonly what: string; readonly min: number; readonly example: string },
): Readonly<PerTier<number>> {
  const expected = `a number of ${what} from ${min} to ${MAX}, or such numbers by tier, as in ${example}`;
  const wholeOf = (text: string): number | null => {
    const number = /^\d{1,10}$/.test(text) ? Number(text) : NaN;
    return number >= min && number <= MAX ? number : null;
  };
  return variables.parsed(name, defaults, expected, (text) => {
    const single = wholeOf(text);
    if (single !== null) return forAll(single);
    const values: PerTier<number> = { ...defaults };
    for (const part of text.split(",")) {
      const [side, number = "", ...more] = part.split("=").map((each) => each.trim());
      const tier = TIERS.find((each) => each === side);
      const value = wholeOf(number);
      if (tier === undefined || value === null || more.length > 0) return null;
      values[tier] = value;
    }
    return values;
  });
}

/** Of PostgreSQL's integers, as `statement_timeout` is one. */
const MAX = 2_147_483_647;

function forAll(number: number): PerTier<number> {
  return { tier0: number, tier1: number, tier2: number, tier3: number };
}
