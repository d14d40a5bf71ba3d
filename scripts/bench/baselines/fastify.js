/** Fastify and `pg`, as its documentation shows them: rows are objects, which Fastify writes. No keys, limits, checks or log. */
import { createRequire } from "node:module";
import pg from "pg";

const { default: fastify } = await import(createRequire(process.env.BENCH_FASTIFY).resolve("fastify"));
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, options: "-c TimeZone=UTC" });
const app = fastify();
const text = "SELECT * FROM bench.hot WHERE day >= $1 ORDER BY day LIMIT $2";

app.get("/v1/*", async ({ query }, reply) => {
  if (!/^\d{4}-\d\d-\d\d$/.test(query.start_date) || !(Number(query.limit) >= 1))
    return reply.code(404).send();
  const { rows } = await pool.query({ name: "hot", text, values: [query.start_date, Number(query.limit)] });
  return rows;
});
app.listen({ port: Number(process.env.PORT), host: "127.0.0.1" });
