import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { NewConnection } from "../../../runtime/ramp/operator/integrations.js";
import { atEnd } from "../../support/at-end.js";
import { bundleOf } from "../../support/bundle.js";

export interface OwnProcess {
  /** The first line that it printed. */
  readonly said: string;
  readonly child: ChildProcess;
  /** Resolves once it is gone. */
  kill(signal?: NodeJS.Signals): Promise<void>;
}

/**
 * Starts a TypeScript file as a process of its own and waits for its first line.
 * @param inFront a command that runs the one behind it
 */
export async function startProcess(
  file: string,
  environment: Readonly<Record<string, string>> = {},
  inFront: readonly string[] = [],
): Promise<OwnProcess> {
  const path = await bundleOf(fileURLToPath(new URL(file, import.meta.url)));
  const [command, ...options] = [...inFront, process.execPath, path];
  const child = spawn(command, options, {
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

/** The connection to a conformance provider (providers/conformance) in a process of its own, which ends with the test file. */
export async function ownConformanceProvider(): Promise<NewConnection> {
  const { said, kill } = await startProcess("../providers/conformance/provider-process.ts");
  atEnd(() => kill());
  return JSON.parse(said) as NewConnection;
}
