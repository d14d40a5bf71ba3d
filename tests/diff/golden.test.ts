import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type Format, FORMATS } from "../../generator/report/report.js";
import { diffOf } from "./catalogues.js";

/** Each folder of tests/golden-diff holds two manifests and the report of every format. `vitest -u` writes them. */
const ROOT = "tests/golden-diff";
const cases = readdirSync(ROOT);

/** The report, and the exit code in the last line. */
async function reportOf(name: string, format: Format): Promise<string> {
  const accept = `${ROOT}/${name}/accept.json`;
  const { exit, output, errors } = await diffOf({
    base: `${ROOT}/${name}/base.json`,
    head: `${ROOT}/${name}/head.json`,
    format,
    ...(existsSync(accept) && { accept }),
  });
  expect(errors).toBeUndefined();
  return `${output ?? ""}exit ${String(exit)}\n`;
}

describe.each(cases)("golden-diff/%s", (name) => {
  it.each(FORMATS)("as %s", async (format) => {
    await expect(await reportOf(name, format)).toMatchFileSnapshot(`../golden-diff/${name}/${format}.txt`);
  });

  it("hides nothing", () => {
    for (const format of ["text", "markdown", "json", "sarif"])
      expect(readFileSync(`${ROOT}/${name}/${format}.txt`, "utf8")).not.toMatch(/[\u202e\u0000]/);
  });
});

it("holds no file that nothing is compared with", () => {
  const known = [...FORMATS.map((format) => `${format}.txt`), "base.json", "head.json", "accept.json"];
  expect(
    cases.flatMap((name) => readdirSync(`${ROOT}/${name}`)).filter((file) => !known.includes(file)),
  ).toEqual([]);
});
