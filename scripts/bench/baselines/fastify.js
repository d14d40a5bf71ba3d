/** Fastify and `pg`, as its documentation shows them: rows are objects, which Fastify writes; with BENCH_RESPONSES it sends what the file has. No keys, limits, checks or log. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import pg from "pg";

const { default: fastify } = await import(createRequire(process.env.BENCH_FASTIFY).resolve("fastify"));
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, options: "-c TimeZone=UTC" });
const app = fastify();
const text = "SELECT * FROM bench.hot WHERE day >= $1 ORDER BY day LIMIT $2";

const { BENCH_RESPONSES: file } = process.env;
const responses = file === undefined ? null : new Map(Object.entries(JSON.parse(readFileSync(file, "utf8"))));
for (const found of responses?.values() ?? []) {
  const pairs = found.headers.flatMap((name, i) => (i % 2 === 0 ? [[name, found.headers[i + 1]]] : []));
  found.headers = Object.fromEntries(pairs);
}

if (responses !== null)
  app.get("/v1/*", (request, reply) => {
    const { headers, tag, body } = responses.get(`GET ${request.url}`);
    if (request.headers["if-none-match"] !== tag) return reply.headers(headers).send(body);
    const { "Content-Type": _type, "Content-Length": _length, ...unchanged } = headers;
    return reply.code(304).headers(unchanged).send();
  });
else
  app.get("/v1/*", async ({ query }, reply) => {
    if (!/^\d{4}-\d\d-\d\d$/.test(query.start_date) || !(Number(query.limit) >= 1))
      return reply.code(404).send();
    const { rows } = await pool.query({ name: "hot", text, values: [query.start_date, Number(query.limit)] });
    return rows;
  });
app.listen({ port: Number(process.env.PORT), host: "127.0.0.1" });
