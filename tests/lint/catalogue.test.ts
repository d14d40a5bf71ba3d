import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { lint } from "../../generator/commands/lint.js";
import { lintOptions } from "./run.js";

const FOLDER = fileURLToPath(new URL("../../../shared/catalogue/", import.meta.url));
const isThere = existsSync(FOLDER);
if (!isThere) console.warn(`SKIPPED: no real catalogue at ${FOLDER}`);

describe.skipIf(!isThere)("a real catalogue", () => {
  const EXPECTED = {
    "manifest-2026-04-24.json": {
      endpoints: 234,
      rules: {
        "missing-tier-tag": 9,
        "unstable-pagination": 5,
        "unlimited-response": 112,
        "untyped-column": 38,
      },
    },
    "manifest-2026-05-21.json": {
      endpoints: 317,
      rules: {
        "missing-tier-tag": 9,
        "higher-tier-data": 1,
        "unstable-pagination": 37,
        "unlimited-response": 142,
        "untyped-column": 40,
        "undescribed-parameter": 6,
      },
    },
  };

  it.each(Object.entries(EXPECTED))("%s has its findings by rule, each time", async (file, expected) => {
    const options = lintOptions({ manifest: FOLDER + file, format: "json" });
    const { exit, output = "" } = await lint(options);
    const { summary, rules, unchecked } = JSON.parse(output);
    expect({ exit, endpoints: summary.endpoints, rules }).toEqual({ exit: 1, ...expected });
    expect(unchecked.map(({ rule }: { rule: string }) => rule)).toEqual(["unindexed-column"]);
    expect((await lint(options)).output).toBe(output);
  });
});
