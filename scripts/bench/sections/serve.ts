import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  createEndpoints,
  ENDPOINTS,
  endpoints,
  generateEndpoints,
  openDatabase,
  serveApi,
  type TableName,
  TABLES,
} from "../api.js";
import { checkRows, compare, getRequests, rowsOf } from "../load.js";
import { type Server, startServer } from "../process.js";
import { type Bar, compareFigure, type Figures, type Findings, medians, type Setting } from "../figures.js";

const CONNECTIONS = 32;
/** Different requests, sent in turn. */
const REQUESTS = 4000;

/**
 * Pages with a date filter, a sort and a limit: all rows of these tables. Limits are in multiples of the bare server's figures;
 * the other tables have none, and are measured at saturation only.
 */
const CASES: readonly { readonly table: TableName; readonly throughput?: number }[] = [
  { table: "1 row", throughput: 1.15 },
  { table: "100 rows", throughput: 1.35 },
  { table: "1,000 rows", throughput: 1.9 },
  { table: "5,000 rows" },
  { table: "100 wide rows" },
  { table: "1,000 rows with escapes" },
];

/** Highest p99 in multiples of the bare server's. */
const P99 = { saturation: 1.2, halfLoad: 1.1 };

/** Throughput, processor time and latency beside a bare server on the same database. */
export async function serve({ folder, keep, progress }: Setting): Promise<Findings> {
  progress("serve: starting the database and the servers");
  const database = keep(await openDatabase(folder));
  await createEndpoints(database);
  const file = join(folder, "endpoints.json");
  writeFileSync(file, JSON.stringify(endpoints().map(({ path, view }) => [path, view])));
  const environment = { DATABASE_URL: database.url, BENCH_ENDPOINTS: file };
  const startBare = async (name: string, more = {}): Promise<Server> => {
    const args = [resolve("scripts/bench/baselines/bare.js")];
    return keep(await startServer({ name, args, folder, environment: { ...environment, ...more } }));
  };
  const bare = await startBare("bare");
  const prepared = await startBare("prepared", { BENCH_PREPARED: "true" });
  const routewright = keep(await serveApi(await generateEndpoints(folder), database.url));
  const rows: Record<string, Figures> = {};
  const bars: Bar[] = [];
  for (const { table, throughput } of CASES) {
    progress(`serve: ${table}`);
    const paths = pathsOf(table);
    const servers = [bare, prepared, routewright];
    for (const server of servers) await checkRows(server, paths[0] ?? "", TABLES[table].rows);
    const requests = getRequests(paths);
    const sides = { bare: { server: bare, requests }, routewright: { server: routewright, requests } };
    const job = { connections: CONNECTIONS, databasePid: database.pid };
    const full = await compare({ ...sides, prepared: { server: prepared, requests } }, job);
    Object.assign(rows, rowsOf(full, `${table}, `));
    if (throughput === undefined) continue;
    const perSecond = medians(full.bare)["requests/s"] / 2;
    const half = await compare(sides, { ...job, perSecond });
    Object.assign(rows, rowsOf(half, `${table}, half load, `));
    bars.push(
      compareFigure(`throughput, ${table}`, full, "requests/s", { atLeast: throughput }),
      compareFigure(`p99 at saturation, ${table}`, full, "p99 ms", { atMost: P99.saturation }),
      compareFigure(`p99 at half load, ${table}`, half, "p99 ms", { atMost: P99.halfLoad }),
    );
  }
  const title = `serve: ${String(ENDPOINTS)} endpoints, ${String(CONNECTIONS)} connections, a date filter, a sort and a limit that differ in each request`;
  const note =
    "The bare server sends its statements as texts, 'prepared' by name; bars compare with the first.\n" +
    "Half load: both get half of the requests that the bare server answers at saturation.";
  return { tables: [{ title, rows, note }], bars };
}

/** Each request differs: identical ones would share one execution. */
export function pathsOf(table: TableName, of = endpoints()): string[] {
  const paths = of.flatMap((one) => (one.table === table ? [one.path] : []));
  return Array.from({ length: REQUESTS }, (_, i) => {
    // Before all rows.
    const day = new Date(Date.UTC(2010, 0, 1 + i)).toISOString().slice(0, 10);
    const search = `start_date=${day}&sort_by=${i % 2 === 0 ? "day" : "amount_usd"}&limit=${String(TABLES[table].rows)}`;
    return `${paths[i % paths.length] ?? ""}?${search}`;
  });
}
