import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Program, startServer, type Server } from "./process.js";
import { type Database, ENDPOINTS, ROUTEWRIGHT, shortestSql, syntheticEndpoints } from "./synthetic-api.js";

/** API keys in turn: a tier3 key may send 10,000 requests a minute, so none reaches its limit. */
export const KEYS: readonly string[] = Array.from({ length: 400 }, (_, i) => `sk_live_bench_${String(i)}`);

/** Starts a server of `baselines/` with the synthetic endpoints. */
export function startBaseline(name: "bare" | "express", folder: string, database: Database): Promise<Server> {
  const file = join(folder, "endpoints.json");
  const endpoints = syntheticEndpoints(ENDPOINTS).map(({ path, view }) => ({
    path,
    view,
    sql: shortestSql(view),
  }));
  writeFileSync(file, JSON.stringify(endpoints));
  const args = [resolve(`scripts/bench/baselines/${name}.js`)];
  const environment = { DATABASE_URL: database.url, BENCH_ENDPOINTS: file };
  return startServer({ name, args, folder, environment });
}

/** Starts `routewright serve` in a generated folder as an operator does: keys, limits, usage and the log are on. */
export function startRoutewright(
  folder: string,
  database: Database,
  { args = [], environment = {} }: Pick<Partial<Program>, "args" | "environment"> = {},
): Promise<Server> {
  const keys = Object.fromEntries(KEYS.map((key, i) => [key, { tier: "tier3", user: `user-${String(i)}` }]));
  return startServer({
    name: "serve",
    args: [ROUTEWRIGHT, "serve", "--only", "data", ...args],
    folder,
    environment: {
      DATABASE_URL: database.url,
      API_KEYS: JSON.stringify(keys),
      USAGE_ENABLED: "true",
      ...environment,
    },
  });
}
