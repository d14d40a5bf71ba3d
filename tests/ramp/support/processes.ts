import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface OwnProcess {
  /** The first line that it printed. */
  readonly said: string;
  readonly child: ChildProcess;
  /** Resolves once it is gone. */
  kill(signal?: NodeJS.Signals): Promise<void>;
}

/** Starts a TypeScript file as a process of its own and waits for its first line. */
export async function startProcess(
  file: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<OwnProcess> {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = spawn(process.execPath, ["--import", "tsx", path], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, ...environment },
  });
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const said = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    void gone.then(() => reject(new Error(`${file} ended before it said anything.`)));
  });
  child.stdout.resume();
  return {
    said,
    child,
    async kill(signal = "SIGTERM") {
      child.kill(signal);
      await gone;
    },
  };
}
