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
    expect(routewright(folder, [...GENERATE, "--check"]).err).toBe("");
  });
});

describe("a text report at a terminal", () => {
  const folder = project(GOOD);

  it("wraps at its width and has colours", async () => {
    const { shown } = await atTerminal(folder, ["lint", "--manifest", "manifest.json"], {}, 60);
    const lines = shown.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^\u001b\[33mwarning +\u001b\[39m/);
    const widths = lines.map((line) => line.replace(/\u001b\[[0-9;]*m/g, "").length);
    expect(Math.max(...widths)).toBeLessThanOrEqual(60);
    expect(lines.length).toBeGreaterThan(4);
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

  it("neither wraps nor has colours in a file", () => {
    const { out } = routewright(folder, ["lint", "--manifest", "manifest.json"]);
    expect(out).not.toContain("\u001b");
    expect(Math.max(...out.split("\n").map(({ length }) => length))).toBeGreaterThan(100);
  });
});

describe("--quiet", () => {
  it("prints nothing where all is well, and findings and errors in full", () => {
    const folder = project(GOOD);
    expect(routewright(folder, [...GENERATE, "--quiet"])).toEqual({ exit: 0, out: "", err: "" });
    expect(routewright(folder, ["--quiet", ...GENERATE, "--out", "other", "--check"])).toMatchObject({
      exit: 1,
      out: expect.stringContaining("missing"),
    });
    const create = ["keys", "create", "--user", "ann", "--tier", "tier1"];
    expect(routewright(folder, [...create, "--quiet"])).toMatchObject({
      exit: 0,
      err: "",
      out: expect.stringMatching(/^sk_live_\S+\n$/),
    });
    const { out, err } = routewright(folder, [...create, "--json"]);
    expect({ key: JSON.parse(out) as unknown, err }).toEqual({
      key: { key: expect.stringMatching(/^sk_live_/) },
      err: "",
    });
  });
});

it("--version prints the version, and a misspelt command or option the one that was meant", () => {
  const folder = ownFolder();
  expect(routewright(folder, ["--version"]).out).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(routewright(folder, ["generat"]).err).toContain("(Did you mean generate?)");
  expect(routewright(folder, ["generate", "--manifset", "x"]).err).toContain("(Did you mean --manifest?)");
});
