import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../clickhouse/start-clickhouse.js";
import { setTimeout as sleep } from "node:timers/promises";

/** A server under test, in its own process. */
export interface Server {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

export interface Program {
  /** For messages. */
  readonly name: string;
  /** Node when left out. */
  readonly program?: string;
  /** Its arguments. `{port}` stands for the port. */
  readonly args: readonly string[];
  readonly folder: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** A start may have to compile ten thousand modules. */
const START_MS = 60_000;
const STOP_MS = 12_000;
const RUN_MS = 120_000;

const running = new Set<ChildProcess>();
process.once("exit", () => running.forEach((child) => child.kill("SIGKILL")));

/** Starts a server on a free port, passed as `PORT`, and waits until it responds. */
export async function startServer(program: Program): Promise<Server> {
  const port = await freePort();
  const args = program.args.map((argument) => argument.replace("{port}", String(port)));
  const child = start({ ...program, args, environment: { ...program.environment, PORT: String(port) } });
  const deadline = Date.now() + START_MS;
  while (!(await responds(port))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      child.kill("SIGKILL");
      throw new Error(`${program.name} does not start.`);
    }
    await sleep(50);
  }
  return { port, pid: child.pid ?? 0, stop: () => stop(child) };
}

/** Runs a program to its end and returns the seconds that it took, start of the process included. */
export async function timeProgram(program: Program): Promise<number> {
  const started = performance.now();
  const child = start(program);
  await once(child, "exit", { signal: AbortSignal.timeout(RUN_MS) });
  if (child.exitCode !== 0) throw new Error(`${program.name} failed.`);
  return (performance.now() - started) / 1000;
}

/** Standard output is discarded: it has the log of every request. */
function start(program: Program): ChildProcess {
  const child = spawn(program.program ?? process.execPath, program.args, {
    cwd: program.folder,
    // Nothing else: settings of the caller's shell must not change the figures.
    env: {
      PATH: process.env["PATH"],
      HOME: process.env["HOME"],
      NODE_ENV: "production",
      ...program.environment,
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const limit = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
  child.kill("SIGTERM");
  await once(child, "exit");
  clearTimeout(limit);
}

async function responds(port: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${String(port)}/health`);
    await response.arrayBuffer();
    // A server that listens before it is ready.
    return response.status !== 503;
  } catch {
    return false;
  }
}

/** Linux counts processor time in hundredths of a second. */
const TICKS_PER_SECOND = 100;

/** Seconds of processor time that a process has used, its threads included; NaN on systems without `/proc`. */
export function cpuSeconds(pid: number): number {
  return secondsOf(statOf(pid), 11);
}

/** Seconds of processor time of a process and its children, those that have ended included. */
export function cpuSecondsWithChildren(pid: number): number {
  const children = readdirSync("/proc")
    .map((name) => statOf(Number(name)))
    .filter((fields) => fields[1] === String(pid));
  return children.reduce(
    (sum, fields) => sum + secondsOf(fields, 11),
    secondsOf(statOf(pid), 11) + secondsOf(statOf(pid), 13),
  );
}

export function childrenOf(pid: number): readonly number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((each) => statOf(each)[1] === String(pid));
}

/** How many connections to a port a process has accepted and not closed. */
export function connectionsOf(pid: number, port: number): number {
  const local = port.toString(16).toUpperCase().padStart(4, "0");
  const established = procFile(pid, "net/tcp")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, address = "", , state]) => address.endsWith(`:${local}`) && state === "01");
  const sockets = new Set(established.map((fields) => `socket:[${String(fields[9])}]`));
  const folder = `/proc/${String(pid)}/fd`;
  return readdirSync(folder).filter((file) => sockets.has(linkOf(join(folder, file)))).length;
}

/** Empty for a file that has been closed. */
function linkOf(file: string): string {
  try {
    return readlinkSync(file);
  } catch {
    return "";
  }
}

/** User and system time. */
const secondsOf = (stat: readonly string[], first: number): number =>
  (Number(stat[first]) + Number(stat[first + 1])) / TICKS_PER_SECOND;

/** `/proc/<pid>/stat` from the state on; empty when there is none. Only the program's name, before it, has spaces. */
function statOf(pid: number): readonly string[] {
  const stat = procFile(pid, "stat");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** Resident memory of a process in MiB; NaN on systems without `/proc`. */
export function residentMiB(pid: number): number {
  return Number(/^VmRSS:\s*(\d+)/m.exec(procFile(pid, "status"))?.[1]) / 1024;
}

function procFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${String(pid)}/${name}`, "utf8");
  } catch {
    return "";
  }
}
