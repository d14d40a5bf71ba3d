import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { lint } from "../../generator/commands/lint.js";
import { RULE_IDS } from "../../generator/lint/checks.js";
import { type Format, FORMATS } from "../../generator/report/report.js";
import { lintOptions } from "./run.js";

/**
 * A folder per case, `<rule>[.<variant>]`: a manifest with the problem, the same one fixed, and the text report. Two
 * cases show the other formats too. `vitest -u` writes the reports.
 */
const ROOT = "tests/golden-lint";
const CASES = readdirSync(ROOT);
const IN_EVERY_FORMAT = ["invalid-suppression", "private-data"];

async function lintCase(name: string, manifest: "found" | "fixed", format: Format) {
  const flags = `${ROOT}/${name}/flags.json`;
  const more = existsSync(flags) ? (JSON.parse(readFileSync(flags, "utf8")) as object) : {};
  return lint(lintOptions({ manifest: `${ROOT}/${name}/${manifest}.json`, format, ...more }));
}

function formatsOf(name: string): readonly Format[] {
  return IN_EVERY_FORMAT.includes(name) ? FORMATS : ["text"];
}

it("has a case for every rule", () => {
  const rules = CASES.map((name) => name.split(".")[0]);
  expect([...new Set(rules)].sort()).toEqual([...RULE_IDS].sort());
});

it("holds no file that nothing is compared with", () => {
  const stray = CASES.flatMap((name) => {
    const known = [
      "found.json",
      "fixed.json",
      "flags.json",
      "base.json",
      "baseline.json",
      "catalog.json",
      ...formatsOf(name).map((format) => `${format}.txt`),
    ];
    return readdirSync(`${ROOT}/${name}`).filter((file) => !known.includes(file));
  });
  expect(stray).toEqual([]);
});

describe.each(CASES)("%s", (name) => {
  it.each(formatsOf(name))("is reported as %s", async (format) => {
    const { exit, output = "" } = await lintCase(name, "found", format);
    expect(exit).toBe(1);
    await expect(output).toMatchFileSnapshot(`../golden-lint/${name}/${format}.txt`);
  });

  it("is the only rule that finds something", async () => {
    const { output = "" } = await lintCase(name, "found", "json");
    expect(Object.keys(JSON.parse(output).rules)).toEqual([name.split(".")[0]]);
  });

  it("finds nothing once it is fixed", async () => {
    const { exit, output = "" } = await lintCase(name, "fixed", "json");
    expect({ exit, findings: JSON.parse(output).findings }).toEqual({ exit: 0, findings: [] });
  });
});
