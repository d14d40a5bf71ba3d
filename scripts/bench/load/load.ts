import { type ChildProcess, execFile, fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cpuSeconds, cpuSecondsOfChildren, type Server } from "../process.js";

/** A period of load. */
export interface Job {
  readonly port: number;
  /** HTTP/1.1 texts, sent in turn. `{uuid}` in one becomes a new UUID each time. */
  readonly requests: readonly string[];
  /** The right statuses of each request; 2xx when left out. */
  readonly statuses?: readonly (readonly number[])[];
  /** Each has one request at a time. */
  readonly connections: number;
  readonly milliseconds: number;
  /** Sends at a fixed rate, whether or not earlier requests are answered; at saturation when left out. */
  readonly perSecond?: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly requestsPerSecond: number;
  /** Milliseconds from when the request was due to the end of its response. */
  readonly p50: number;
  readonly p99: number;
  /** Share of one core that the generator used; NaN for wrk. */
  readonly generatorCpu: number;
  readonly failure: string | null;
}

/** A result with the processor time of the server and of PostgreSQL per request, in microseconds. */
export type Sample = LoadResult & { readonly cpu: number; readonly databaseCpu: number };

const HAS_WRK = spawnSync("wrk", ["--version"]).error === undefined;

/** The text of a GET request. */
export function getRequest(path: string, key: string, ...headers: readonly string[]): string {
  const lines = [`GET ${path} HTTP/1.1`, "Host: 127.0.0.1", `X-API-Key: ${key}`, ...headers];
  return `${lines.join("\r\n")}\r\n\r\n`;
}

/** The load generators: wrk at saturation where it is installed, the bench's own process otherwise. */
export class Load {
  readonly #child: ChildProcess;
  readonly #databasePid: number;

  constructor(databasePid: number) {
    this.#databasePid = databasePid;
    const program = fileURLToPath(new URL("./generator.ts", import.meta.url));
    this.#child = fork(program, { execArgv: ["--import", "tsx"] });
  }

  /** Puts load on a server. Rejects when one request failed: the figures would mean nothing. */
  async run({ port, pid }: Server, options: Omit<Job, "port">): Promise<Sample> {
    const job = { ...options, port };
    const seconds = (): [number, number] => [cpuSeconds(pid), cpuSecondsOfChildren(this.#databasePid)];
    const [cpuBefore, databaseBefore] = seconds();
    const isPlain = job.perSecond === undefined && !job.statuses && !job.requests[0]?.includes("{uuid}");
    const result = HAS_WRK && isPlain ? await runWrk(job) : await this.#generate(job);
    if (result.failure !== null) throw new Error(`Load on port ${String(port)} failed: ${result.failure}.`);
    const [cpuAfter, databaseAfter] = seconds();
    const perRequest = 1e6 / result.requests;
    return {
      ...result,
      cpu: (cpuAfter - cpuBefore) * perRequest,
      databaseCpu: (databaseAfter - databaseBefore) * perRequest,
    };
  }

  async #generate(job: Job): Promise<LoadResult> {
    this.#child.send(job);
    const [result] = (await once(this.#child, "message")) as [LoadResult];
    return result;
  }

  stop(): void {
    this.#child.disconnect();
  }
}

async function runWrk({ port, requests, connections, milliseconds }: Job): Promise<LoadResult> {
  const file = join(tmpdir(), `routewright-bench-${String(process.pid)}`);
  writeFileSync(file, requests.join("\0"), "latin1");
  const script = fileURLToPath(new URL("./wrk.lua", import.meta.url));
  // wrk takes whole seconds.
  const duration = `${String(Math.max(1, Math.round(milliseconds / 1000)))}s`;
  const args = ["-t1", "--timeout", "30s", `-c${String(connections)}`, `-d${duration}`, "-s", script];
  try {
    const { stdout } = await promisify(execFile)("wrk", [
      ...args,
      `http://127.0.0.1:${String(port)}`,
      "--",
      file,
    ]);
    const result = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as {
      readonly [key in "requests" | "milliseconds" | "p50" | "p99" | "failures"]: number;
    };
    return {
      requests: result.requests,
      requestsPerSecond: (result.requests * 1000) / result.milliseconds,
      p50: result.p50,
      p99: result.p99,
      generatorCpu: NaN,
      failure:
        result.failures > 0 || result.requests === 0
          ? `${String(result.failures)} of ${String(result.requests)} requests`
          : null,
    };
  } finally {
    rmSync(file, { force: true });
  }
}
