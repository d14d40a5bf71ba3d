import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { LATER_ON_CLICKHOUSE, ON_BOTH_ENGINES } from "../support/on-both-engines.js";
import { filesOf, filesOnClickhouse, namedBy, REST, summaryOf } from "../support/test-sets.js";

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");

it("every path of the rest names test files, and each file has one reason", () => {
  const paths = Object.values(REST).flat();
  expect(paths.filter((path) => namedBy([path]).length === 0)).toEqual([]);
  const files = paths.flatMap((path) => namedBy([path]));
  expect(files.filter((file, at) => files.indexOf(file) !== at)).toEqual([]);
});

it("the quick tests and the rest are all tests, and CI runs both", () => {
  expect([...filesOf("quick"), ...filesOf("rest")].sort()).toEqual([...filesOf("all")].sort());
  expect(filesOf("quick")).toContain("tests/packaging/test-sets.test.ts");
  const { scripts } = JSON.parse(read("package.json")) as { readonly scripts: Record<string, string> };
  expect(scripts).toMatchObject({
    test: "node scripts/test.js quick",
    "test:rest": "node scripts/test.js rest",
    "test:all": "node scripts/test.js all",
  });
  for (const command of ["npm test", "npm run test:rest"])
    expect(read(".ci/run")).toMatch(new RegExp(`^${command} -- .*\\|\\| failed=1$`, "m"));
});

it("of the suites of both engines each set runs its part on ClickHouse", () => {
  expect([...filesOnClickhouse("quick"), ...filesOnClickhouse("rest")].sort()).toEqual(
    [...ON_BOTH_ENGINES].sort(),
  );
  expect(filesOf("quick")).toEqual(expect.arrayContaining([...LATER_ON_CLICKHOUSE]));
  expect(filesOnClickhouse("rest")).toEqual(expect.arrayContaining([...LATER_ON_CLICKHOUSE]));
  expect(filesOnClickhouse("all")).toEqual(ON_BOTH_ENGINES);
});

it("a run of the quick tests ends by saying what it left out, by reason", () => {
  const [quick, rest, all] = [filesOf("quick").length, filesOf("rest").length, filesOf("all").length];
  const lines = summaryOf("quick", false).split("\n");
  expect(lines[0]).toBe(
    `Ran ${String(quick)} of ${String(all)} test files, none on ClickHouse, which is not installed.`,
  );
  expect(lines[1]).toBe(`\`npm run test:all\` adds ${String(rest)}:`);
  const counts = lines.slice(2).map((line) => /^ +(\d+) that (.+)$/.exec(line)?.slice(1) ?? []);
  expect(counts.map(([, reason]) => reason)).toEqual(Object.keys(REST));
  expect(counts.reduce((sum, [count]) => sum + Number(count), 0)).toBe(rest);
  const [ran, ...left] = summaryOf("quick", true).split("\n");
  expect(ran).toMatch(/, and \d+ on ClickHouse too\.$/);
  expect(left.at(-1)).toMatch(/^ +\d+ of those that ran, on ClickHouse$/);
  expect(summaryOf("all", true)).toBe(
    `Ran ${String(all)} of ${String(all)} test files, and ${String(ON_BOTH_ENGINES.length)} on ClickHouse too.`,
  );
});
