import { mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { readRevision } from "../../generator/diff/revision.js";
import { gitIn } from "../support/git.js";
import { manifestOf } from "../support/manifest.js";
import { generateInto, ownFolder } from "../support/service.js";
import { modelWith } from "./catalogues.js";

const repository = ownFolder();
const generated = join(repository, "api/generated");

const git = gitIn(repository);

function commit(message: string): void {
  git("add", "-A");
  git("commit", "-q", "-m", message);
}

beforeAll(() => {
  git("init", "-q", "-b", "main");
  writeFileSync(join(repository, "README"), "No folder yet.\n");
  commit("Empty");
  git("tag", "empty");
  generateInto(generated, manifestOf([modelWith({ columns: { a: "int8" }, description: "Größe ✓" })]));
  commit("One endpoint");
  git("tag", "one");
  generateInto(
    generated,
    manifestOf([modelWith(), modelWith({ name: "api_b", tags: ["production", "api:b"] })]),
  );
  commit("Two endpoints");
  rmSync(join(generated, "catalogue.json"));
  symlinkSync("/etc/hostname", join(generated, "catalogue.json"));
  commit("A link");
  git("tag", "link");
  git("reset", "-q", "--hard", "HEAD~1");
});

function revision(ref: string, folder = "api/generated", cwd = repository) {
  return readRevision(`git:${ref}`, { cwd, generated: folder, defaultTier: "tier0" });
}

async function pathsAt(...args: Parameters<typeof revision>): Promise<readonly string[]> {
  const reading = await revision(...args);
  return reading.ok ? reading.value.catalogue.entries.map(({ path }) => path) : [reading.problems.join(" ")];
}

describe("a git revision as a revision", () => {
  it("is the generated folder as that commit has it", async () => {
    expect(await pathsAt("one")).toEqual(["/v1/bridges/volume"]);
    expect(await pathsAt("main")).toEqual(["/v1/bridges/volume", "/v1/general/b"]);
    expect(await pathsAt("HEAD~1")).toEqual(["/v1/bridges/volume"]);
  });

  it("keeps every character of a description", async () => {
    const reading = await revision("one");
    expect(reading.ok && reading.value.catalogue.entries[0]?.description).toBe("Größe ✓");
  });

  it("is found from a folder within the repository, and by an absolute path", async () => {
    const cwd = join(repository, "api");
    expect(await pathsAt("one", "generated", cwd)).toEqual(["/v1/bridges/volume"]);
    expect(await pathsAt("one", "../api/generated", cwd)).toEqual(["/v1/bridges/volume"]);
    expect(await pathsAt("one", generated)).toEqual(["/v1/bridges/volume"]);
  });

  it("is read even if the folder is deleted or changed in the work tree", async () => {
    rmSync(generated, { recursive: true });
    expect(await pathsAt("one")).toEqual(["/v1/bridges/volume"]);
    git("checkout", "-q", "--", ".");
  });

  it("leaves the work tree and the index as they are", async () => {
    mkdirSync(join(repository, "untracked"), { recursive: true });
    writeFileSync(join(repository, "untracked/file"), "");
    const state = () => [
      git("--no-optional-locks", "status", "--porcelain"),
      git("rev-parse", "HEAD"),
      statSync(join(repository, ".git/index")).mtimeMs,
      readdirSync(repository, { recursive: true, encoding: "utf8" }).filter(
        (file) => !file.startsWith(".git"),
      ),
    ];
    const before = state();
    await revision("one");
    expect(state()).toEqual(before);
  });
});

describe("a git revision is refused", () => {
  it.each([
    [
      "that does not exist",
      "nowhere",
      undefined,
      "There is no commit nowhere. If it is on the server only, fetch",
    ],
    ["without a name", "", undefined, "`git:` names no revision"],
    ["that looks like an option", "--output=x", undefined, "There is no commit --output=x"],
    ["that is a range", "one..main", undefined, "There is no commit one..main"],
    ["that names a file", "main:README", undefined, "There is no commit main:README"],
    ["without the folder", "empty", undefined, "git:empty has no api/generated/catalogue.json"],
    ["whose folder is a file", "one", "README", "git:one has no README/catalogue.json"],
    ["for a folder outside of the repository", "one", "../elsewhere", "lies outside of the git repository"],
    ["with a link for the catalogue", "link", undefined, "catalogue.json is not JSON"],
  ])("%s", async (_, ref, folder, problem) => {
    expect((await pathsAt(ref, folder)).join("\n")).toContain(problem);
  });

  it("outside of a repository", async () => {
    expect((await pathsAt("main", "generated", "/")).join("\n")).toContain("needs a git repository");
  });
});
