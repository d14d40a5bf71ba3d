import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { starterManifest } from "../end-to-end/starter.js";
import { needs, programPath } from "../support/needs.js";
import { KEYS, ownFolder, serveManifest } from "../support/service.js";

/** The findings that stay: their code with the report of their request, and the reason. Any other finding fails the test. */
const EXPECTED: readonly (readonly [finding: RegExp, reason: string])[] = [
  [
    /^ST201 [^]*parameter `(\w+)` in query[^]*[?&]\1=[&']/,
    "An empty value in a query counts as absent, whatever the parameter's format (runtime/docs/requests.md).",
  ],
  [
    /^ST201 [^]*parameter `(\w+)` in query - violates `maxLength`[^]*[?&]\1=(%(09|0[A-D]|20)|[^&']*%(09|0[A-D]|20)[&'])/,
    "Values are trimmed before their length counts.",
  ],
  [/^ST201 [^]*in body - (\w+): [^]*"\1": null[,}]/, "So does null in a body."],
  [
    /^ST202 [^]*"'sort_direction' requires 'sort_by'\."[^]*curl -X GET/,
    "OpenAPI cannot state this of query parameters. The schema of a body states it.",
  ],
  [/^ST202 [^]*"At least one business filter is required for this endpoint\."[^]*curl -X GET/, "The same."],
  [
    /^ST202 [^]*"At least one [^]*curl -X POST [^]*-d '\{[^']*"\w+": (\[\]|""|\[""\])[,}]/,
    "An empty value in a body counts as absent. The schema requires the field and does not repeat what is empty.",
  ],
  [
    /^ST202 [^]*Parameter '\w+\[in\]' must be [^]*curl -X GET/,
    "A list in one text: OpenAPI states the form of the text, not of the values between its commas.",
  ],
  [
    /^ST201 [^]*parameter `\w+\[\w+\]` in query[^]*curl -X GET [^]*%5B\w+%5D=(&|')/,
    "An empty value counts as absent, here as in a body.",
  ],
  [
    /^ST202 [^]*'column' must be among: [^]*curl -X GET [^]*\/v1\/system\/values\?/,
    "The columns are those of the endpoint that `path` names.",
  ],
  [
    /^ST202 [^]*must not contain the character U\+0000/,
    "No text of PostgreSQL holds it. A pattern at every text parameter would say so, and no client needs to be told.",
  ],
  [
    /^ST202 [^]*Parameter 'direction' must be one of: /,
    "Its values are accepted in any letter case: no `enum` states that, the description does.",
  ],
  [
    /^ST(103|201) [^]*\[431\]/,
    "The target is too long for the HTTP server, before any endpoint is known: no operation documents it.",
  ],
];

describe.skipIf(!needs("schemathesis"))("the starter's API", () => {
  it(
    "is as its OpenAPI document says, tried by all checks of schemathesis with a tier3 key",
    { timeout: 600_000 },
    async () => {
      const url = await serveManifest(starterManifest());
      const args = [
        ...["run", `${url}/openapi.json`, "--url", url, "-H", `X-API-Key: ${KEYS.tier3}`],
        ...["--phases", "examples,coverage,fuzzing", "--max-examples", "3", "--seed", "1", "--workers", "1"],
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
      const unexpected = findings.filter((text) => !EXPECTED.some(([finding]) => finding.test(text)));
      expect(unexpected).toEqual([]);
    },
  );
});
