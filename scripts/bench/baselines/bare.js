/**
 * The practical limit: `node:http` and `pg` with nothing between them; the database makes the JSON with the shortest SQL.
 * No keys, limits, checks or log. Plain JavaScript, so that all servers run under the same Node flags. The pool has pg's
 * default size.
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import pg from "pg";

const endpoints = JSON.parse(readFileSync(process.env.BENCH_ENDPOINTS, "utf8"));
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, options: "-c TimeZone=UTC" });
const queries = new Map(endpoints.map(({ path, view, sql }) => [path, { name: view, text: sql }]));

createServer((request, response) => {
  const query = queries.get(request.url);
  if (query === undefined) return response.writeHead(404).end();
  pool.query(query).then(
    ({ rows: [{ body }] }) => {
      const length = Buffer.byteLength(body);
      response.writeHead(200, { "Content-Type": "application/json", "Content-Length": length }).end(body);
    },
    () => response.writeHead(500).end(),
  );
}).listen(Number(process.env.PORT), "127.0.0.1");
