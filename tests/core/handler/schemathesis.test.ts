import { describe, expect, it } from "vitest";
import { starterManifest } from "../../end-to-end/starter.js";
import { needs } from "../../support/needs.js";
import { type ExpectedFinding, runSchemathesis } from "../../support/schemathesis.js";
import { KEYS, serveManifest } from "../../support/service.js";

const EXPECTED: readonly ExpectedFinding[] = [
  [
    /^ST101 [^]*\[503\][^]*This server has no subscriptions\./,
    "Subscriptions need WEBHOOK_SECRETS_KEY, which this server has not.",
  ],
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
    /^ST202 [^]*'(x|y|by)' must be among: [^]*curl -X GET [^]*\/v1\/system\/chart\?/,
    "The columns are those of the endpoint that `path` names.",
  ],
  [
    /^ST202 [^]*("'y' |'grain'|period)[^]*curl -X GET [^]*\/v1\/system\/chart\?/,
    "What adds up, and which column has periods, are facts of the endpoint's columns.",
  ],
  [
    /^ST202 [^]*Parameter 'column' is required\.[^]*curl -X GET [^]*\/v1\/system\/values\?/,
    "One of `column` and `columns` is: OpenAPI cannot state this of query parameters, the descriptions do.",
  ],
  [
    /^ST202 [^]*Unsupported query parameters: (column|prefix)[^]*curl -X GET [^]*\/v1\/system\/values\?[^]*\bcolumns=/,
    "Nor that they exclude each other.",
  ],
  [
    /^ST204 [^]*Unsupported method QUERY returned/,
    "OpenAPI 3.1 has no operation for QUERY; `x-query` describes it.",
  ],
  [
    /^ST202 [^]*must not contain the character U\+0000/,
    "No text of PostgreSQL holds it. A pattern at every text parameter would say so, and no client needs to be told.",
  ],
  [
    /^ST202 [^]*Parameter 'direction' must be one of: /,
    "Its values are accepted in any letter case: no `enum` states that, the description does.",
  ],
];

describe.skipIf(!needs("schemathesis"))("the starter's API", () => {
  it(
    "is as its OpenAPI document says, tried by all checks of schemathesis with a tier3 key",
    { timeout: 600_000 },
    async () => {
      const url = await serveManifest(starterManifest());
      const unexpected = await runSchemathesis(url, `X-API-Key: ${KEYS.tier3}`, EXPECTED);
      expect(unexpected).toEqual([]);
    },
  );
});
