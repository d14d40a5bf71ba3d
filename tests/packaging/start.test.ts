import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { loadsOf } from "../../scripts/bench/static-imports.js";

const root = join(import.meta.dirname, "../..");
const WORKSPACES = [".", "generator", "runtime", "runtime/ramp"];

/** What the commands of `scripts/ready.js` would install where nothing is. */
let forStart: readonly string[], forTests: readonly string[];
const folder = mkdtempSync(join(tmpdir(), "routewright-start-"));

beforeAll(async () => {
  for (const file of ["package-lock.json", ...WORKSPACES.map((name) => join(name, "package.json"))])
    cpSync(join(root, file), join(folder, file), { recursive: true });
  forStart = await installedBy("--omit=dev", "--omit=peer");
  forTests = await installedBy("--include=dev", "--include=peer");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function installedBy(...omitted: readonly string[]): Promise<readonly string[]> {
  const args = ["ci", "--dry-run", "--offline", "--no-audit", "--no-fund", ...omitted];
  const { stdout } = await promisify(execFile)("npm", args, { cwd: folder });
  return [...stdout.matchAll(/^add (\S+) /gm)].map(([, name = ""]) => name);
}

it("`npm start` installs at most 250 packages of others, and `npm test` the rest", () => {
  const own = WORKSPACES.slice(1).length;
  expect(forStart.length - own).toBeLessThanOrEqual(250);
  expect(forTests).toEqual(expect.arrayContaining([...forStart]));
  const rest = forTests.filter((name) => !forStart.includes(name));
  expect(rest).toEqual(expect.arrayContaining(["vitest", "typescript"]));
  expect(forStart.filter((name) => ["viem", "@duckdb/node-api"].includes(name))).toEqual([]);
});

it("it installs what the build and the demo import", () => {
  const pages = ["explorer/explorer-page", "explorer/assistant-page", "reference/reference-page"].map(
    (page) => `runtime/pages/${page}.ts`,
  );
  const entries = ["scripts/build.ts", "scripts/demo/ramp.ts", "scripts/demo/relations.ts", ...pages];
  const { packages } = loadsOf(...entries.map((entry) => join(root, entry)));
  expect(packages).toEqual(expect.arrayContaining(["@modelcontextprotocol/ext-apps", "d3-scale", "esbuild"]));
  expect(forStart).toEqual(expect.arrayContaining([...packages]));
});
