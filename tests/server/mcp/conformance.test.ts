import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { manifestOf } from "../../support/manifest.js";
import { needs, programPath } from "../../support/needs.js";
import { ownFolder, serveManifest } from "../../support/service.js";

const run = promisify(execFile);

/** Those that ask for no tool, resource or prompt of their own. */
const SCENARIOS = [
  "server-initialize",
  "ping",
  "tools-list",
  "resources-list",
  "prompts-list",
  "dns-rebinding-protection",
];

describe.skipIf(!needs("conformance"))("the official conformance suite finds no fault", () => {
  it.each(SCENARIOS)("in %s", async (scenario) => {
    // It listens on a loopback address, where names of other hosts are refused.
    const url = await serveManifest(manifestOf([{ name: "sales", columns: { day: "date" } }]), {
      HOST: "127.0.0.1",
    });
    const suite = programPath("conformance");
    const node = join(suite, "../../node/bin/node");
    const { stdout, stderr } = await run(
      node,
      [suite, "server", "--url", `${url}/mcp`, "--scenario", scenario],
      {
        cwd: ownFolder(),
        timeout: 60_000,
      },
    );
    expect(stdout + stderr).toMatch(/Passed: [1-9]\d*\/\d+, 0 failed, 0 warnings/);
  });
});
