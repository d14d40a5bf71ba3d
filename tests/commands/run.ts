import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
// Its process starts in the folder in which it is loaded: not in one of a test, which is deleted.
import "esbuild";
import { expect } from "vitest";
import { inProcess } from "../support/in-process.js";
import { manifestOf, type TestModel } from "../support/manifest.js";
import { ownFolder } from "../support/service.js";

export const CLI = fileURLToPath(new URL("../../generator/bin/routewright.js", import.meta.url));
export const GOOD = {
  name: "volume",
  tags: ["production", "bridges", "api:volume"],
  columns: { value: "numeric" },
};
export const BAD: TestModel = {
  name: "bad",
  tags: ["production", "bridges", "api:bad"],
  api: { methods: [] },
};

export interface Run {
  readonly exit: number | null;
  readonly out: string;
  readonly err: string;
}

type Variables = Readonly<Record<string, string>>;

/** Runs `routewright` in this process, in a folder, one command at a time. Whatever it says, it never shows a stack trace. */
export async function routewright(
  cwd: string,
  args: readonly string[],
  variables: Variables = {},
): Promise<Run> {
  if (isRunning) throw new Error("Another command runs: two would leave each other's folder behind.");
  isRunning = true;
  const { env } = process;
  const before = process.cwd();
  process.env = { PATH: env["PATH"], ...variables };
  process.chdir(cwd);
  try {
    const { exit, out, error } = await inProcess(args);
    return withoutTrace({ exit, out, err: error });
  } finally {
    process.chdir(before);
    process.env = env;
    isRunning = false;
  }
}

let isRunning = false;

/** The same in a process of its own, of another user if need be. */
export function routewrightProcess(
  cwd: string,
  args: readonly string[],
  variables: Variables = {},
  uid?: number,
): Run {
  const env = { PATH: process.env["PATH"], ...variables };
  const options = { cwd, env, encoding: "utf8", ...(uid !== undefined && { uid }) } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...args], options);
  return withoutTrace({ exit: status, out: stdout, err: stderr });
}

function withoutTrace(finished: Run): Run {
  expect(finished.out + finished.err).not.toMatch(/\n\s+at |node:internal|Error:|\[object/);
  return finished;
}

/** A folder with the manifest of these models in it. */
export function project(...models: readonly TestModel[]): string {
  const folder = ownFolder();
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifestOf(models)));
  return folder;
}

export const GENERATE = ["generate", "--manifest", "manifest.json"];
