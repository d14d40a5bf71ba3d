/**
 * The ordinary way: Express with a route per endpoint, rows parsed by the driver and printed again. No keys, no limits,
 * no checks, no log. Plain JavaScript, so that all servers run under the same Node flags.
 */
import express from "express";
import pg from "pg";
import { endpoints, POOL_SIZE } from "./endpoints.js";

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: POOL_SIZE });
const app = express();
for (const { path, relation } of endpoints) {
  app.get(path, async (_request, response) => {
    const { rows } = await pool.query(`SELECT * FROM ${relation}`);
    response.json(rows);
  });
}
app.listen(Number(process.env.PORT), "127.0.0.1");
