import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { starterManifest } from "../end-to-end/starter.js";
import { needs, programPath } from "../support/needs.js";
import { KEYS, ownFolder, serveManifest } from "../support/service.js";

/**
 * Checks that the rules of the API contradict (runtime/README.md, Requests).
 *
 * - `negative_data_rejection`: an empty or null value counts as absent, so `?start_date=` is accepted although it is no date.
 * - `positive_data_acceptance`: OpenAPI cannot state, of query parameters, that `sort_direction` needs `sort_by`, that one of
 *   several filters is required, or that a required value must not be empty.
 */
const EXCLUDED_CHECKS = ["negative_data_rejection", "positive_data_acceptance"];

/** The target of a request was too long for the HTTP server, before any endpoint was known: no operation documents it. */
const UNDOCUMENTED = ["431"];

describe.skipIf(!needs("schemathesis"))("the starter's API", () => {
  it(
    "is as its OpenAPI document says, tried by schemathesis with a tier3 key",
    { timeout: 600_000 },
    async () => {
      const url = await serveManifest(starterManifest());
      const args = [
        ...["run", `${url}/openapi.json`, "--url", url, "-H", `X-API-Key: ${KEYS.tier3}`],
        ...["--phases", "examples,coverage,fuzzing", "--max-examples", "3", "--seed", "1", "--workers", "1"],
        ...["--exclude-checks", EXCLUDED_CHECKS.join(","), "--generation-database", "none"],
      ];
      const child = spawn(programPath("schemathesis"), args, { cwd: ownFolder() });
      child.stdin.end();
      let output = "";
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
      await once(child, "close");
      expect(output).toMatch(/[1-9]\d* generated/);
      const failures = [...output.matchAll(/^- (ST\d+) .*\n\n(?: +Received: (\d+))?/gm)]
        .map(([, code, status]) => [code, status])
        .filter(([code, status]) => !(code === "ST103" && UNDOCUMENTED.includes(status ?? "")));
      expect(failures, output).toEqual([]);
    },
  );
});
