/** What the plain servers serve: `{path, relation, statement}[]`, from the file that the benchmark wrote for them. */
import { readFileSync } from "node:fs";

/** As many connections as Routewright holds. */
export const POOL_SIZE = 20;

export const endpoints = JSON.parse(readFileSync(process.env.BENCH_ENDPOINTS, "utf8"));
