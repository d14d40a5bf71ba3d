import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { manifestOf } from "../../support/manifest.js";
import { needs, programPath } from "../../support/needs.js";
import { ownFolder, serveManifest } from "../../support/service.js";

const run = promisify(execFile);

/** Of revisions, those that ask for no tool, resource or prompt of their own. */
const SCENARIOS: readonly (readonly [revision: string, scenario: string])[] = [
  ["2025-11-25", "server-initialize"],
  ["2025-11-25", "ping"],
  ["2025-11-25", "tools-list"],
  ["2025-11-25", "resources-list"],
  ["2025-11-25", "prompts-list"],
  ["2025-11-25", "dns-rebinding-protection"],
  ["2026-07-28", "server-stateless"],
  ["2026-07-28", "tools-list"],
  ["2026-07-28", "resources-list"],
  ["2026-07-28", "prompts-list"],
  ["2026-07-28", "dns-rebinding-protection"],
  ["2026-07-28", "caching"],
  ["2026-07-28", "http-header-validation"],
  ["2026-07-28", "sep-2164-resource-not-found"],
  ["2026-07-28", "server-sse-multiple-streams"],
  ["2026-07-28", "input-required-result-unsupported-methods"],
  ["2026-07-28", "input-required-result-ignore-extra-params"],
];

/** They call a tool that only a server made for the suite has. */
const NOT_TESTABLE = [
  "sep-2575-missing-capability-http-400",
  "sep-2575-server-rejects-undeclared-capability",
];

/** What it prints; it ends with 1 where a check fails. */
async function outputOf(...suite: Parameters<typeof run>): Promise<string> {
  const { stdout } = await run(...suite).catch((error: unknown) => error as { stdout: string });
  return String(stdout);
}

describe.skipIf(!needs("conformance"))("the official conformance suite finds no fault", () => {
  it.each(SCENARIOS)("of %s in %s", async (revision, scenario) => {
    // It listens on a loopback address, where names of other hosts are refused.
    const url = await serveManifest(manifestOf([{ name: "sales", columns: { day: "date" } }]), {
      HOST: "127.0.0.1",
    });
    const suite = programPath("conformance");
    // It needs a newer Node than this service.
    const output = await outputOf(
      join(suite, "../../node/bin/node"),
      [suite, "server", "--url", `${url}/mcp`, "--scenario", scenario, "--spec-version", revision],
      { cwd: ownFolder() },
    );
    const found = [...output.matchAll(/\[([\w-]+) *\]\s*\S*(?:FAILURE|WARNING)/g)].map(([, check]) => check);
    expect(found.sort()).toEqual(scenario === "server-stateless" ? NOT_TESTABLE : []);
    expect(output).toMatch(/Passed: [1-9]\d*\/\d+/);
  });
});
