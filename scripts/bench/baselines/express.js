/** The ordinary way: Express with a route per endpoint; the driver parses the rows and Express prints them again. */
import { readFileSync } from "node:fs";
import express from "express";
import pg from "pg";

const endpoints = JSON.parse(readFileSync(process.env.BENCH_ENDPOINTS, "utf8"));
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
const app = express();
for (const { path, view } of endpoints) {
  app.get(path, async (_request, response) => {
    const { rows } = await pool.query(`SELECT * FROM bench.${view} ORDER BY day DESC LIMIT 1000`);
    response.json(rows);
  });
}
app.listen(Number(process.env.PORT), "127.0.0.1");
