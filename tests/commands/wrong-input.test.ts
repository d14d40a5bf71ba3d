import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { manifestOf } from "../support/manifest.js";
import { generateInto, ownFolder } from "../support/service.js";
import { GOOD, routewright } from "./run.js";

const folder = ownFolder();
mkdirSync(join(folder, "keys"));
writeFileSync(join(folder, "escape.json"), "\u001b[31mred");
writeFileSync(join(folder, "own.json"), '{"sk_live_mine": "tier1"}');
generateInto(join(folder, "generated"), manifestOf([GOOD]));

it.each([
  ...[["list"], ["revoke", "ab"]].map((command): [string[], string] => [
    ["keys", ...command, "--file", "keys"],
    "Cannot read or write the key file keys (EISDIR): name another with --file or API_KEYS_FILE.",
  ]),
  [
    ["keys", "create", "--user", "a", "--tier", "tier1", "--file", "none/keys.json"],
    "Cannot read or write the key file none/keys.json (ENOENT): name another with --file or API_KEYS_FILE.",
  ],
  [["keys", "revoke", "", "--file", "own.json"], "The id is empty. `routewright keys list` shows the ids."],
  ...[["list"], ["revoke", "3f"]].map((command): [string[], string] => [
    ["keys", ...command, "--file", "typo.json"],
    "There is no key file typo.json: `routewright keys create` writes it. Name another with --file.",
  ]),
  [["keys", "create", "--user", "", "--tier", "tier1"], "--user is empty: name the user of the key."],
  [
    ["keys", "create", "--user", "a", "--tier", "tier1", "--expires", "soon"],
    "--expires must be a date such as 2027-01-31, or an RFC 3339 date-time.",
  ],
  [
    ["keys", "create", "--user", "a", "--tier", "tier1", "--allow", "bridges", "/v1/bridges/volumes", "bank"],
    '--allow: no endpoint of generated has the category or path "/v1/bridges/volumes". Did you mean "/v1/bridges/volume"?\nerror: --allow: no endpoint of generated has the category or path "bank".',
  ],
  [
    ["serve", "--port", "abc"],
    "option '--port <number>' argument 'abc' is invalid. It must be a whole number from 0 to 65535.",
  ],
  [
    ["serve", "--ramp-port", "65536"],
    "option '--ramp-port <number>' argument '65536' is invalid. It must be a whole number from 0 to 65535.",
  ],
])("%j ends with 2 and names the flag", async (args, message) => {
  expect(await routewright(folder, args)).toEqual({ exit: 2, out: "", err: `error: ${message}\n` });
});

it("a file that is no JSON sends nothing to the terminal that moves its cursor", async () => {
  const { exit, err } = await routewright(folder, ["generate", "--manifest", "escape.json"]);
  expect(exit).toBe(2);
  expect(err).toContain("escape.json is not JSON");
  expect(err).not.toContain("\u001b");
});
