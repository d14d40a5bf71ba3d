import { SUMS } from "../../core/handler/request-record.js";
import { failed, messageOf, type Outcome, succeeded } from "../../core/model/outcome.js";
import { isDenied, isMissing, UsageTable } from "./usage-table.js";

/** What a line of the report sums up; `all`: a line per key, organization, route, day and parameter. */
export type Grouping = "key" | "route" | "day" | "all";

export interface UsageQuery {
  readonly by: Grouping;
  /** First day, in UTC, as `2026-01-31`; null: from the beginning. */
  readonly since: string | null;
  /** Id of a key, or a prefix of it, or `none` for callers without a key; null: all. */
  readonly key: string | null;
}

/** One key, route or day with its sums, in the order in which the columns are shown. */
export type UsageLine = Readonly<Record<string, string | number | null>>;

/** The columns that describe a line, and the order of lines. All callers without a key count as one. */
const REPORTS: Readonly<Record<Exclude<Grouping, "all">, readonly [columns: string, order: string]>> = {
  key: [
    `key, ${latest("user_name")} AS "user", ${latest("org")} AS org, ${latest("tier")} AS tier`,
    "requests DESC, usage.key",
  ],
  route: ["route, count(DISTINCT key)::float8 AS keys", "requests DESC, usage.route"],
  day: ["to_char(day, 'YYYY-MM-DD') AS day, count(DISTINCT key)::float8 AS keys", "usage.day"],
};

/** The latest value: a key's owner may have changed. */
function latest(column: string): string {
  return `(array_agg(${column} ORDER BY last_seen DESC))[1]`;
}

function timeText(time: string): string {
  return `to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;
}

function statement(by: Grouping): string {
  if (by === "all") return ALL;
  const [columns, order] = REPORTS[by];
  const sums = SUMS.map((column) => `sum(${column})::float8 AS ${column}`).join(", ");
  return `SELECT ${columns}, ${sums},
    ${timeText("max(last_seen)")} AS "lastSeen"
  FROM routewright.usage
  WHERE ${SELECTED} AND key <> ''
  GROUP BY usage.${by}
  ORDER BY ${order}`;
}

const SELECTED = "day >= coalesce($1::date, '-infinity') AND starts_with(key, $2)";

/** Null as parameter: all requests. The lines without key and route are the recorded days, with the requests that were lost. */
const ALL = `SELECT to_char(day, 'YYYY-MM-DD') AS day, key, org, route, parameter, requests::float8 AS requests, succeeded
  FROM (
    SELECT day, key, org, route, NULL AS parameter, requests, (requests - refused - errors)::float8 AS succeeded
    FROM routewright.usage WHERE ${SELECTED}
    UNION ALL
    SELECT day, key, org, route, named.parameter, named.requests, NULL
    FROM routewright.usage_parameters named JOIN routewright.usage USING (day, key, route) WHERE ${SELECTED}
  ) AS lines
  ORDER BY day, key, route, parameter NULLS FIRST`;

/** Beside them, where servers keep shapes: the requests of each. */
const ALL_SHAPES = `SELECT to_char(day, 'YYYY-MM-DD') AS day, key, coalesce(org, '') AS org, route, NULL AS parameter, shape,
    shapes.requests::float8 AS requests, ${timeText("shapes.last_seen")} AS "lastSeen"
  FROM routewright.usage_shapes shapes LEFT JOIN routewright.usage USING (day, key, route)
  WHERE ${SELECTED} ORDER BY day, key, route, shape`;

/** Requests of one key to one route; `parameter`: those with a parameter, null for all. */
export interface RouteUsage {
  readonly key: string;
  readonly org: string;
  readonly route: string;
  readonly parameter: string | null;
  readonly requests: number;
  /** Of all requests: those that were neither refused nor failed. */
  readonly succeeded?: number | null;
}

/** Use of some routes. */
export interface RecordedUsage {
  /** The days, as `2026-01-31`, of which no request was lost. */
  readonly recordedDays: readonly string[];
  readonly lines: readonly RouteUsage[];
  /** Absent where no shape of these routes was kept. */
  readonly shapes?: readonly ShapeUsage[];
}

/** Requests to one route in one shape. */
export interface ShapeUsage {
  readonly route: string;
  readonly shape: string;
  readonly requests: number;
  /** Ids of keys; `none` for callers without a key, `*` for those beyond the 50 of a shape. */
  readonly keys: readonly string[];
  /** In UTC, as `2026-01-31T12:00:00Z`. */
  readonly lastSeen: string;
}

/** Without an order: to sort so many texts by a language's rules takes longer than all else. */
const OF_SHAPES = `SELECT route, shape, sum(requests)::float8 AS requests, array_agg(DISTINCT key COLLATE "C") AS keys,
    ${timeText("max(last_seen)")} AS "lastSeen"
  FROM routewright.usage_shapes WHERE day >= $1 AND route = ANY($2) GROUP BY route, shape`;

const OF_ROUTES = `SELECT key, max(org) AS org, route, NULL AS parameter, sum(requests)::float8 AS requests,
    sum(requests - refused - errors)::float8 AS succeeded
  FROM routewright.usage WHERE day >= $1 AND route = ANY($2) GROUP BY key, route
  UNION ALL
  SELECT key, '', route, parameter, sum(requests)::float8, NULL
  FROM routewright.usage_parameters WHERE day >= $1 AND route = ANY($2) GROUP BY key, route, parameter`;

const RECORDED_DAYS = `SELECT to_char(day, 'YYYY-MM-DD') AS day FROM routewright.usage
  WHERE day >= $1 AND key = '' AND route = '' AND requests = 0 ORDER BY day`;

/** Reads the use of routes from a day on. */
export function readRouteUsage(
  url: string,
  routes: readonly string[],
  since: string,
): Promise<Outcome<RecordedUsage>> {
  return reading(url, async (table) => {
    try {
      const lines = await table.query<RouteUsage>(OF_ROUTES, [since, routes]);
      const days = await table.query<{ readonly day: string }>(RECORDED_DAYS, [since]);
      return {
        lines,
        recordedDays: days.map(({ day }) => day),
        ...(await shapesOf(table, [since, routes])),
      };
    } catch (error) {
      if (isMissing(error)) return { lines: [], recordedDays: [] };
      throw error;
    }
  });
}

async function shapesOf(
  table: UsageTable,
  values: readonly unknown[],
): Promise<Pick<RecordedUsage, "shapes">> {
  try {
    const shapes = await table.query<ShapeUsage>(OF_SHAPES, values);
    return shapes.length === 0 ? {} : { shapes };
  } catch (error) {
    // Servers that keep no shapes do not make the table.
    if (isMissing(error)) return {};
    throw error;
  }
}

/** Reads the usage that the servers have written, for a report. No lines where the table does not exist yet. */
export function readUsage(url: string, query: UsageQuery): Promise<Outcome<readonly UsageLine[]>> {
  return reading(url, (table) => usageLines(table, query));
}

export async function usageLines(
  table: UsageTable,
  { by, since, key }: UsageQuery,
): Promise<readonly UsageLine[]> {
  const values = [since, key ?? ""];
  const lines = await linesOf(table, statement(by), values);
  return by === "all" ? [...lines, ...(await linesOf(table, ALL_SHAPES, values))] : lines;
}

/** What some keys have used since a day, by day, endpoint and key. */
export function useOfKeys(
  table: UsageTable,
  keys: readonly string[],
  since: string,
): Promise<readonly UsageLine[]> {
  return linesOf(table, OF_KEYS, [keys, since]);
}

const OF_KEYS = `SELECT to_char(day, 'YYYY-MM-DD') AS day, route, key, ${SUMS.map((sum) => `${sum}::float8 AS ${sum}`).join(", ")}
  FROM routewright.usage WHERE key = ANY($1::text[]) AND day >= $2::date ORDER BY day, route, key`;

/** Counts stay, without the names of their users. */
export async function eraseUsers(table: UsageTable, keys: readonly string[]): Promise<void> {
  await linesOf(table, "UPDATE routewright.usage SET user_name = '' WHERE key = ANY($1::text[])", [keys]);
}

/** None where servers have not made the table. */
async function linesOf(
  table: UsageTable,
  text: string,
  values: readonly unknown[],
): Promise<readonly UsageLine[]> {
  try {
    return await table.query<UsageLine>(text, values);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

async function reading<Value>(
  url: string,
  work: (table: UsageTable) => Promise<Value>,
): Promise<Outcome<Value>> {
  const table = await UsageTable.open(url, 0);
  try {
    return succeeded(await work(table));
  } catch (error) {
    const grant = isDenied(error) ? ` Let the database's owner run ${readGrant(await table.role())}.` : "";
    return failed(`Usage cannot be read from the database: ${messageOf(error)}.${grant}`);
  } finally {
    await table.close();
  }
}

function readGrant(role: string): string {
  return `GRANT USAGE ON SCHEMA routewright TO ${role}; GRANT SELECT ON ALL TABLES IN SCHEMA routewright TO ${role}`;
}
