/** What commands write beside the generated folder: whole or not at all, and with what is missing. */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { writeFiles } from "../../generator/output/replace-file.js";
import { ownFolder } from "../support/service.js";
import { GENERATE, GOOD, project, type Run, routewright } from "./run.js";

it("changelog without a generated folder says how to get one", async () => {
  const folder = project(GOOD);
  expect(await routewright(folder, ["changelog", "manifest.json", "manifest.json"])).toEqual({
    exit: 2,
    out: "",
    err: "error: There is no generated folder generated to keep changelog.json in: run `routewright generate`, or name the folder with --generated.\n",
  });
  expect(readdirSync(folder)).toEqual(["manifest.json"]);
});

/** A command, the file that it writes, and a file of the name of the folder that it goes into. */
const WRITERS: readonly (readonly [file: string, args: readonly string[], taken: string])[] = [
  ["generated/changelog.json", ["changelog", "base.json"], "generated"],
  ["ci/baseline.json", ["lint", "--manifest", "manifest.json", "--write-baseline"], "ci"],
  ["api-tests/bridges/volume.yml", ["test", "--init"], "api-tests"],
  ["ci/regenerate.sh", ["init", "--yes", "--manifest", "manifest.json", "--ci", "gitlab"], "ci"],
];
const CONFIG = JSON.stringify({ lint: { baseline: "ci/baseline.json" } });

async function inProject(
  args: readonly string[],
  prepare: (folder: string) => void,
): Promise<Run & { folder: string }> {
  const folder = project(GOOD);
  await routewright(folder, GENERATE);
  if (args[0] === "lint") writeFileSync(join(folder, "routewright.config.json"), CONFIG);
  const base = readFileSync(join(folder, "manifest.json"), "utf8").replaceAll('"value"', '"former"');
  writeFileSync(join(folder, "base.json"), base);
  prepare(folder);
  return { folder, ...(await routewright(folder, args)) };
}

it.each(WRITERS)("%s is written with its folders, and nothing is left beside it", async (file, args) => {
  const { folder, exit, err } = await inProject(args, () => undefined);
  expect({ exit, err }).toEqual({ exit: 0, err: expect.not.stringContaining("error") });
  expect(existsSync(join(folder, file))).toBe(true);
  expect(readdirSync(dirname(join(folder, file))).filter((name) => name.endsWith(".tmp"))).toEqual([]);
});

it.each(WRITERS)("%s whose folder is a file is refused, by its name", async (_, args, taken) => {
  const { folder, exit, out, err } = await inProject(args, (within) => {
    rmSync(join(within, taken), { recursive: true, force: true });
    writeFileSync(join(within, taken), "mine");
  });
  expect({ exit, out }).toEqual({ exit: 2, out: "" });
  expect(err).toMatch(new RegExp(`^error: .*\\b${taken}\\b.*`));
  expect(err).not.toMatch(/^error: E[A-Z]+:/);
  expect(readFileSync(join(folder, taken), "utf8")).toBe("mine");
});

it("a file that is a link stays one, and one that exists keeps its mode", () => {
  const folder = ownFolder();
  writeFileSync(join(folder, "kept"), "old", { mode: 0o640 });
  symlinkSync("kept", join(folder, "link"));
  expect(writeFiles([{ file: join(folder, "link"), text: "new" }])).toMatchObject({ ok: true });
  expect(readFileSync(join(folder, "kept"), "utf8")).toBe("new");
  expect(lstatSync(join(folder, "link")).isSymbolicLink()).toBe(true);
  expect(lstatSync(join(folder, "kept")).mode & 0o777).toBe(0o640);
});

it("a file that cannot be replaced keeps its text, and what was written before it is named", () => {
  const folder = ownFolder();
  mkdirSync(join(folder, "taken"));
  const writing = writeFiles([
    { file: join(folder, "first"), text: "new" },
    { file: join(folder, "taken"), text: "new" },
  ]);
  expect(writing).toMatchObject({ ok: false });
  expect(writing.ok ? "" : writing.problems[0]).toMatch(
    /Cannot write .*taken: .* Written before it: .*first\.$/,
  );
  expect(readdirSync(folder).sort()).toEqual(["first", "taken"]);
});
