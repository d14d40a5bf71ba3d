import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { onTestFinished } from "vitest";

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
  readonly finished: Promise<Finished>;
}

type Variables = Readonly<Record<string, string>>;

/** Starts the built command in a folder, with these variables and none of this process's own but the path; it ends with the test. */
export function start(cwd: string, args: readonly string[], variables: Variables = {}): Running {
  const env = { PATH: process.env["PATH"], HOME: cwd, ...variables };
  const child = spawn(process.execPath, [BIN, ...args], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  const text = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (text.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (text.stderr += chunk.toString()));
  onTestFinished(() => void child.kill("SIGKILL"));
  const finished = once(child, "close").then(([code]) => ({ code: code as number | null, ...text }));
  return { child, printed: () => ({ ...text }), finished };
}

/** Runs the built command to its end. */
export function run(cwd: string, args: readonly string[], variables: Variables = {}): Promise<Finished> {
  return start(cwd, args, variables).finished;
}

export interface Served extends Running {
  readonly url: string;
  /** Ends it as `kill` does. */
  readonly stop: () => Promise<Finished>;
}

/** Starts `routewright serve` on a free port and waits until it listens. */
export async function serve(cwd: string, args: readonly string[], variables: Variables): Promise<Served> {
  const running = start(cwd, ["serve", ...args], { PORT: "0", ...variables });
  const url = await Promise.race([
    listening(running),
    running.finished.then(({ code, stderr }) => {
      throw new Error(`ended with ${String(code)}: ${stderr}`);
    }),
  ]);
  const stop = (): Promise<Finished> => {
    running.child.kill("SIGTERM");
    return running.finished;
  };
  return { ...running, url, stop };
}

async function listening({ child, printed }: Running): Promise<string> {
  for (;;) {
    const url = /"url":"(http:[^"]+)".*"msg":"listening"/.exec(printed().stdout)?.[1];
    if (url !== undefined) return url;
    await once(child.stdout!, "data");
  }
}
