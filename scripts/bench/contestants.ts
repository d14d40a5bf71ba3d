import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { apiFolder, ROUTEWRIGHT } from "./api-folder.js";
import { type Program, startServer, type Server } from "./children.js";
import type { Database } from "./database.js";
import { SCHEMA, syntheticEndpoints } from "./synthetic-manifest.js";

/** A tier3 key may call 10,000 times a minute: with so many in turn, no server is fast enough to refuse one. */
export const KEYS: readonly string[] = Array.from({ length: 400 }, (_, i) => `sk_live_bench_${String(i)}`);

/** Starts one of the plain servers of `baselines/`, with that many endpoints. */
export function startBaseline(
  name: "bare" | "express",
  folder: string,
  database: Database,
  count: number,
): Promise<Server> {
  const file = join(folder, "endpoints.json");
  const endpoints = syntheticEndpoints(count).map(({ path, view }) => ({
    path,
    relation: `"${SCHEMA}"."${view}"`,
    statement: database.statementOf(view),
  }));
  writeFileSync(file, JSON.stringify(endpoints));
  const args = [resolve(`scripts/bench/baselines/${name}.js`)];
  return startServer({
    name,
    args,
    folder,
    environment: { DATABASE_URL: database.url, BENCH_ENDPOINTS: file },
  });
}

interface RoutewrightOptions extends Pick<Partial<Program>, "args" | "environment"> {
  /** Views that the endpoints show; all when left out. */
  readonly views?: number;
}

/** Starts `routewright serve` as an operator does: keys and limits on, the log on standard output. */
export async function startRoutewright(
  folder: string,
  database: Database,
  count: number,
  { args = [], environment = {}, views }: RoutewrightOptions = {},
): Promise<Server> {
  const keys = Object.fromEntries(KEYS.map((key, i) => [key, { tier: "tier3", user: `user-${String(i)}` }]));
  return startServer({
    name: "serve",
    args: [ROUTEWRIGHT, "serve", "--only", "data", ...args],
    folder: await apiFolder(folder, count, views),
    environment: {
      DATABASE_URL: database.url,
      API_KEYS: JSON.stringify(keys),
      USAGE_ENABLED: "true",
      ...environment,
    },
  });
}
