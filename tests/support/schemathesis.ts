import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect } from "vitest";
import { programPath } from "./needs.js";
import { ownFolder } from "./service.js";

/** A finding that stays: its code with the report of its request, and the reason. */
export type ExpectedFinding = readonly [finding: RegExp, reason: string];

/** How many requests of each operation are made up; more for a search of hours (.github/CONTRIBUTING.md). */
const EXAMPLES = process.env["SCHEMATHESIS_EXAMPLES"] ?? "3";

/**
 * Tries a server by its own OpenAPI document with all checks of schemathesis; returns the findings that are not expected.
 * `without`: ids of operations that are left out.
 */
export async function runSchemathesis(
  url: string,
  header: string,
  expected: readonly ExpectedFinding[],
  without: readonly string[] = [],
): Promise<readonly string[]> {
  const args = [
    ...["run", `${url}/openapi.json`, "--url", url, "-H", header],
    ...["--phases", "examples,coverage,fuzzing", "--max-examples", EXAMPLES, "--seed", "1", "--workers", "1"],
    // A stream of events has no end.
    ...["system_events", ...without].flatMap((id) => ["--exclude-operation-id", id]),
    ...["--checks", "all", "--generation-database", "none"],
  ];
  const child = spawn(programPath("schemathesis"), args, { cwd: ownFolder() });
  child.stdin.end();
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await once(child, "close");
  expect(output).toMatch(/[1-9]\d* generated/);
  const requests = output.split(/^\d+\. Test Case ID: /m).slice(1);
  const findings = requests.flatMap((report) =>
    [...report.matchAll(/^- (ST\d+) /gm)].map(([, code]) => `${String(code)} ${report}`),
  );
  expect(findings.length, output).toBe(Number(/(\d+) unique failures?/.exec(output)?.[1] ?? 0));
  return findings.filter((text) => !expected.some(([finding]) => finding.test(text)));
}
