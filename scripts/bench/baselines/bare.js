/**
 * The practical limit: `node:http` and `pg` with nothing between them, JSON made by the database with Routewright's own
 * SQL. No keys, no limits, no checks, no log. Plain JavaScript, so that all servers run under the same Node flags.
 */
import { createServer } from "node:http";
import pg from "pg";
import { endpoints, POOL_SIZE } from "./endpoints.js";

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: POOL_SIZE });
// The statement leaves these to the session.
pool.on("connect", (client) => void client.query("SET timezone = 'UTC'; SET datestyle = 'ISO'"));

const queries = new Map(
  endpoints.map(({ path, relation, statement }) => [path, { name: relation, text: statement }]),
);

createServer((request, response) => {
  const query = queries.get(request.url);
  if (query === undefined) return response.writeHead(404).end();
  pool.query(query).then(
    ({ rows }) => {
      const body = `[${rows[0].rows ?? ""}]`;
      response.writeHead(200, [
        "Content-Type",
        "application/json; charset=utf-8",
        "Content-Length",
        String(Buffer.byteLength(body)),
      ]);
      response.end(body);
    },
    () => response.writeHead(500).end(),
  );
}).listen(Number(process.env.PORT), "127.0.0.1");
