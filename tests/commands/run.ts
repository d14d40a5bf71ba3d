import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { manifestOf, type TestModel } from "../support/manifest.js";
import { ownFolder } from "../support/service.js";

export const CLI = fileURLToPath(new URL("../../generator/bin/routewright.js", import.meta.url));
export const GOOD: TestModel = {
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

/** Runs `routewright` in a folder. Whatever it says, it never shows a stack trace. */
export function routewright(
  cwd: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
  uid?: number,
): Run {
  const { PATH = "" } = process.env;
  const options = {
    cwd,
    env: { PATH, ...variables },
    encoding: "utf8",
    ...(uid !== undefined && { uid }),
  } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...args], options);
  expect(stdout + stderr).not.toMatch(/\n\s+at |node:internal|Error:|\[object/);
  return { exit: status, out: stdout, err: stderr };
}

/** A folder with the manifest of these models in it. */
export function project(...models: readonly TestModel[]): string {
  const folder = ownFolder();
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifestOf(models)));
  return folder;
}

export const GENERATE = ["generate", "--manifest", "manifest.json"];
