import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ownFolder } from "../support/service.js";
import { routewright } from "./run.js";

const folder = ownFolder();
mkdirSync(join(folder, "keys"));
writeFileSync(join(folder, "escape.json"), "\u001b[31mred");

it.each([
  [
    ["keys", "list", "--file", "keys"],
    "Cannot read or write the key file keys (EISDIR): name another with --file or API_KEYS_FILE.",
  ],
  [
    ["keys", "revoke", "ab", "--file", "keys"],
    "Cannot read or write the key file keys (EISDIR): name another with --file or API_KEYS_FILE.",
  ],
  [
    ["keys", "create", "--user", "a", "--tier", "tier1", "--file", "none/keys.json"],
    "Cannot read or write the key file none/keys.json (ENOENT): name another with --file or API_KEYS_FILE.",
  ],
  [
    ["serve", "--port", "abc"],
    "option '--port <number>' argument 'abc' is invalid. It must be a whole number from 0 to 65535.",
  ],
  [
    ["serve", "--ramp-port", "65536"],
    "option '--ramp-port <number>' argument '65536' is invalid. It must be a whole number from 0 to 65535.",
  ],
])("%j ends with 2 and names the flag", (args, message) => {
  expect(routewright(folder, args)).toEqual({ exit: 2, out: "", err: `error: ${message}\n` });
});

it("a file that is no JSON sends nothing to the terminal that moves its cursor", () => {
  const { exit, err } = routewright(folder, ["generate", "--manifest", "escape.json"]);
  expect(exit).toBe(2);
  expect(err).toContain("escape.json is not JSON");
  expect(err).not.toContain("\u001b");
});
