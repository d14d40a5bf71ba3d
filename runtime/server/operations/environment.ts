import {
  checkedAddress,
  clickhouseUrl,
  commonSettings,
  publicAddress,
} from "../../core/environment/common.js";
import {
  readVariables,
  SECRETS_KEY_EXPECTED,
  parseSecretsKey,
  type Variables,
} from "../../core/environment/variables.js";
import { postgresAddressProblem } from "../../core/model/postgres-address.js";
import { SERVER_DEFAULTS } from "../../core/model/limits.js";
import { QUOTA_UNITS } from "../../core/model/organization-plan.js";
import { isFetchable } from "../../core/model/store-address.js";
import { type PerTier, type Tier, RATE_LIMITS, TIERS } from "../../core/model/tier.js";
import type { TokenSettings } from "../../core/request/bearer-tokens.js";
import { generationOf } from "../../core/environment/generation-environment.js";
import { watchedKeysFile, readKeys } from "./key-file-watcher.js";

/** The data API's settings from the environment variables (runtime/docs/settings.md). */
export type Environment = Readonly<ReturnType<typeof dataSettings>>;

/** Reads the variables of the data API. Reports every invalid one, not only the first. */
export function readEnvironment(source: Readonly<Record<string, string | undefined>>) {
  return readVariables(source, dataSettings);
}

export function dataSettings(variables: Variables) {
  return {
    ...generationOf(variables),
    ...commonSettings(variables),
    /** Whether breaking and exposing changes are held back at refresh (runtime/docs/refresh.md). */
    refreshGuard: variables.flag("REFRESH_GUARD", false),
    keys: readKeys(variables),
    /** The key file, whose changes take effect in a running server; null: the keys are in `API_KEYS`. */
    keysFile: watchedKeysFile(variables),
    /** PostgreSQL with further keys, which win over the same ones of the file and of `API_KEYS`; null: none. */
    keysDatabaseUrl: checkedAddress(variables, "KEYS_DATABASE_URL", postgresAddressProblem),
    /** How long keys of the database stay valid while it is away. */
    keysStaleSeconds: variables.whole("KEYS_STALE_SECONDS", 3600, { min: 0, max: 604_800 }),
    /** Where the use of organizations is sent; null: nowhere. */
    metering: meteringTarget(variables),
    /** Sign-in to the account page; null: there is none. */
    account: accountSettings(variables),
    /** The issuer of JWTs that are accepted like keys; null: none. */
    tokens: tokenSettings(variables),
    /** Requests per minute by the caller's tier. */
    rateLimits: perTier(variables, "RATE_LIMITS", RATE_LIMITS, {
      what: "requests per minute",
      min: 1,
      example: "tier0=60,tier3=20000",
    }),
    /** Documents and pages per minute and address. */
    documentRateLimit: variables.whole("DOCUMENT_RATE_LIMIT", SERVER_DEFAULTS.documentRateLimit, {
      min: 1,
      max: 1_000_000,
    }),
    port: variables.whole("PORT", 8000, { min: 0, max: 65_535 }),
    /** Public address of the data API, without a trailing slash; null: the one that a request names. */
    publicUrl: publicAddress(variables, "PUBLIC_URL"),
    /** Origins whose pages may read responses; null: all. */
    corsOrigins: corsOrigins(variables),
    /** By the caller's tier; 0: no limit. */
    statementTimeoutMs: perTier(
      variables,
      "STATEMENT_TIMEOUT_MS",
      forAll(SERVER_DEFAULTS.statementTimeoutMs),
      MILLISECONDS,
    ),
    maxRowsRead: maxRowsRead(variables),
    /** Connections for buffered results, per process. */
    databasePoolSize: variables.whole("DATABASE_POOL_SIZE", SERVER_DEFAULTS.databasePoolSize, {
      min: 1,
      max: 1000,
    }),
    /** Connections for streams, per process. */
    databaseStreamPoolSize: variables.whole(
      "DATABASE_STREAM_POOL_SIZE",
      SERVER_DEFAULTS.databaseStreamPoolSize,
      { min: 1, max: 1000 },
    ),
    /** Streams that one caller may read at a time, per process. */
    streamsPerCaller: variables.whole("STREAMS_PER_CALLER", SERVER_DEFAULTS.streamsPerCaller, {
      min: 1,
      max: 1000,
    }),
    /** Time limit of a stream, by the caller's tier; 0: no limit. */
    streamTimeoutMs: perTier(variables, "STREAM_TIMEOUT_MS", SERVER_DEFAULTS.streamTimeoutMs, MILLISECONDS),
    /** Disk space for rows that streams have read ahead of their clients, per process; 0: none. */
    streamSpoolMegabytes: variables.whole("STREAM_SPOOL_MEGABYTES", SERVER_DEFAULTS.streamSpoolMegabytes, {
      min: 0,
      max: 1_048_576,
    }),
    /** Memory for responses that clients have not read yet, per process. */
    answerMemoryMegabytes: variables.whole("ANSWER_MEMORY_MEGABYTES", SERVER_DEFAULTS.answerMemoryMegabytes, {
      min: 16,
      max: 65_536,
    }),
    /** Lifetime of cached results without a known version; 0: no cache. */
    cacheTtlSeconds: variables.whole("CACHE_TTL_SECONDS", SERVER_DEFAULTS.cacheTtlSeconds, {
      min: 0,
      max: 31_536_000,
    }),
    /** Memory for cached results. */
    cacheMaxMegabytes: variables.whole("CACHE_MAX_MEGABYTES", SERVER_DEFAULTS.cacheMaxMegabytes, {
      min: 1,
      max: 65_536,
    }),
    /** Whether CSV cells that a spreadsheet would run as a formula get an apostrophe. */
    csvEscapeFormulas: variables.flag("CSV_ESCAPE_FORMULAS", false),
    /** Whether queries of metrics are answered from roll-ups that have all that is asked. */
    rollUps: variables.flag("ROLL_UPS", true),
    /** Whether every caller gets `Server-Timing`. */
    serverTiming: variables.flag("SERVER_TIMING", false),
    /** Bearer token for the shared cache that the config file names; null: none is sent. */
    purgeToken: variables.text("PURGE_TOKEN"),
    /** Signs cursors: 32 bytes; null: a random key of the server. */
    cursorKey: variables.parsed("CURSOR_KEY", null, SECRETS_KEY_EXPECTED, parseSecretsKey),
    /** Whether `/mcp` answers requests without key or token where tokens are accepted. */
    mcpAnonymous: variables.flag("MCP_ANONYMOUS", false),
    /** Whether documents list every endpoint, or only those that the caller may call. */
    catalogue: variables.oneOf("CATALOGUE", "public", ["public", "allowed"]),
    /** The lowest tier that sees names of upstream nodes in the catalogue; null: none. */
    lineageTier: noneOr(variables.oneOf("LINEAGE_TIER", "tier1", [...TIERS, "none"])),
    /** Clients that may wait for events at a time, per process. */
    eventStreams: variables.whole("EVENT_STREAMS", 5000, { min: 0, max: 10_000 }),
    /** Of one caller, per process. */
    eventStreamsPerCaller: variables.whole("EVENT_STREAMS_PER_CALLER", 20, { min: 1, max: 10_000 }),
    /** Seals the secrets of subscriptions: 32 bytes; null: there are none. */
    webhookSecretsKey: variables.parsed("WEBHOOK_SECRETS_KEY", null, SECRETS_KEY_EXPECTED, parseSecretsKey),
    /** Whether events may be sent to private addresses, and by `http://`. */
    webhookAllowPrivate: variables.flag("WEBHOOK_ALLOW_PRIVATE", false),
    /** Whether usage is recorded in the database. */
    usageEnabled: variables.flag("USAGE_ENABLED", true),
    /** Whether usage has the shapes of requests. */
    usageShapes: variables.flag("USAGE_SHAPES", false),
  };
}

/** The operator names the address: it may be private, over TLS, or this machine. */
function meteringTarget(variables: Variables) {
  const expected = "an https:// address, or http:// on this machine";
  const url = variables.parsed("METERING_URL", null, expected, (text) => (isFetchable(text) ? text : null));
  const format = variables.oneOf("METERING_FORMAT", "cloudevents", ["cloudevents", "lago", "stripe"]);
  const token = variables.text("METERING_TOKEN");
  const unit = variables.oneOf("METERING_UNIT", "requests", QUOTA_UNITS);
  if (url !== null && variables.text("KEYS_DATABASE_URL") === null)
    variables.problems.push(
      "METERING_URL needs KEYS_DATABASE_URL, where the use of organizations is stored.",
    );
  return url === null ? null : { url, format, token, unit };
}

/** Without an audience, tokens that the issuer made for other services would open this one. */
function tokenSettings(variables: Variables): TokenSettings | null {
  const expected = "an https:// address, or http:// on this machine";
  const issuer = variables.parsed("API_JWT_ISSUER", null, expected, (text) =>
    isFetchable(text) ? text : null,
  );
  const audience = variables.text("API_JWT_AUDIENCE");
  const claims = {
    tier: variables.text("API_JWT_TIER_CLAIM") ?? "tier",
    org: variables.text("API_JWT_ORG_CLAIM") ?? "org",
    user: variables.text("API_JWT_USER_CLAIM") ?? "sub",
  };
  const clockSkewSeconds = variables.whole("API_JWT_CLOCK_SKEW_SECONDS", 5, { min: 0, max: 300 });
  if ((variables.text("API_JWT_ISSUER") === null) !== (audience === null))
    variables.problems.push("API_JWT_ISSUER and API_JWT_AUDIENCE need each other: set both, or neither.");
  return issuer === null || audience === null ? null : { issuer, audience, claims, clockSkewSeconds };
}

/** Not API_JWT_ISSUER, which makes `/mcp` ask for tokens and lets them call the API. */
function accountSettings(variables: Variables) {
  const expected = "an https:// address, or http:// on this machine";
  const issuer = variables.parsed("ACCOUNT_ISSUER", null, expected, (text) =>
    isFetchable(text) ? text : null,
  );
  const clientId = variables.text("ACCOUNT_CLIENT_ID");
  const clientSecret = variables.text("ACCOUNT_CLIENT_SECRET");
  const publicUrl = variables.text("PUBLIC_URL") === null ? null : publicAddress(variables, "PUBLIC_URL");
  if (issuer === null && clientId === null && clientSecret === null) return null;
  if (issuer !== null && clientId !== null && clientSecret !== null && publicUrl !== null) {
    if (variables.text("KEYS_DATABASE_URL") === null)
      variables.problems.push("ACCOUNT_ISSUER needs KEYS_DATABASE_URL: the account page makes keys there.");
    if (isFetchable(publicUrl)) return { issuer, clientId, clientSecret, publicUrl };
    variables.problems.push("ACCOUNT_ISSUER needs a PUBLIC_URL with https://, or http:// on this machine.");
    return null;
  }
  variables.problems.push(
    "ACCOUNT_ISSUER, ACCOUNT_CLIENT_ID, ACCOUNT_CLIENT_SECRET and PUBLIC_URL need each other for the account page: set all of them.",
  );
  return null;
}

function noneOr(tier: Tier | "none"): Tier | null {
  return tier === "none" ? null : tier;
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

const MILLISECONDS = { what: "milliseconds", min: 0, example: "tier0=5000,tier3=60000" };

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
