import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** A server under test, in a process of its own. */
export interface Server {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

export interface Program {
  /** For messages. */
  readonly name: string;
  /** What follows `node`: nobody gets flags of its own. A `{port}` in it is the port. */
  readonly args: readonly string[];
  readonly folder: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** A start may have to compile ten thousand modules. */
const START_MS = 60_000;
const STOP_MS = 12_000;
const RUN_MS = 120_000;

const living = new Set<ChildProcess>();
process.once("exit", () => living.forEach((child) => child.kill("SIGKILL")));

/** Starts a server on a free port, which it gets as `PORT`, and waits until it answers. */
export async function startServer(program: Program): Promise<Server> {
  const port = await freePort();
  const args = program.args.map((argument) => argument.replace("{port}", String(port)));
  const child = start({ ...program, args, environment: { ...program.environment, PORT: String(port) } });
  const deadline = Date.now() + START_MS;
  while (!(await answers(port))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      child.kill("SIGKILL");
      throw new Error(`${program.name} does not start: ${complaintsOf(program)}`);
    }
    await sleep(50);
  }
  return { port, pid: child.pid ?? 0, stop: () => stop(child) };
}

/** Runs a program to its end and returns how long that took, start of the process included, in seconds. */
export async function timeProgram(program: Program): Promise<number> {
  const started = performance.now();
  const child = start(program);
  const limit = setTimeout(() => child.kill("SIGKILL"), RUN_MS);
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  clearTimeout(limit);
  if (child.exitCode !== 0) throw new Error(`${program.name} failed: ${complaintsOf(program)}`);
  return (performance.now() - started) / 1000;
}

/** What goes to standard output is thrown away, logs included; complaints are kept in case it fails. */
function start(program: Program): ChildProcess {
  const complaints = openSync(complaintsFile(program), "w");
  const child = spawn(process.execPath, program.args, {
    cwd: program.folder,
    // Only this: settings of the caller's shell change nothing.
    env: {
      PATH: process.env["PATH"],
      HOME: process.env["HOME"],
      NODE_ENV: "production",
      ...program.environment,
    },
    stdio: ["ignore", "ignore", complaints],
  });
  closeSync(complaints);
  living.add(child);
  child.once("exit", () => living.delete(child));
  return child;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  const limit = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
  child.kill("SIGTERM");
  await ended;
  clearTimeout(limit);
}

const complaintsFile = ({ folder, name }: Program): string => `${folder}/${name}.err`;

function complaintsOf(program: Program): string {
  return readFileSync(complaintsFile(program), "utf8").trim().slice(-2000) || "it said nothing.";
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Any answer will do: whether it is the right one is looked at later. */
async function answers(port: number): Promise<boolean> {
  try {
    await (await fetch(`http://127.0.0.1:${String(port)}/health`)).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}
