import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Program, startServer, type Server } from "./process.js";
import { type Database, ENDPOINTS, ROUTEWRIGHT, syntheticEndpoints } from "./synthetic-api.js";

/** API keys in turn: a tier3 key may send 10,000 requests a minute, so none reaches its limit. */
export const KEYS: readonly string[] = Array.from({ length: 400 }, (_, i) => `sk_live_bench_${String(i)}`);

/** Starts `baselines/bare.js` with the synthetic endpoints. */
export function startBaseline(folder: string, database: Database): Promise<Server> {
  const file = join(folder, "endpoints.json");
  writeFileSync(file, JSON.stringify(syntheticEndpoints(ENDPOINTS).map(({ path, view }) => [path, view])));
  const args = [resolve("scripts/bench/baselines/bare.js")];
  return startServer({
    name: "bare",
    args,
    folder,
    environment: { DATABASE_URL: database.url, BENCH_ENDPOINTS: file },
  });
}

/** Starts `routewright serve` in a generated folder as an operator does: keys, limits, usage and the log are on. */
export function startRoutewright(
  folder: string,
  database: Pick<Database, "url">,
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
