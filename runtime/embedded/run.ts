import { spawn, type ChildProcess } from "node:child_process";

import type { Account } from "./account.js";

/** How a program ended: its exit code (`null` when it could not be run or was killed) and what it said. */
export interface Ended {
  readonly code: number | null;
  readonly output: string;
}

export interface RunOptions {
  readonly account?: Account | undefined;
  /** Entered before the account is assumed, so it may lie below a directory which the account can't traverse. */
  readonly cwd?: string;
  /** A file descriptor that gets the output instead of `Ended.output`. */
  readonly outputTo?: number;
}

/**
 * Runs one program to its end. It gets a session of its own: Ctrl-C in a terminal goes to the whole process group, and
 * PostgreSQL must outlive it until we have stopped gracefully. That a program can't be run is a result, not an exception.
 */
export function run(file: string, args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return new Promise((resolve) => {
    try {
      collect(start(file, args, options), resolve);
    } catch (error) {
      resolve({ code: null, output: (error as Error).message });
    }
  });
}

function start(file: string, args: readonly string[], options: RunOptions): ChildProcess {
  const sink = options.outputTo ?? "pipe";
  return spawn(file, args, {
    ...options.account,
    cwd: options.cwd,
    env: environment(),
    stdio: ["ignore", sink, sink],
    detached: process.platform !== "win32",
    windowsHide: true,
  });
}

function collect(child: ChildProcess, done: (ended: Ended) => void): void {
  let output = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.once("error", (error) => done({ code: null, output: error.message }));
  child.once("close", (code) => done({ code, output }));
}

/** Ours without `PG…`, which would redirect PostgreSQL's programs, and with messages in English. */
function environment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("PG"));
  return { ...Object.fromEntries(kept), LC_ALL: "C", TZ: "UTC" };
}
