import { Load, SATURATION_GENERATOR, getRequest, type Sample } from "../load/load.js";
import type { Server } from "../process.js";
import type { Bar, Column, Findings, Row } from "../report.js";
import { KEYS, startBaseline, startRoutewright } from "../servers.js";
import { interleave, median, ratioOf } from "../statistics.js";
import {
  ENDPOINTS,
  generateApi,
  openDatabase,
  syntheticEndpoints,
  TABLE_ROWS,
  type TableRows,
} from "../synthetic-api.js";
import type { Setting } from "./section.js";

const CONNECTIONS = 32;

const NAMES = { bare: "(a) node:http + pg", express: "(b) Express", routewright: "(c) routewright" } as const;
type Name = keyof typeof NAMES;
type Samples = Record<Name, Sample[]>;

/** Limits of the ratios to (a). */
const THROUGHPUT: Readonly<Record<TableRows, number>> = { 1: 1.2, 100: 1.0, 1000: 0.95 };
const P99_AT_HALF_LOAD = 1.2;
const P99_AT_SATURATION = 1.3;

interface Measured {
  readonly rows: TableRows;
  readonly saturation: Samples;
  readonly halfLoad: Samples;
}

/** Throughput, processor time and latency beside a bare server and an ordinary one, on the same database. */
export async function serve(setting: Setting): Promise<Findings> {
  const { folder, progress } = setting;
  progress("serve: starting the database and the servers");
  const database = await openDatabase(folder);
  const load = new Load(database.pid);
  const started: Server[] = [];
  const keep = (server: Server): Server => (started.push(server), server);
  try {
    const servers = {
      bare: keep(await startBaseline("bare", folder, database)),
      express: keep(await startBaseline("express", folder, database)),
      routewright: keep(await startRoutewright(await generateApi(folder), database)),
    };
    const measured: Measured[] = [];
    for (const rows of TABLE_ROWS) measured.push(await measure(servers, rows, load, setting));
    return findings(measured);
  } finally {
    load.stop();
    await Promise.all(started.map((server) => server.stop()));
    await database.stop();
  }
}

async function measure(
  servers: Readonly<Record<Name, Server>>,
  rows: TableRows,
  load: Load,
  { effort: { rounds, roundMs, warmUpMs }, progress }: Setting,
): Promise<Measured> {
  progress(`serve: ${rowsText(rows)}`);
  const names = Object.keys(servers) as Name[];
  const requests = requestsFor(rows);
  for (const name of names) {
    await checkResponse(servers[name], rows, name);
    await load.run(servers[name], { requests, connections: CONNECTIONS, milliseconds: warmUpMs });
  }
  const each = (perSecond?: Readonly<Record<Name, number>>) =>
    Object.fromEntries(
      names.map((name) => {
        const job = { requests, connections: CONNECTIONS, milliseconds: roundMs };
        return [
          name,
          () => load.run(servers[name], { ...job, ...(perSecond && { perSecond: perSecond[name] }) }),
        ];
      }),
    ) as Record<Name, () => Promise<Sample>>;
  const saturation = await interleave(each(), rounds);
  const half = (name: Name): number => median(throughputs(saturation[name])) / 2;
  // The same rate for (a) and (c); Express may not reach it, so it gets half of its own.
  const perSecond = { bare: half("bare"), routewright: half("bare"), express: half("express") };
  return { rows, saturation, halfLoad: await interleave(each(perSecond), rounds) };
}

/** Requests to all endpoints of that many rows in turn; consecutive ones differ in path and key. */
function requestsFor(rows: TableRows): string[] {
  const paths = syntheticEndpoints(ENDPOINTS).flatMap((endpoint) =>
    endpoint.rows === rows ? [endpoint.path] : [],
  );
  return KEYS.map((key, i) => getRequest(paths[i % paths.length] ?? "", key));
}

async function checkResponse({ port }: Server, rows: TableRows, name: string): Promise<void> {
  const path = syntheticEndpoints(ENDPOINTS).find((endpoint) => endpoint.rows === rows)?.path ?? "";
  const response = await fetch(`http://127.0.0.1:${String(port)}${path}`, {
    headers: { "X-API-Key": KEYS[0] ?? "" },
  });
  const body = await response.text();
  const items: unknown = response.ok ? JSON.parse(body) : null;
  if (Array.isArray(items) && items.length === rows) return;
  throw new Error(`${name} responds to ${path} with ${String(response.status)}: ${body.slice(0, 300)}`);
}

const throughputs = (samples: readonly Sample[]): number[] =>
  samples.map((sample) => sample.requestsPerSecond);
const p99s = (samples: readonly Sample[]): number[] => samples.map((sample) => sample.p99);

const COLUMNS: readonly Column[] = [
  { key: "rows", head: "rows", digits: 0 },
  { key: "server", head: "server" },
  { key: "requestsPerSecond", head: "requests/s", digits: 0 },
  { key: "ofBare", head: "of (a)", digits: 2 },
  { key: "cpu", head: "CPU µs/request", digits: 0 },
  { key: "databaseCpu", head: "PostgreSQL µs", digits: 0 },
  { key: "p50", head: "p50 ms", digits: 1 },
  { key: "p99", head: "p99 ms", digits: 1 },
  { key: "rate", head: "half load: requests/s", digits: 0 },
  { key: "halfCpu", head: "CPU µs", digits: 0 },
  { key: "halfP50", head: "p50 ms", digits: 1 },
  { key: "halfP99", head: "p99 ms", digits: 1 },
];

function findings(measured: readonly Measured[]): Findings {
  const generator = Math.max(
    ...measured.flatMap(({ halfLoad }) =>
      Object.values(halfLoad)
        .flat()
        .map(({ generatorCpu }) => generatorCpu),
    ),
  );
  return {
    tables: [
      {
        title: `serve: ${String(ENDPOINTS)} endpoints, ${String(CONNECTIONS)} connections, medians of ${String(measured[0]?.saturation.bare.length)} rounds`,
        columns: COLUMNS,
        rows: measured.flatMap((one) => (Object.keys(NAMES) as Name[]).map((name) => rowOf(one, name))),
        notes: [
          `Saturation: ${SATURATION_GENERATOR}. Half load: half of the throughput of (a), for (b) half of its own; the generator used ${String(Math.round(generator * 100))} % of a core at most.`,
        ],
      },
    ],
    bars: measured.flatMap(barsOf),
  };
}

function rowOf({ rows, saturation, halfLoad }: Measured, name: Name): Row {
  const of = (
    samples: readonly Sample[],
    key: "requestsPerSecond" | "cpu" | "databaseCpu" | "p50" | "p99",
  ): number => median(samples.map((sample) => sample[key]));
  const [full, half] = [saturation[name], halfLoad[name]];
  return {
    rows,
    server: NAMES[name],
    requestsPerSecond: of(full, "requestsPerSecond"),
    ofBare: ratioOf(throughputs(full), throughputs(saturation.bare)).median,
    cpu: of(full, "cpu"),
    databaseCpu: of(full, "databaseCpu"),
    p50: of(full, "p50"),
    p99: of(full, "p99"),
    rate: of(half, "requestsPerSecond"),
    halfCpu: of(half, "cpu"),
    halfP50: of(half, "p50"),
    halfP99: of(half, "p99"),
  };
}

function barsOf({ rows, saturation, halfLoad }: Measured): Bar[] {
  const p99 = ({ routewright, bare }: Samples) => ratioOf(p99s(routewright), p99s(bare));
  return [
    {
      name: `throughput to (a), ${rowsText(rows)}`,
      ratio: ratioOf(throughputs(saturation.routewright), throughputs(saturation.bare)),
      limit: { atLeast: THROUGHPUT[rows] },
    },
    {
      name: `p99 to (a) at saturation, ${rowsText(rows)}`,
      ratio: p99(saturation),
      limit: { atMost: P99_AT_SATURATION },
    },
    {
      name: `p99 to (a) at half load, ${rowsText(rows)}`,
      ratio: p99(halfLoad),
      limit: { atMost: P99_AT_HALF_LOAD },
    },
  ];
}

function rowsText(rows: TableRows): string {
  return rows === 1 ? "1 row" : `${String(rows)} rows`;
}
