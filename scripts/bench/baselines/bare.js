/**
 * The practical limit: `node:http` and `pg` with nothing between them; the database makes the JSON with the shortest SQL.
 * No keys, limits, checks or log. Plain JavaScript, so that all servers run under the same Node flags. The pool has pg's
 * default size. Statements are texts, as in the measurements that set the bars (80 to 90 µs of PostgreSQL's time for a row);
 * with BENCH_PREPARED they are prepared (35 µs). BENCH_STATEMENT is one statement of groups, prepared, for all requests;
 * BENCH_HOT is one statement of the table of the section `hot`.
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import pg from "pg";

const { BENCH_ENDPOINTS: file } = process.env;
const views = new Map(file === undefined ? [] : JSON.parse(readFileSync(file, "utf8")));
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, options: "-c TimeZone=UTC" });
const SORTABLE = new Set(["day", "amount_usd"]);

/** A statement per view and order. */
function queryOf(url) {
  const [path, search] = url.split("?");
  const view = views.get(path);
  const fields = new URLSearchParams(search);
  const statement = process.env.BENCH_STATEMENT;
  const start = fields.get("start_date");
  if (statement !== undefined)
    return start === null ? undefined : { name: "groups", text: statement, values: [start] };
  if (process.env.BENCH_HOT !== undefined) return hotQuery(start, Number(fields.get("limit")));
  const [from, limit, sort] = [fields.get("start_date"), Number(fields.get("limit")), fields.get("sort_by")];
  if (view === undefined || !/^\d{4}-\d\d-\d\d$/.test(from) || !(limit >= 1) || !SORTABLE.has(sort))
    return undefined;
  const rows = `SELECT * FROM bench.${view} WHERE day >= $1 ORDER BY ${sort}, day DESC LIMIT $2`;
  const text = `SELECT json_agg(t)::text AS body FROM (${rows}) t`;
  const name = process.env.BENCH_PREPARED === undefined ? undefined : `${view} ${sort}`;
  return { name, text, values: [from, limit] };
}

function hotQuery(start, limit) {
  const rows = "SELECT * FROM bench.hot WHERE day >= $1 ORDER BY day LIMIT $2";
  if (!/^\d{4}-\d\d-\d\d$/.test(start) || !(limit >= 1)) return undefined;
  return { name: "hot", text: `SELECT json_agg(t)::text AS body FROM (${rows}) t`, values: [start, limit] };
}

createServer((request, response) => {
  const query = queryOf(request.url);
  if (query === undefined) return response.writeHead(404).end();
  pool.query(query).then(
    ({ rows: [{ body }] }) => {
      const length = Buffer.byteLength(body);
      response.writeHead(200, { "Content-Type": "application/json", "Content-Length": length }).end(body);
    },
    () => response.writeHead(500).end(),
  );
}).listen(Number(process.env.PORT), "127.0.0.1");
