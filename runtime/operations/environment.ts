import type { TokenSettings } from "../request/bearer-tokens.js";
import type { Keyring } from "../request/keyring.js";
import { clickhouseAddress } from "../model/clickhouse-address.js";
import { type PerTier, type Tier, RATE_LIMITS, TIERS } from "../model/tier.js";
import { clientAddress, type ClientAddress } from "../http/headers.js";
import {
  generationOf,
  type GenerationEnvironment,
  runResultsOf,
  SECRETS_KEY_EXPECTED,
  secretsKey,
  tokenSettings,
  Variables,
} from "./variables.js";
import { watchedKeysFile, readKeys } from "./key-file-watcher.js";
const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;

/** The validated settings of the environment variables (runtime/docs/settings.md). */
export interface Environment extends GenerationEnvironment {
  /** PostgreSQL; null: the embedded one, where one is needed. */
  readonly databaseUrl: string | null;
  /** The ClickHouse that the data API reads; null: it reads PostgreSQL. */
  readonly clickhouseUrl: string | null;
  /** Redis in which all processes count rate limits; null: each process counts its own. */
  readonly redisUrl: string | null;
  /** Whether breaking and exposing changes are held back at refresh (runtime/docs/refresh.md). */
  readonly refreshGuard: boolean;
  /** File or address of dbt's `run_results.json`; null: build times are unknown. */
  readonly runResults: string | null;
  readonly keys: Keyring;
  /** The key file, whose changes take effect in a running server; null: the keys are in `API_KEYS`. */
  readonly keysFile: string | null;
  /** The issuer of JWTs that are accepted like keys; null: none. */
  readonly tokens: TokenSettings | null;
  /** Requests per minute by the caller's tier. */
  readonly rateLimits: Readonly<PerTier<number>>;
  readonly host: string;
  readonly port: number;
  readonly addressOf: ClientAddress;
  /** By the caller's tier; 0: no limit. */
  readonly statementTimeoutMs: Readonly<PerTier<number>>;
  /** Rows that a query may read in ClickHouse, by the caller's tier; 0: no limit. */
  readonly maxRowsRead: Readonly<PerTier<number>>;
  /** Connections for buffered results, per process. */
  readonly databasePoolSize: number;
  /** Connections for streams, per process. */
  readonly databaseStreamPoolSize: number;
  /** Streams that one caller may read at a time, per process. */
  readonly streamsPerCaller: number;
  /** Time limit of a stream, by the caller's tier; 0: no limit. */
  readonly streamTimeoutMs: Readonly<PerTier<number>>;
  /** Disk space for rows that streams have read ahead of their clients, per process; 0: none. */
  readonly streamSpoolMegabytes: number;
  /** Memory for responses that clients have not read yet, per process. */
  readonly answerMemoryMegabytes: number;
  /** Lifetime of cached results without a known version; 0: no cache. */
  readonly cacheTtlSeconds: number;
  /** Memory for cached results. */
  readonly cacheMaxMegabytes: number;
  /** Whether CSV cells that a spreadsheet would run as a formula get an apostrophe. */
  readonly csvEscapeFormulas: boolean;
  /** Signs cursors: 32 bytes; null: a random key of the server. */
  readonly cursorKey: Buffer | null;
  readonly logLevel: (typeof LOG_LEVELS)[number];
  readonly metricsPublic: boolean;
  /** Whether documents list every endpoint, or only those that the caller may call. */
  readonly catalogue: "public" | "allowed";
  /** The lowest tier that sees names of upstream nodes in the catalogue; null: none. */
  readonly lineageTier: Tier | null;
  /** Whether usage is recorded in the database. */
  readonly usageEnabled: boolean;
  readonly rampPort: number;
  /** Null: the data API's. */
  readonly rampDatabaseUrl: string | null;
  /** Public address of the ramp, without a trailing slash; null: the address it listens on. */
  readonly rampPublicUrl: string | null;
  /** 32 bytes; null: a generated key beside the embedded database. */
  readonly rampSecretsKey: Buffer | null;
  /** Requests a minute. */
  readonly rampLimits: {
    readonly perCustomer: number;
    readonly perProject: number;
    readonly perAddress: number;
    readonly failedLoginsPerAddress: number;
  };
  readonly rampIntentLifetimeSeconds: number;
  /** How long events, deliveries and provider answers are kept. */
  readonly rampRetentionDays: number;
  /** How long the order of an ended intent is looked up. */
  readonly rampFollowUpDays: number;
  /** Keys from before or after a rotation: used for decryption only. */
  readonly rampOtherSecretsKeys: readonly Buffer[];
}

export type EnvironmentResult =
  | {
      readonly ok: true;
      readonly environment: Environment;
      /** Names of all variables that are settings. */
      readonly names: ReadonlySet<string>;
    }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads all variables. Reports every invalid one, not only the first. */
export function readEnvironment(source: Readonly<Record<string, string | undefined>>): EnvironmentResult {
  const variables = new Variables(source);
  const environment: Environment = {
    ...generationOf(variables),
    ...databaseUrls(variables),
    redisUrl: variables.parsed("REDIS_URL", null, "a redis:// or rediss:// address", redisAddress),
    refreshGuard: variables.oneOf("REFRESH_GUARD", "false", ["true", "false"]) === "true",
    runResults: runResultsOf(variables),
    keys: readKeys(variables),
    keysFile: watchedKeysFile(variables),
    tokens: tokenSettings(variables),
    rateLimits: variables.parsed("RATE_LIMITS", RATE_LIMITS, RATE_LIMITS_EXPECTED, readRateLimits),
    host: variables.text("HOST") ?? "127.0.0.1",
    port: variables.whole("PORT", 8000, { min: 0, max: 65_535 }),
    addressOf: variables.parsed("TRUST_PROXY", clientAddress("false"), TRUST_EXPECTED, trustProxy),
    statementTimeoutMs: variables.parsed(
      "STATEMENT_TIMEOUT_MS",
      DEFAULT_TIMEOUTS,
      TIMEOUTS_EXPECTED,
      (text) => readTimeouts(text),
    ),
    maxRowsRead: maxRowsRead(variables),
    databasePoolSize: variables.whole("DATABASE_POOL_SIZE", 10, { min: 1, max: 1000 }),
    databaseStreamPoolSize: variables.whole("DATABASE_STREAM_POOL_SIZE", 4, { min: 1, max: 1000 }),
    streamsPerCaller: variables.whole("STREAMS_PER_CALLER", 2, { min: 1, max: 1000 }),
    streamTimeoutMs: variables.parsed(
      "STREAM_TIMEOUT_MS",
      DEFAULT_STREAM_TIMEOUTS,
      TIMEOUTS_EXPECTED,
      (text) => readTimeouts(text, DEFAULT_STREAM_TIMEOUTS),
    ),
    streamSpoolMegabytes: variables.whole("STREAM_SPOOL_MEGABYTES", 1024, { min: 0, max: 1_048_576 }),
    answerMemoryMegabytes: variables.whole("ANSWER_MEMORY_MEGABYTES", 256, { min: 16, max: 65_536 }),
    cacheTtlSeconds: variables.whole("CACHE_TTL_SECONDS", 0, { min: 0, max: 31_536_000 }),
    cacheMaxMegabytes: variables.whole("CACHE_MAX_MEGABYTES", 64, { min: 1, max: 65_536 }),
    csvEscapeFormulas: variables.oneOf("CSV_ESCAPE_FORMULAS", "false", ["true", "false"]) === "true",
    cursorKey: variables.parsed("CURSOR_KEY", null, SECRETS_KEY_EXPECTED, secretsKey),
    logLevel: variables.oneOf("LOG_LEVEL", "info", LOG_LEVELS),
    metricsPublic: variables.oneOf("METRICS_PUBLIC", "false", ["true", "false"]) === "true",
    catalogue: variables.oneOf("CATALOGUE", "public", ["public", "allowed"]),
    lineageTier: noneOr(variables.oneOf("LINEAGE_TIER", "tier1", [...TIERS, "none"])),
    usageEnabled: variables.oneOf("USAGE_ENABLED", "true", ["true", "false"]) === "true",
    rampPort: variables.whole("RAMP_PORT", 8001, { min: 0, max: 65_535 }),
    rampDatabaseUrl: variables.parsed("RAMP_DATABASE_URL", null, "a postgres:// address", postgresAddress),
    rampPublicUrl: variables.parsed("RAMP_PUBLIC_URL", null, "an http:// or https:// address", publicUrl),
    rampLimits: {
      perCustomer: variables.whole("RAMP_CUSTOMER_LIMIT", 120, { min: 1, max: 1_000_000 }),
      perProject: variables.whole("RAMP_PROJECT_LIMIT", 600, { min: 1, max: 1_000_000 }),
      perAddress: variables.whole("RAMP_ADDRESS_LIMIT", 600, { min: 1, max: 1_000_000 }),
      failedLoginsPerAddress: variables.whole("RAMP_FAILED_LOGIN_LIMIT", 60, { min: 1, max: 1_000_000 }),
    },
    rampRetentionDays: variables.whole("RAMP_RETENTION_DAYS", 90, { min: 1, max: 3_650 }),
    rampFollowUpDays: variables.whole("RAMP_FOLLOW_UP_DAYS", 60, { min: 1, max: 3_650 }),
    rampIntentLifetimeSeconds: variables.whole("RAMP_INTENT_LIFETIME_SECONDS", 86_400, {
      min: 60,
      max: 2_592_000,
    }),
    rampSecretsKey: variables.parsed("RAMP_SECRETS_KEY", null, SECRETS_KEY_EXPECTED, secretsKey),
    rampOtherSecretsKeys: variables.parsedList("RAMP_OTHER_SECRETS_KEYS", SECRETS_KEY_EXPECTED, secretsKey),
  };
  const { problems } = variables;
  return problems.length > 0 ? { ok: false, problems } : { ok: true, environment, names: variables.names };
}

function noneOr(tier: Tier | "none"): Tier | null {
  return tier === "none" ? null : tier;
}

const DATABASE_EXPECTED =
  "a postgres://, clickhouse:// or clickhouses:// address of one server; a password with special characters must be percent-encoded";

/** `DATABASE_URL` is the database of the models; `CLICKHOUSE_URL` is theirs where `DATABASE_URL` is PostgreSQL for the rest. */
function databaseUrls(variables: Variables): Pick<Environment, "databaseUrl" | "clickhouseUrl"> {
  const parse = (text: string): string | null => postgresAddress(text) ?? clickhouseUrl(text);
  const url = variables.parsed("DATABASE_URL", null, DATABASE_EXPECTED, parse);
  const own = variables.parsed(
    "CLICKHOUSE_URL",
    null,
    "a clickhouse:// or clickhouses:// address of one server",
    clickhouseUrl,
  );
  if (url === null || postgresAddress(url) !== null) return { databaseUrl: url, clickhouseUrl: own };
  if (own !== null)
    variables.problems.push(
      "DATABASE_URL and CLICKHOUSE_URL are both ClickHouse addresses: set one of them.",
    );
  return { databaseUrl: null, clickhouseUrl: url };
}

/** PostgreSQL's estimates are of rows returned, not of rows read. */
function maxRowsRead(variables: Variables): Readonly<PerTier<number>> {
  const none = forAll(0);
  const limits = variables.parsed("MAX_ROWS_READ", none, ROWS_READ_EXPECTED, (text) =>
    readTimeouts(text, none),
  );
  const isClickhouse = ["DATABASE_URL", "CLICKHOUSE_URL"].some(
    (name) => clickhouseUrl(variables.text(name) ?? "") !== null,
  );
  if (!isClickhouse && Object.values(limits).some((limit) => limit > 0))
    variables.problems.push("MAX_ROWS_READ needs a clickhouse:// address in DATABASE_URL or CLICKHOUSE_URL.");
  return limits;
}

const ROWS_READ_EXPECTED =
  "a number of rows from 0 to 2147483647, or such numbers by tier, as in tier0=1000000,tier3=0";

function clickhouseUrl(text: string): string | null {
  return clickhouseAddress(text) === null ? null : text;
}

function postgresAddress(text: string): string | null {
  return /^postgres(ql)?:\/\//.test(text) && URL.canParse(text) ? text : null;
}

/** The path, if any, is the number of a database. */
function redisAddress(text: string): string | null {
  return /^rediss?:\/\/[^/?#]+(\/\d*)?$/.test(text) && URL.canParse(text) ? text : null;
}

/** An origin, and a path where a proxy serves the ramp below one. */
function publicUrl(text: string): string | null {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return null;
  const { origin, pathname, search, hash, username, password } = new URL(text);
  const isPlain = search === "" && hash === "" && username === "" && password === "";
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

/** Expected form of `STATEMENT_TIMEOUT_MS`, for messages. */
const TIMEOUTS_EXPECTED =
  "a number of milliseconds from 0 to 2147483647, or such numbers by tier, as in tier0=5000,tier3=60000";

const MAX_MS = 2_147_483_647;
const DEFAULT_MS = 30_000;

const DEFAULT_TIMEOUTS = forAll(DEFAULT_MS);

/** Defaults of `STREAM_TIMEOUT_MS`: higher tiers may read longer results. */
const DEFAULT_STREAM_TIMEOUTS: PerTier<number> = {
  tier0: 600_000,
  tier1: 1_200_000,
  tier2: 1_800_000,
  tier3: 3_600_000,
};

/** Expected form of `RATE_LIMITS`, for messages. */
const RATE_LIMITS_EXPECTED =
  "a number of requests per minute from 1 to 2147483647, or such numbers by tier, as in tier0=60,tier3=20000";

function readRateLimits(text: string): PerTier<number> | null {
  const limits = readTimeouts(text, RATE_LIMITS);
  return limits === null || Object.values(limits).includes(0) ? null : limits;
}

/** Reads one number for all tiers, or numbers by tier; null when the text is neither. */
function readTimeouts(
  text: string,
  defaults: Readonly<PerTier<number>> = DEFAULT_TIMEOUTS,
): PerTier<number> | null {
  const single = millisecondsOf(text);
  if (single !== null) return forAll(single);
  const timeouts: PerTier<number> = { ...defaults };
  for (const part of text.split(",")) {
    const [name, number = "", ...more] = part.split("=").map((side) => side.trim());
    const tier = TIERS.find((each) => each === name);
    const milliseconds = millisecondsOf(number);
    if (tier === undefined || milliseconds === null || more.length > 0) return null;
    timeouts[tier] = milliseconds;
  }
  return timeouts;
}

function forAll(milliseconds: number): PerTier<number> {
  return { tier0: milliseconds, tier1: milliseconds, tier2: milliseconds, tier3: milliseconds };
}

function millisecondsOf(text: string): number | null {
  const number = /^\d{1,10}$/.test(text) ? Number(text) : Infinity;
  return number <= MAX_MS ? number : null;
}
