import { createServer } from "node:http";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { DiffOptions } from "../../generator/commands/diff.js";
import { routewright } from "../commands/run.js";
import { gitIn } from "../support/git.js";
import { manifestOf } from "../support/manifest.js";
import { listen } from "../support/port.js";
import { generateInto, ownFolder } from "../support/service.js";
import { diffOf, modelWith } from "./catalogues.js";

const folder = ownFolder();
const [base, head] = [
  manifestOf([modelWith({ columns: { a: "text", b: "int8" } })]),
  manifestOf([modelWith({ columns: { a: "text" }, description: "New words." })]),
];
const [baseFile, headFile] = ["base.json", "head.json"].map((file) => join(folder, file)) as [string, string];
const generated = join(folder, "generated");

beforeAll(() => {
  writeFileSync(baseFile, JSON.stringify(base));
  writeFileSync(headFile, JSON.stringify(head));
  generateInto(generated, base);
});

function run(options: Partial<DiffOptions>) {
  return diffOf({ base: baseFile, head: headFile, ...options });
}

describe("the command diff", () => {
  it.each([
    ["breaking", baseFile, headFile, 1],
    ["any", baseFile, headFile, 1],
    ["none", baseFile, headFile, 0],
    ["breaking", headFile, baseFile, 0],
    ["any", headFile, baseFile, 1],
    ["any", baseFile, baseFile, 0],
  ] as const)("with --fail-on %s exits as the changes are", async (failOn, from, to, exit) => {
    expect((await run({ failOn, base: from, head: to })).exit).toBe(exit);
  });

  it("finds no difference between a manifest and the folder made of it", async () => {
    const { exit, output, notes } = await run({ head: generated, failOn: "any" });
    expect([exit, notes]).toEqual([0, []]);
    expect(output).toContain("0 exposing, 0 breaking, 0 warnings, 0 compatible");
  });

  it("reports the same from a folder as from its manifest", async () => {
    const [fromFolder, fromFile] = await Promise.all([run({ base: `${generated}/` }), run({})]);
    const text = fromFolder.output?.replace(`${generated}/`, baseFile);
    expect(text).toBe(fromFile.output);
    expect(text).toContain("column-removed  /v1/bridges/volume  b: was int8");
  });

  it("takes the tier of untagged models from its options", async () => {
    const { output } = await run({ base: generated, head: baseFile, defaultTier: "tier2" });
    expect(output).toContain("tier-raised  /v1/bridges/volume  tier0 → tier2");
  });

  it("shows the warnings of both revisions", async () => {
    const odd = join(folder, "odd.json");
    writeFileSync(odd, JSON.stringify(base).replace("manifest/v12.json", "manifest/v99.json"));
    const { notes = [] } = await run({ base: odd, head: odd });
    expect(notes).toHaveLength(2);
    expect(notes[0]).toMatch(/^warning: The manifest's schema is .*v99/);
  });

  it("reads an address and shows it without its password and query", async () => {
    const server = createServer((_, response) => response.end(JSON.stringify(base)));
    const host = await listen(server);
    const { exit, output } = await run({ base: `http://user:secret@${host}/manifest.json?token=secret` });
    expect(exit).toBe(1);
    expect(output).toContain(`from http://${host}/manifest.json to`);
    expect(output).not.toContain("secret");
  });

  it("passes with --missing-base ignore where there is no base yet, and says so", async () => {
    const { exit, notes } = await run({ base: "nowhere", failOn: "any", missingBase: "ignore" });
    expect({ exit, notes }).toEqual({
      exit: 0,
      notes: [expect.stringMatching(/^warning: No file or folder nowhere: .* Nothing was compared\.$/)],
    });
    expect((await run({ head: "nowhere", missingBase: "ignore" })).exit).toBe(2);
    const below = join(baseFile, "generated");
    expect((await run({ head: below })).errors?.[0]).toMatch(/^No file or folder /);
  });

  it("says why a change breaks and how to accept it, in every format for people", async () => {
    for (const format of ["text", "markdown", "github"] as const) {
      const { output } = await run({ format });
      expect(output, format).toContain("Clients that read the field fail.");
      expect(output, format).toMatch(/To accept/);
    }
  });

  it("names everything that it cannot read, once, and exits with 2", async () => {
    const accept = join(folder, "accept-bad.json");
    writeFileSync(accept, '[{"kind": "no-such-kind", "endpoint": "/v1/a", "reason": "x"}, 1]');
    const { exit, errors = [], output } = await run({ base: "nowhere", head: "nowhere", accept });
    expect([exit, output]).toEqual([2, undefined]);
    expect(errors.map((error) => error.split(/[.:]/)[0])).toEqual([
      "No file or folder nowhere",
      expect.stringContaining("accept-bad"),
      expect.stringContaining("accept-bad"),
    ]);
  });

  it.each([
    ["a folder that is none of ours", "empty", "is not a generated folder"],
    ["a file that is no manifest", "other.json", "is not a dbt manifest"],
    ["an accept file that is not there", undefined, "No accept file missing.json."],
  ])("exits with 2 at %s", async (_, side, problem) => {
    mkdirSync(join(folder, "empty"), { recursive: true });
    writeFileSync(join(folder, "other.json"), "{}");
    const { exit, errors } = await run(
      side === undefined ? { accept: "missing.json" } : { head: join(folder, side) },
    );
    expect(exit).toBe(2);
    expect(errors?.join("\n")).toContain(problem);
  });
});

describe("on the command line", () => {
  const project = join(folder, "project");
  const diffed = (...args: readonly string[]) => routewright(project, ["diff", ...args]);

  beforeAll(() => {
    mkdirSync(project, { recursive: true });
    const git = gitIn(project);
    git("init", "-q", "-b", "main");
    generateInto(join(project, "api"), base);
    git("add", "-A");
    git("commit", "-q", "-m", "Generated");
    generateInto(join(project, "api"), head);
  });

  it("a branch is compared with the work tree's folder, in the requested format", async () => {
    const { exit, out } = await diffed("git:main", "api", "--generated", "api", "--format", "github");
    expect(out.split("\n")[0]).toBe(
      "::error file=models/api_volume.sql,title=Column removed%3A /v1/bridges/volume::b: was int8 null (tier0, api_volume, models/api_volume.sql)%0AClients that read the field fail.",
    );
    expect(exit).toBe(1);
  });

  it("the accept file of the current folder lets a known break through", async () => {
    const accepted = [
      {
        kind: "column-removed",
        endpoint: "/v1/bridges/volume",
        subject: "b",
        before: "int8 null",
        reason: "Known.",
      },
    ];
    writeFileSync(join(project, ".routewright-accept.json"), JSON.stringify(accepted));
    const { exit, out } = await diffed("git:main", "api", "--generated", "api");
    expect(out).toContain("0 exposing, 0 breaking, 0 warnings, 1 compatible, 1 accepted");
    expect(exit).toBe(0);
  });

  it.each([
    [["git:main"], "missing required argument 'head'"],
    [["git:main", "api", "--format", "xml"], "Allowed choices are text, markdown, json, github"],
    [["git:main", "api", "--fail-on", "all"], "Allowed choices are breaking, any, none"],
    [["git:main", "api"], "git:main has no generated/catalogue.json"],
  ])("`diff %s` exits with 2", async (args, problem) => {
    const { exit, err } = await diffed(...args);
    expect(err).toContain(problem);
    expect(exit).toBe(2);
  });
});
