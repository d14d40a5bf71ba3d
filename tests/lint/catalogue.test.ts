import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { lint } from "../../generator/commands/lint.js";
import { bikeShareManifest } from "../support/bike-share.js";
import { ownFolder } from "../support/service.js";
import { lintOptions } from "./run.js";

const FOLDER = fileURLToPath(new URL("../../../shared/catalogue/", import.meta.url));
const EXPECTED: Readonly<Record<string, object>> = {
  "spring.json": {
    endpoints: 23,
    rules: {
      "missing-tier-tag": 2,
      "private-data": 1,
      "unstable-pagination": 19,
      "untyped-column": 1,
      "undescribed-parameter": 4,
      "missing-description": 18,
      "skipped-model": 7,
    },
  },
  ...(existsSync(FOLDER) && {
    "manifest-2026-04-24.json": {
      endpoints: 234,
      rules: {
        "missing-tier-tag": 9,
        "unstable-pagination": 5,
        "unlimited-response": 89,
        "untyped-column": 38,
        "float-money": 24,
        "missing-description": 29,
        "skipped-model": 95,
      },
    },
    "manifest-2026-05-21.json": {
      endpoints: 317,
      rules: {
        "missing-tier-tag": 9,
        "higher-tier-data": 1,
        "unstable-pagination": 37,
        "unlimited-response": 117,
        "untyped-column": 40,
        "float-money": 44,
        "missing-description": 66,
        "undescribed-parameter": 6,
        "skipped-model": 261,
      },
    },
  }),
};

/** The small manifest, written for the test, or a real one. */
function manifestFile(name: string): string {
  if (name !== "spring.json") return FOLDER + name;
  const file = join(ownFolder(), name);
  writeFileSync(file, JSON.stringify(bikeShareManifest("spring")));
  return file;
}

it.each(Object.entries(EXPECTED))("%s has its findings by rule, each time", async (name, expected) => {
  const options = lintOptions({ manifest: manifestFile(name), format: "json" });
  const { exit, output = "" } = await lint(options);
  const { summary, rules } = JSON.parse(output);
  expect({ exit, endpoints: summary.endpoints, rules }).toEqual({ exit: 1, ...expected });
  expect((await lint(options)).output).toBe(output);
});
