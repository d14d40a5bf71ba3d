import type { Server } from "./children.js";
import { cpuSeconds } from "./cpu-time.js";
import { KEYS } from "./contestants.js";
import type { Load } from "./load/load.js";
import type { Job, JobResult } from "./load/job.js";
import { interleave, type Effort } from "./rounds.js";
import type { Row, Column } from "./report.js";
import { median } from "./statistics.js";
import { syntheticEndpoints, type TableRows } from "./synthetic-manifest.js";

/** Enough that every server always has work, and more than its database connections. */
export const CONNECTIONS = 50;

/** A server with the paths that it is asked for: all of its endpoints with so many rows. */
export interface Entrant {
  readonly server: Server;
  readonly paths: readonly string[];
}

export function entrant(server: Server, endpoints: number, rows: TableRows, views?: number): Entrant {
  const matching = syntheticEndpoints(endpoints, views).filter((endpoint) => endpoint.rows === rows);
  return { server, paths: matching.map(({ path }) => path) };
}

/** What came of one round, and the processor time of the server for each answer, in microseconds. */
export type Lap = JobResult & { readonly cpu: number };

/** Puts all entrants under the same load in turn and returns the results of each by round. */
export async function race<Name extends string>(
  entrants: Readonly<Record<Name, Entrant>>,
  rows: TableRows,
  load: Load,
  { rounds, roundMs, warmUpMs }: Effort,
): Promise<Record<Name, Lap[]>> {
  const runs = {} as Record<Name, () => Promise<Lap>>;
  for (const name of Object.keys(entrants) as Name[]) {
    const { server, paths } = entrants[name];
    const bodyBytes = await rightAnswer(entrants[name], rows, name);
    const job = { port: server.port, paths, keys: KEYS, bodyBytes, connections: CONNECTIONS };
    await load.run({ ...job, milliseconds: warmUpMs });
    runs[name] = () => lap(load, { ...job, milliseconds: roundMs }, server.pid);
  }
  return interleave(runs, rounds);
}

/** One round of load, with the processor time that the server took for it. */
export async function lap(load: Load, job: Job, pid: number): Promise<Lap> {
  const before = cpuSeconds(pid);
  const result = await load.run(job);
  return { ...result, cpu: ((cpuSeconds(pid) - before) * 1e6) / result.allAnswers };
}

/** Looks at one answer closely, so that under load its length is enough to know it by. */
async function rightAnswer({ server, paths }: Entrant, rows: TableRows, name: string): Promise<number> {
  const url = `http://127.0.0.1:${String(server.port)}${paths[0] ?? ""}`;
  const response = await fetch(url, { headers: { "X-API-Key": KEYS[0] ?? "" } });
  const body = Buffer.from(await response.arrayBuffer());
  const items: unknown = response.ok ? JSON.parse(body.toString()) : null;
  if (Array.isArray(items) && items.length === rows) return body.length;
  throw new Error(
    `${name} answers ${paths[0] ?? ""} with ${String(response.status)} and not with ${String(rows)} rows: ${body.toString().slice(0, 300)}`,
  );
}

export const LOAD_COLUMNS: readonly Column[] = [
  { key: "requestsPerSecond", head: "requests/s", digits: 0 },
  { key: "p50", head: "p50 ms", digits: 2 },
  { key: "p99", head: "p99 ms", digits: 2 },
  { key: "cpu", head: "CPU µs/request", digits: 0 },
];

/** The medians of an entrant's rounds, for a table. */
export function loadRow(laps: readonly Lap[]): Row {
  const of = (key: "requestsPerSecond" | "p50" | "p99" | "cpu") => median(laps.map((lap) => lap[key]));
  return { requestsPerSecond: of("requestsPerSecond"), p50: of("p50"), p99: of("p99"), cpu: of("cpu") };
}

export function speeds(results: readonly JobResult[]): number[] {
  return results.map(({ requestsPerSecond }) => requestsPerSecond);
}

/** Says how busy the load generator was, since a busy one would measure itself. */
export function loadNote(results: readonly JobResult[]): string {
  const most = Math.max(...results.map(({ load }) => load));
  return `The load generator used ${String(Math.round(most * 100))} % of one core at most.`;
}
