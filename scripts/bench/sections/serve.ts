import { getRequest, Load, type Sample } from "../load/load.js";
import type { Server } from "../process.js";
import type { Bar, Findings, Row } from "../report.js";
import { KEYS, startBaseline, startRoutewright } from "../servers.js";
import { interleave, median, ratioOf } from "../statistics.js";
import { ENDPOINTS, generateApi, openDatabase, syntheticEndpoints, TABLE_ROWS } from "../synthetic-api.js";
import type { Setting } from "./section.js";

const CONNECTIONS = 32;
/** Different requests, sent in turn. */
const REQUESTS = 4000;

interface Case {
  readonly name: string;
  /** The query string of request `i`, which finds so many rows. */
  readonly search: (i: number, rows: number) => string;
  /** Lowest throughput in shares of the bare server's, by rows. */
  readonly throughput: Readonly<Record<number, number>>;
}

const CASES: readonly Case[] = [
  {
    name: "date filter, sort and limit",
    search: (i, rows) => {
      // Before all rows.
      const day = new Date(Date.UTC(2010, 0, 1 + i)).toISOString().slice(0, 10);
      return `?start_date=${day}&sort_by=${i % 2 === 0 ? "day" : "amount_usd"}&limit=${String(rows)}`;
    },
    throughput: { 1: 1.15, 100: 1.1, 1000: 1.35 },
  },
  { name: "fixed address", search: () => "", throughput: { 1: 0.66, 100: 0.66, 1000: 0.85 } },
];

/** Highest p99 in multiples of the bare server's, at saturation and at half load. */
const P99 = 1.2;

type Samples = Record<"bare" | "routewright", Sample[]>;

interface Measured {
  readonly of: Case;
  readonly rows: number;
  readonly full: Samples;
  readonly half: Samples;
}

/** Throughput, processor time and latency beside a bare server on the same database. */
export async function serve(setting: Setting): Promise<Findings> {
  setting.progress("serve: starting the database and the servers");
  const database = await openDatabase(setting.folder);
  const load = new Load(database.pid);
  const started: Server[] = [];
  const keep = (server: Server): Server => (started.push(server), server);
  try {
    const bare = keep(await startBaseline(setting.folder, database));
    const routewright = keep(await startRoutewright(await generateApi(setting.folder), database));
    const measured: Measured[] = [];
    for (const of of CASES)
      for (const rows of TABLE_ROWS)
        measured.push(await measure({ bare, routewright }, of, rows, load, setting));
    return findings(measured);
  } finally {
    load.stop();
    await Promise.all(started.map((server) => server.stop()));
    await database.stop();
  }
}

async function measure(
  servers: Readonly<Record<keyof Samples, Server>>,
  of: Case,
  rows: number,
  load: Load,
  { effort: { rounds, roundMs, warmUpMs }, progress }: Setting,
): Promise<Measured> {
  progress(`serve: ${of.name}, ${rowsText(rows)}`);
  const paths = syntheticEndpoints(ENDPOINTS).flatMap((each) => (each.rows === rows ? [each.path] : []));
  const addresses = Array.from(
    { length: REQUESTS },
    (_, i) => `${paths[i % paths.length] ?? ""}${of.search(i, rows)}`,
  );
  const requests = addresses.map((address, i) => getRequest(address, KEYS[i % KEYS.length] ?? ""));
  const run = (server: Server, milliseconds: number, perSecond?: number): Promise<Sample> =>
    load.run(server, { requests, connections: CONNECTIONS, milliseconds, ...(perSecond && { perSecond }) });
  for (const server of Object.values(servers)) {
    await checkResponse(server, addresses[0] ?? "", rows);
    await run(server, warmUpMs);
  }
  const both = (perSecond?: number): Promise<Samples> =>
    interleave(
      {
        bare: () => run(servers.bare, roundMs, perSecond),
        routewright: () => run(servers.routewright, roundMs, perSecond),
      },
      rounds,
    );
  const full = await both();
  return { of, rows, full, half: await both(median(each(full.bare, "requestsPerSecond")) / 2) };
}

async function checkResponse({ port }: Server, address: string, rows: number): Promise<void> {
  const headers = { "X-API-Key": KEYS[0] ?? "" };
  const response = await fetch(`http://127.0.0.1:${String(port)}${address}`, { headers });
  const body = await response.text();
  if (response.ok && (JSON.parse(body) as unknown[]).length === rows) return;
  throw new Error(`${address} has ${String(response.status)}: ${body.slice(0, 300)}`);
}

type Figure = "requestsPerSecond" | "cpu" | "databaseCpu" | "p50" | "p99";

const each = (samples: readonly Sample[], figure: Figure): number[] =>
  samples.map((sample) => sample[figure]);

function findings(measured: readonly Measured[]): Findings {
  return {
    tables: [
      {
        title: `serve: ${String(ENDPOINTS)} endpoints, ${String(CONNECTIONS)} connections, medians of ${String(measured[0]?.full.bare.length)} rounds`,
        columns: [
          { key: "name", head: "requests" },
          { key: "rows", head: "rows", digits: 0 },
          { key: "server", head: "server" },
          { key: "requestsPerSecond", head: "requests/s", digits: 0 },
          { key: "cpu", head: "CPU µs/request", digits: 0 },
          { key: "databaseCpu", head: "PostgreSQL µs", digits: 0 },
          { key: "p50", head: "p50 ms", digits: 1 },
          { key: "p99", head: "p99 ms", digits: 1 },
          { key: "halfP50", head: "half load: p50 ms", digits: 1 },
          { key: "halfP99", head: "p99 ms", digits: 1 },
        ],
        rows: measured.flatMap((one) => [rowOf(one, "bare"), rowOf(one, "routewright")]),
        notes: ["Saturation by wrk; half load is half of the bare server's throughput, for both."],
      },
    ],
    bars: measured.flatMap(barsOf),
  };
}

function rowOf({ of, rows, full, half }: Measured, server: keyof Samples): Row {
  const figures = (["requestsPerSecond", "cpu", "databaseCpu", "p50", "p99"] as const).map((figure) => [
    figure,
    median(each(full[server], figure)),
  ]);
  const [halfP50, halfP99] = [median(each(half[server], "p50")), median(each(half[server], "p99"))];
  return { name: of.name, rows, server, ...Object.fromEntries(figures), halfP50, halfP99 } as Row;
}

function barsOf({ of, rows, full, half }: Measured): Bar[] {
  const ratio = ({ routewright, bare }: Samples, figure: Figure) =>
    ratioOf(each(routewright, figure), each(bare, figure));
  const where = `${of.name}, ${rowsText(rows)}`;
  return [
    {
      name: `throughput, ${where}`,
      ratio: ratio(full, "requestsPerSecond"),
      limit: { atLeast: of.throughput[rows] ?? 1 },
    },
    { name: `p99 at saturation, ${where}`, ratio: ratio(full, "p99"), limit: { atMost: P99 } },
    { name: `p99 at half load, ${where}`, ratio: ratio(half, "p99"), limit: { atMost: P99 } },
  ];
}

const rowsText = (rows: number): string => (rows === 1 ? "1 row" : `${String(rows)} rows`);
