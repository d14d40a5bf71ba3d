import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { diff } from "../../generator/commands/diff.js";
import { CHANGE_KINDS } from "../../generator/diff/change.js";
import { REPORT_SCHEMA } from "../../generator/report/diff/json-schema.js";
import { type Format, FORMATS } from "../../generator/report/format.js";

/**
 * Each folder of tests/golden-diff holds two manifests and what is told of them, in both directions and every format.
 * `UPDATE_GOLDEN=1` writes what is told now.
 */
const ROOT = "tests/golden-diff";
const DIRECTIONS = { "base-to-head": ["base", "head"], "head-to-base": ["head", "base"] } as const;
type Direction = keyof typeof DIRECTIONS;

const cases = readdirSync(ROOT);
const isReport = new Ajv2020({ allowUnionTypes: true }).compile(REPORT_SCHEMA);

/** What the command leaves, and its exit code in the last line. */
async function told(name: string, direction: Direction, format: Format): Promise<string> {
  const [base, head] = DIRECTIONS[direction].map((side) => `${ROOT}/${name}/${side}.json`);
  const accept = `${ROOT}/${name}/accept.json`;
  const { exit, output, errors } = await diff({
    base: base ?? "",
    head: head ?? "",
    format,
    failOn: "breaking",
    generated: "generated",
    cwd: process.cwd(),
    defaultTier: "tier0",
    today: "2030-01-31",
    ...(existsSync(accept) && { accept }),
  });
  expect(errors).toBeUndefined();
  return `${output ?? ""}exit ${String(exit)}\n`;
}

function expected(name: string, direction: Direction, format: Format, actual: string): string {
  const file = `${ROOT}/${name}/${direction}.${format}.txt`;
  if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(file, actual);
  return readFileSync(file, "utf8");
}

describe.each(cases)("golden-diff/%s", (name) => {
  describe.each(Object.keys(DIRECTIONS) as Direction[])("%s", (direction) => {
    it.each(FORMATS)("is told as %s", async (format) => {
      const actual = await told(name, direction, format);
      expect(actual).toBe(expected(name, direction, format, actual));
    });

    it("is told as JSON that the schema describes", async () => {
      const text = (await told(name, direction, "json")).replace(/exit \d\n$/, "");
      expect(isReport(JSON.parse(text)), JSON.stringify(isReport.errors)).toBe(true);
    });
  });
});

it("holds no file that nothing is compared with", () => {
  const told = Object.keys(DIRECTIONS).flatMap((direction) =>
    FORMATS.map((format) => `${direction}.${format}.txt`),
  );
  const known = [...told, "base.json", "head.json", "accept.json"];
  const stray = cases.flatMap((name) =>
    readdirSync(`${ROOT}/${name}`).filter((file) => !known.includes(file)),
  );
  expect(stray).toEqual([]);
});

it("shows every kind of change in some case", () => {
  const texts = cases.flatMap((name) =>
    Object.keys(DIRECTIONS).map((direction) => readFileSync(`${ROOT}/${name}/${direction}.text.txt`, "utf8")),
  );
  const missing = CHANGE_KINDS.filter((kind) => !texts.some((text) => text.includes(` ${kind}  `)));
  expect(missing).toEqual([]);
});
