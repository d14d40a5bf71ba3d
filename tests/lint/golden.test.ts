import { existsSync, readdirSync, readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { lint } from "../../generator/commands/lint.js";
import { RULE_IDS } from "../../generator/lint/finding.js";
import { REPORT_SCHEMA } from "../../generator/report/lint/json-schema.js";
import type { Format } from "../../generator/report/format.js";
import { lintOptions } from "./run.js";

/** A folder per case: `<rule>[.<variant>]`, with the manifest that has the fault, and the same one mended. */
const ROOT = new URL("../golden-lint/", import.meta.url);
const CASES = readdirSync(ROOT);

const FILES: Readonly<Record<Format, string>> = {
  text: "text.txt",
  markdown: "markdown.md",
  json: "report.json",
  github: "github.txt",
};

async function lintCase(name: string, manifest: "found" | "mended", format: Format) {
  const flags = new URL(`${name}/flags.json`, ROOT);
  const more = existsSync(flags) ? (JSON.parse(readFileSync(flags, "utf8")) as object) : {};
  const file = new URL(`${name}/${manifest}.json`, ROOT).pathname;
  return lint(lintOptions({ manifest: file, format, ...more }));
}

it("has a case for every rule", () => {
  const rules = CASES.map((name) => name.split(".")[0]);
  expect([...new Set(rules)].sort()).toEqual([...RULE_IDS].sort());
});

describe.each(CASES)("%s", (name) => {
  it("has its expected reports, and no others", () => {
    const files = readdirSync(new URL(`${name}/expected/`, ROOT)).sort();
    expect(files).toEqual([...Object.values(FILES), "mended.txt"].sort());
  });

  it.each(Object.entries(FILES))("tells the fault as %s", async (format, file) => {
    const { exit, output = "" } = await lintCase(name, "found", format as Format);
    expect(exit).toBe(1);
    await expect(output).toMatchFileSnapshot(new URL(`${name}/expected/${file}`, ROOT).pathname);
  });

  it("finds this fault and no other", async () => {
    const { output = "" } = await lintCase(name, "found", "json");
    expect(Object.keys(JSON.parse(output).rules)).toEqual([name.split(".")[0]]);
  });

  it("keeps to the schema of the JSON report", async () => {
    const { output = "" } = await lintCase(name, "found", "json");
    const validate = new Ajv2020().compile(REPORT_SCHEMA);
    expect(validate(JSON.parse(output)), JSON.stringify(validate.errors)).toBe(true);
  });

  it("finds nothing once it is mended", async () => {
    const { exit, output = "" } = await lintCase(name, "mended", "text");
    await expect(output).toMatchFileSnapshot(new URL(`${name}/expected/mended.txt`, ROOT).pathname);
    expect({ exit, firstWords: output.slice(0, 9) }).toEqual({ exit: 0, firstWords: "0 errors," });
  });
});
