import { queryAt } from "../../support/database.js";

/** What is recorded of each key and route, in their order. */
export function recorded(url: string): Promise<Record<string, unknown>[]> {
  return queryAt(
    url,
    `SELECT key, route, requests::int, refused::int, errors::int, rows::int, bytes::int
     FROM routewright.usage WHERE route <> '' ORDER BY day, key COLLATE "C", route COLLATE "C"`,
  );
}

/** Requests recorded in all; zero where there is no table. */
export async function requestsRecorded(url: string): Promise<number> {
  const [found] = await queryAt(url, "SELECT to_regclass('routewright.usage') IS NOT NULL AS found");
  if (found?.["found"] !== true) return 0;
  const [sum] = await queryAt(
    url,
    "SELECT coalesce(sum(requests), 0)::int AS n FROM routewright.usage WHERE route <> ''",
  );
  return sum?.["n"] as number;
}
