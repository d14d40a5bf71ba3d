/**
 * What one request owes, in the shortest code: a server of one endpoint with the keys, windows, checks, headers, entity tag,
 * log line, metrics and usage of `routewright serve`, by the same libraries. The database makes the JSON, and every request has a
 * query of its own; with BENCH_RESPONSES, results are kept by their address. Without fairness between callers, limits of time and memory, shared queries, streams, formats, refreshes.
 */
import { hash, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import pg from "pg";
import pino from "pino";
import { Counter, Histogram, Registry } from "prom-client";

const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  options: "-c TimeZone=UTC -c statement_timeout=30000 -c default_transaction_read_only=on",
});
const log = pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination({ sync: false }));
const PATH = "/v1/bench/hot";
const ROWS = "SELECT * FROM bench.hot WHERE day >= $1 ORDER BY day LIMIT $2";
const TEXT = `SELECT json_agg(t)::text AS body, count(*) AS rows FROM (${ROWS}) t`;

/** Keys by the digest of their text, as a key file has them. */
const keys = new Map(
  Object.entries(JSON.parse(process.env.API_KEYS)).map(([text, { tier, user }]) => [
    hash("sha256", text),
    { id: hash("sha256", text).slice(0, 12), tier, user },
  ]),
);
const LIMITS = { tier0: 100, tier1: 500, tier2: 1000, tier3: 10_000 };
const WINDOW_MS = 60_000;
const windows = new Map();

function hit(id, now) {
  const open = windows.get(id);
  if (open !== undefined && open.resetAt > now) {
    open.count++;
    return open;
  }
  const opened = { count: 1, resetAt: now + WINDOW_MS };
  windows.set(id, opened);
  return opened;
}

const register = new Registry();
const labels = ["route", "tier"];
const requests = new Counter({
  name: "requests_total",
  help: "Requests.",
  labelNames: [...labels, "method", "status"],
  registers: [register],
});
const durations = new Histogram({
  name: "duration_seconds",
  help: "Durations.",
  labelNames: labels,
  registers: [register],
});
const usage = new Map();

function count(day, key, rows, bytes) {
  const id = `${day} ${key} ${PATH}`;
  const sums = usage.get(id) ?? { requests: 0, rows: 0, bytes: 0 };
  sums.requests++;
  sums.rows += rows;
  sums.bytes += bytes;
  usage.set(id, sums);
}

/** The values of the query's parameters; null where one is not valid. */
function readParameters(search) {
  const fields = new URLSearchParams(search);
  const start = fields.get("start_date");
  const limit = Number(fields.get("limit") ?? 1000);
  for (const name of fields.keys())
    if ((name !== "start_date" && name !== "limit") || fields.getAll(name).length > 1) return null;
  const isDay = /^\d{4}-\d\d-\d\d$/.test(start) && new Date(start).toISOString().slice(0, 10) === start;
  return isDay && Number.isInteger(limit) && limit >= 1 && limit <= 1000 ? [start, limit] : null;
}

/** Rows by address. */
const kept = process.env.BENCH_RESPONSES === undefined ? null : new Map();

async function rowOf(url, values) {
  const known = kept?.get(url);
  if (known !== undefined) return known;
  const { rows } = await pool.query({ name: "hot", text: TEXT, values });
  kept?.set(url, rows[0]);
  return rows[0];
}

async function answer(request, response, exchange) {
  const [path, search] = request.url.split("?");
  const key = keys.get(hash("sha256", request.headers["x-api-key"] ?? ""));
  if (key === undefined) return refuse(response, exchange, 401, "The API key is not known.");
  exchange.key = key;
  const now = Date.now();
  const window = hit(key.id, now);
  const limit = LIMITS[key.tier];
  if (window.count > limit) return refuse(response, exchange, 429, "Too many requests.");
  if (path !== PATH) return refuse(response, exchange, 404, "Not found.");
  if (request.method !== "GET") return refuse(response, exchange, 405, "Method not allowed.");
  const values = readParameters(search);
  if (values === null) return refuse(response, exchange, 400, "A parameter is not valid.");
  const before = performance.now();
  const row = await rowOf(request.url, values);
  exchange.databaseMs = performance.now() - before;
  const body = row.body ?? "[]";
  const tag = `W/"${hash("sha1", body, "base64url")}"`;
  exchange.rows = Number(row.rows);
  const headers = [
    ...["X-RateLimit-Limit", String(limit), "X-RateLimit-Remaining", String(limit - window.count)],
    ...["X-RateLimit-Reset", String(Math.ceil(window.resetAt / 1000)), "X-Request-Id", exchange.id],
    ...[
      "RateLimit",
      `"minute";r=${limit - window.count};t=${Math.ceil((window.resetAt - Date.now()) / 1000)}`,
    ],
    ...["RateLimit-Policy", `"minute";q=${limit};w=60`],
    ...["Access-Control-Allow-Origin", "*", "Access-Control-Expose-Headers", EXPOSED],
    ...["Server-Timing", `database;dur=${exchange.databaseMs.toFixed(2)}`],
    ...["X-Content-Type-Options", "nosniff", "Content-Security-Policy", "default-src 'none'"],
    ...["Cache-Control", "private, no-cache", "Vary", "Accept, Accept-Encoding", "ETag", tag],
  ];
  if (request.headers["if-none-match"] === tag) return response.writeHead(304, headers).end();
  exchange.bytes = Buffer.byteLength(body);
  headers.push("Content-Type", "application/json; charset=utf-8", "Content-Length", String(exchange.bytes));
  response.writeHead(200, headers).end(body);
}

const EXPOSED =
  "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, X-Request-Id, ETag";

function refuse(response, exchange, status, detail) {
  exchange.bytes = detail.length + 13;
  response.writeHead(status, { "Content-Type": "application/json", "X-Request-Id": exchange.id });
  response.end(JSON.stringify({ detail }));
}

function record({ method }, { statusCode: status }, exchange, startedAt) {
  const { id, key, rows, bytes, databaseMs } = exchange;
  const milliseconds = Math.round((performance.now() - startedAt) * 1000) / 1000;
  const tier = key?.tier ?? "tier0";
  requests.inc({ route: PATH, tier, method, status });
  durations.observe({ route: PATH, tier }, milliseconds / 1000);
  count(new Date().toISOString().slice(0, 10), key?.id ?? "none", rows, bytes);
  log.info(
    { requestId: id, method, route: PATH, status, milliseconds, rows, bytes, databaseMs, key: key?.id, tier },
    "request",
  );
}

createServer((request, response) => {
  const startedAt = performance.now();
  const given = request.headers["x-request-id"];
  const id = /^[\w.-]{1,128}$/.test(given ?? "") ? given : randomUUID();
  const exchange = { id, key: null, rows: 0, bytes: 0, databaseMs: null };
  answer(request, response, exchange)
    .catch(() => refuse(response, exchange, 500, "The query failed."))
    .finally(() => record(request, response, exchange, startedAt));
}).listen(Number(process.env.PORT), "127.0.0.1");
