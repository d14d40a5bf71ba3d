import { execFile, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { interleave, IS_SHORT, medians, type Table } from "./figures.js";
import { cpuSeconds, cpuSecondsWithChildren, residentMiB, type Server } from "./process.js";

/** API keys in turn: a tier3 key may send 10,000 requests a minute, so none reaches its limit. */
export const KEYS: readonly string[] = Array.from({ length: 400 }, (_, i) => `sk_live_bench_${String(i)}`);

/** HTTP/1.1 texts, sent in turn. `{unique}` in one becomes a new text each time. */
type Requests = readonly string[];

/** A period of load. */
export interface Job {
  readonly requests: Requests;
  /** Each has one request at a time. */
  readonly connections: number;
  readonly milliseconds: number;
  /** A fixed rate; as many as the server answers when left out. */
  readonly perSecond?: number;
  /** Process whose processor time counts as the database's, with its children's. */
  readonly databasePid?: number;
}

/** Processor time of the server and of the database is by request. */
type Sample = Readonly<Record<"requests/s" | "CPU µs" | "database µs" | "p50 ms" | "p99 ms", number>>;

type Result = Readonly<Record<"requests" | "milliseconds" | "p50" | "p99" | "failures", number>>;

const HAS_WRK = spawnSync("wrk", ["--version"]).error === undefined;

/** The texts of GET requests, with the keys in turn. */
export function getRequests(paths: readonly string[]): Requests {
  const withKey = (path: string, key = ""): string =>
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${key}\r\n\r\n`;
  return paths.map((path, i) => withKey(path, KEYS[i % KEYS.length]));
}

/** A server and what is asked of it. */
interface Side {
  readonly server: Server;
  readonly requests: Requests;
}

/** Routewright and what it is compared with. */
export type Sides = Readonly<Record<"bare" | "routewright", Side>>;

/** One side in one round. */
const ROUND_MS = IS_SHORT ? 1000 : 2000;
/** Load before the first round, for the compiler and the caches. */
export const WARM_UP_MS = IS_SHORT ? 2000 : 4000;

/**
 * ClickHouse answers some hundred requests a second, and V8 compiles for thousands: 310 of 1,510 µs a page of 1,000 rows in the seconds after
 * a warm-up of 4 s, and 90 of the bare server's 675.
 */
export const CLICKHOUSE_WARM_UP_MS = IS_SHORT ? WARM_UP_MS : 15_000;

interface ComparedLoad extends Omit<Job, "requests" | "milliseconds"> {
  /** Default `WARM_UP_MS`. */
  readonly warmUpMs?: number;
}

/** Loads all sides in turn, after a warm-up. */
export async function compare<Name extends string>(
  sides: Readonly<Record<Name, Side>>,
  { warmUpMs = WARM_UP_MS, ...job }: ComparedLoad,
): Promise<Record<Name, Sample[]>> {
  const runs = {} as Record<Name, () => Promise<Sample>>;
  for (const [name, { server, requests }] of Object.entries<Side>(sides)) {
    await putLoad(server, { ...job, requests, milliseconds: warmUpMs });
    runs[name as Name] = () => putLoad(server, { ...job, requests, milliseconds: ROUND_MS });
  }
  return interleave(runs);
}

/** The medians of all sides. */
export function rowsOf<Sample extends Record<string, number>>(
  samples: Readonly<Record<string, readonly Sample[]>>,
  name = "",
): Table["rows"] {
  return Object.fromEntries(Object.entries(samples).map(([side, each]) => [name + side, medians(each)]));
}

/** Puts load on a server. Rejects when one request failed: the figures would mean nothing. */
export async function putLoad({ port, pid }: Server, job: Job): Promise<Sample> {
  const { databasePid = NaN } = job;
  const cpuBefore = cpuSeconds(pid);
  const databaseBefore = cpuSecondsWithChildren(databasePid);
  const { requests, milliseconds, failures, p50, p99 } = await generate(port, job);
  if (failures > 0 || requests === 0)
    throw new Error(`Load on port ${String(port)}: ${String(failures)} of ${String(requests)} failed.`);
  return {
    "requests/s": (requests * 1000) / milliseconds,
    "CPU µs": ((cpuSeconds(pid) - cpuBefore) * 1e6) / requests,
    "database µs": ((cpuSecondsWithChildren(databasePid) - databaseBefore) * 1e6) / requests,
    "p50 ms": p50,
    "p99 ms": p99,
  };
}

/** Puts load on a port. Failed requests are counted. */
export async function generate(port: number, job: Job): Promise<Result> {
  const { requests, connections, milliseconds, perSecond = 0 } = job;
  // Two loads may run at once.
  const file = resolve(`.data/bench/requests-${String(port)}`);
  writeFileSync(file, requests.join("\0"), "latin1");
  const script = (name: string): string => join(import.meta.dirname, name);
  const last = [file, `${randomUUID()}-`, String(perSecond)];
  // wrk takes whole seconds.
  const duration = `-d${String(Math.max(1, Math.round(milliseconds / 1000)))}s`;
  const options = ["-t1", "--timeout", "30s", `-c${String(connections)}`, duration, "-s", script("wrk.lua")];
  const [program, ...args] = HAS_WRK
    ? ["wrk", ...options, `http://127.0.0.1:${String(port)}`, "--", ...last]
    : [process.execPath, script("wrk.js"), ...[port, connections, milliseconds].map(String), ...last];
  const { stdout } = await promisify(execFile)(program, args).finally(() => rmSync(file));
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Result;
}

/** The right number of rows, or no figure. */
export async function checkRows({ port }: Server, path: string, rows: number): Promise<void> {
  const headers = { "X-API-Key": KEYS[0] ?? "" };
  const response = await fetch(`http://127.0.0.1:${String(port)}${path}`, { headers });
  const body = await response.text();
  if (response.ok && (JSON.parse(body) as unknown[]).length === rows) return;
  throw new Error(`${path} has ${String(response.status)}: ${body.slice(0, 300)}`);
}

/** What one response cost: processor time of the server, and its highest memory in MiB. */
type Download = Readonly<Record<"MB" | "seconds" | "MB/s" | "first byte ms" | "CPU ms/MB" | "MiB", number>>;

/** Reads a whole response, pausing after each chunk, and samples the server's memory meanwhile. */
export async function download(
  { port, pid }: Server,
  path: string,
  { accept = "application/json", pauseMs = 0 } = {},
): Promise<Download> {
  let [memory, firstByteMs, bytes] = [0, 0, 0];
  const sampler = setInterval(() => (memory = Math.max(memory, residentMiB(pid))), 20);
  const [startedAt, cpuBefore] = [performance.now(), cpuSeconds(pid)];
  await new Promise<void>((done, reject) => {
    const headers = { Accept: accept, "X-API-Key": KEYS[0] ?? "" };
    get({ host: "127.0.0.1", port, path, headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${path}: ${String(response.statusCode)}`));
      response.on("data", (chunk: Buffer) => {
        firstByteMs ||= performance.now() - startedAt;
        bytes += chunk.length;
        if (pauseMs === 0) return;
        response.pause();
        setTimeout(() => response.resume(), pauseMs);
      });
      response.on("error", reject).on("end", done);
    }).on("error", reject);
  });
  clearInterval(sampler);
  const [megabytes, seconds] = [bytes / 1e6, (performance.now() - startedAt) / 1000];
  return {
    MB: megabytes,
    seconds,
    "MB/s": megabytes / seconds,
    "first byte ms": firstByteMs,
    "CPU ms/MB": ((cpuSeconds(pid) - cpuBefore) * 1000) / megabytes,
    MiB: memory,
  };
}
