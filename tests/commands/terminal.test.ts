import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { manifestOf } from "../support/manifest.js";
import { ownFolder } from "../support/service.js";
import { atTerminal } from "../support/terminal.js";
import { GENERATE, GOOD, project, routewright } from "./run.js";

describe("progress", () => {
  const folder = ownFolder();
  // Progress shows after a second: rendering these takes several.
  const models = Array.from({ length: 4_000 }, (_, i) => ({
    ...GOOD,
    name: `m${i}`,
    tags: ["production", "c", `api:r${i}`],
  }));
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifestOf(models)));

  it("of generating 4,000 endpoints is shown on a terminal, and erased", async () => {
    const { exit, shown } = await atTerminal(folder, [...GENERATE, "--check"]);
    expect(exit).toBe(1);
    expect(shown).toMatch(/\r\u001b\[KRendering: [\d,]+ of 4,000/);
    expect(shown.slice(shown.lastIndexOf("Rendering: "))).toMatch(
      /^Rendering: [\d,]+ of 4,000\r\u001b\[Kmissing /,
    );
  });

  it("is not shown with --quiet, nor in a file", async () => {
    expect((await atTerminal(folder, [...GENERATE, "--check", "--quiet"])).shown).not.toContain("Rendering");
    expect((await routewright(folder, [...GENERATE, "--check"])).err).toBe("");
  });
});

describe("a text report at a terminal", () => {
  const folder = project(GOOD);

  it("has colours", async () => {
    const { shown } = await atTerminal(folder, ["lint", "--manifest", "manifest.json"]);
    expect(shown).toMatch(/^\u001b\[33mwarning +\u001b\[39m/);
  });

  it.each([
    ["--no-color", ["--no-color"], {}],
    ["NO_COLOR", [], { NO_COLOR: "1" }],
    ["TERM=dumb", [], { TERM: "dumb" }],
  ])("has no colours with %s", async (_, flags, variables) => {
    const { shown } = await atTerminal(folder, ["lint", "--manifest", "manifest.json", ...flags], variables);
    expect(shown).toContain("missing-tier-tag");
    expect(shown).not.toContain("\u001b");
  });

  it("has no colours in a file", async () => {
    expect((await routewright(folder, ["lint", "--manifest", "manifest.json"])).out).not.toContain("\u001b");
  });
});

describe("--quiet", () => {
  it("prints nothing where all is well, and findings and errors in full", async () => {
    const folder = project(GOOD);
    expect(await routewright(folder, [...GENERATE, "--quiet"])).toEqual({ exit: 0, out: "", err: "" });
    expect(await routewright(folder, ["--quiet", ...GENERATE, "--out", "other", "--check"])).toMatchObject({
      exit: 1,
      out: expect.stringContaining("missing"),
    });
    const create = ["keys", "create", "--user", "ann", "--tier", "tier1"];
    expect(await routewright(folder, [...create, "--quiet"])).toMatchObject({
      exit: 0,
      err: "",
      out: expect.stringMatching(/^sk_live_\S+\n$/),
    });
    const { out, err } = await routewright(folder, [...create, "--json"]);
    expect({ key: JSON.parse(out) as unknown, err }).toEqual({
      key: { key: expect.stringMatching(/^sk_live_/) },
      err: "",
    });
  });
});

it("--version prints the version, and a misspelt command or option the one that was meant", async () => {
  const folder = ownFolder();
  expect((await routewright(folder, ["--version"])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect((await routewright(folder, ["generat"])).err).toContain("(Did you mean generate?)");
  expect((await routewright(folder, ["generate", "--manifset", "x"])).err).toContain(
    "(Did you mean --manifest?)",
  );
});
