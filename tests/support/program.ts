import { type ChildProcess, spawnSync } from "node:child_process";
import { once } from "node:events";
import { describe } from "vitest";

/**
 * A suite that needs a program of the system. Where it is missing the suite is skipped, which vitest reports with the
 * reason in its name; in CI it fails.
 */
export function describeWith(program: string, name: string, suite: () => void): void {
  const isInstalled = spawnSync(program, ["-V"]).error === undefined;
  if (isInstalled || process.env["CI"] === "true") describe(name, suite);
  else {
    console.warn(`SKIPPED: ${name}: ${program} is not installed (apt-get install ${program}).`);
    describe.skip(`${name} (${program} is not installed)`, suite);
  }
}

/** Ends a program, also one that has ended by then. For `beforeAll` to return: `atEnd` cannot be used within it. */
export function stopOf(child: ChildProcess, signal: NodeJS.Signals = "SIGTERM"): () => Promise<void> {
  const exited = once(child, "exit");
  return async () => {
    child.kill(signal);
    await exited;
  };
}
