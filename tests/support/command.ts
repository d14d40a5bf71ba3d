import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";

const CLI = fileURLToPath(new URL("../../generator/bin/routewright.js", import.meta.url));

/** The command line as a process of its own, killed at the end of the test file if it still runs. */
export interface RunningCommand {
  readonly process: ChildProcess;
  /** What it has written so far, to both outputs. */
  readonly output: () => string;
  /** Resolves once the output matches; rejects when the process ends before. */
  until(pattern: RegExp): Promise<string>;
  /** Ends it with a signal and resolves with its exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Starts `routewright` with nothing in its environment but `variables` and what a process needs. */
export function startCommand(
  args: readonly string[],
  options: { readonly cwd: string; readonly variables?: Readonly<Record<string, string>> },
): RunningCommand {
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(process.execPath, [CLI, ...args], {
    cwd: options.cwd,
    env: { PATH, HOME, ...options.variables },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const ended = once(child, "exit");
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
  afterAll(() => void child.kill("SIGKILL"));
  return {
    process: child,
    output: () => output,
    async until(pattern) {
      while (!pattern.test(output)) {
        const news = await Promise.race([
          once(child.stdout, "data"),
          once(child.stderr, "data"),
          ended.then(() => null),
        ]);
        if (news === null && !pattern.test(output))
          throw new Error(`It ended without ${String(pattern)}:\n${output}`);
      }
      return output;
    },
    async stop(signal = "SIGTERM") {
      child.kill(signal);
      const [code] = (await ended) as [number | null];
      return code;
    },
  };
}
