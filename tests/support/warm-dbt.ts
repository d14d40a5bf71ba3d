import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { programPath } from "./needs.js";

const script = (name: string): string => join(import.meta.dirname, name);

/**
 * Puts a `dbt` in front of the installed one, of which each run is a fork of one process: its libraries take two of the three
 * seconds of a processor that a run takes. Without an installed one, or one that is not Python, there is none.
 */
export async function startWarmDbt(): Promise<() => Promise<void>> {
  const installed = programPath("dbt");
  const start = existsSync(installed) ? readFileSync(installed, "latin1").slice(0, 500) : "";
  const python = /^#!(\S*python\S*)\n/.exec(start)?.[1];
  if (python === undefined) return () => Promise.resolve();
  const folder = await mkdtemp(join(tmpdir(), "routewright-dbt-"));
  const socket = join(folder, "socket");
  const child = spawn(python, [script("warm-dbt.py"), socket], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "exit");
  await Promise.race([once(child.stdout, "data"), ended]);
  const client = `#!/bin/sh\nexec ${python} -IS ${script("warm-dbt-client.py")} ${socket} "$@"\n`;
  await writeFile(join(folder, "dbt"), client, { mode: 0o755 });
  process.env["PATH"] = folder + delimiter + (process.env["PATH"] ?? "");
  return async () => {
    child.stdin.end();
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
}
