import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { nearestTests } from "../../scripts/changed-tests.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const testsOf = (...changed: readonly string[]) => nearestTests(root, changed);

it("of a file that few tests load, all of them are nearest", () => {
  const { nearest, others } = testsOf("scripts/stale.ts");
  expect([nearest, others]).toEqual([["tests/packaging/stale.test.ts"], 0]);
});

it("of a file of the core that nearly all tests load, 12 are nearest", () => {
  const { nearest, others } = testsOf("runtime/core/request/keyring.ts");
  expect(nearest).toHaveLength(12);
  expect(others).toBeGreaterThan(100);
  expect(nearest.slice(0, 3)).toContain("tests/core/request/keyring.test.ts");
});

it("of many changed files each has tests of its own, and a changed test file runs whichever set it belongs to", () => {
  const { nearest } = testsOf(
    "tests/readme/how-to.test.ts",
    "generator/lint/linter.ts",
    "runtime/core/http/bounded-cache.ts",
  );
  expect(nearest).toEqual(
    expect.arrayContaining(["tests/readme/how-to.test.ts", "tests/core/http/bounded-cache.test.ts"]),
  );
  expect(nearest.some((file) => file.startsWith("tests/lint/"))).toBe(true);
});
