import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { atEnd } from "./at-end.js";

const BIN = join(import.meta.dirname, "../../generator/bin/routewright.js");

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  /** All that it has printed so far. */
  readonly printed: () => { stdout: string; stderr: string };
  /** Resolves once what it has printed matches; rejects when it ends before. */
  readonly until: (pattern: RegExp) => Promise<RegExpExecArray>;
  readonly finished: Promise<Finished>;
  /** Ends it with a signal, SIGTERM unless given. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<Finished>;
}

type Variables = Readonly<Record<string, string>>;

/**
 * Starts the built command in a folder, with these variables and none of this process's own but the path; it ends with the
 * test. `launcher` is a command that runs it, such as `prlimit`.
 */
export function start(
  cwd: string,
  args: readonly string[],
  variables: Variables = {},
  launcher: readonly string[] = [],
): Running {
  const env = { PATH: process.env["PATH"], HOME: cwd, ...variables };
  const [program = "", ...rest] = [...launcher, process.execPath, BIN, ...args];
  const child = spawn(program, rest, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  const text = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (text.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (text.stderr += chunk.toString()));
  atEnd(() => void child.kill("SIGKILL"));
  const finished = once(child, "close").then(([code]) => ({ code: code as number | null, ...text }));
  const until = async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const found = pattern.exec(text.stdout + text.stderr);
      if (found) return found;
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`It ended: ${text.stdout}${text.stderr}`);
      const news = new AbortController();
      const { signal } = news;
      await Promise.race([
        once(child.stdout, "data", { signal }),
        once(child.stderr, "data", { signal }),
        finished,
      ]);
      // Else those that waited for nothing would stay and add up.
      news.abort();
    }
  };
  const stop = (signal: NodeJS.Signals = "SIGTERM"): Promise<Finished> => {
    child.kill(signal);
    return finished;
  };
  return { child, printed: () => ({ ...text }), until, finished, stop };
}

/** Runs the built command to its end. */
export function run(cwd: string, args: readonly string[], variables: Variables = {}): Promise<Finished> {
  return start(cwd, args, variables).finished;
}

export interface Served extends Running {
  readonly url: string;
}

/** Starts `routewright serve` on a free port and waits until it listens. */
export async function serve(
  cwd: string,
  args: readonly string[],
  variables: Variables,
  launcher: readonly string[] = [],
): Promise<Served> {
  const running = start(cwd, ["serve", ...args], { PORT: "0", ...variables }, launcher);
  const [, url = ""] = await running.until(/"url":"(http:[^"]+)".*"msg":"listening"/);
  return { ...running, url };
}

interface LoggedFailure {
  readonly level: number;
  readonly route: string;
  readonly msg: string;
  /** `stack` has the causes too. */
  readonly err: { readonly type: string; readonly stack: string };
}

/** What the log says of a request whose query failed. */
export async function loggedFailure(
  served: Served,
  requestId: string,
  msg = "query failed",
): Promise<LoggedFailure> {
  const [line] = await served.until(new RegExp(`^{.*"requestId":"${requestId}".*"${msg}".*}$`, "m"));
  return JSON.parse(line) as LoggedFailure;
}
