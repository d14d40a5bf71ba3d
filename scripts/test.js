/**
 * `test.js <set>`: tests of a set (`tests/support/test-sets.ts`), from a fresh clone too. Further arguments go to the test
 * runner; files that they name run, whichever set they belong to.
 */
import { spawnSync } from "node:child_process";
import { makeReady, ROOT } from "./ready.js";

const [set = "all", ...args] = process.argv.slice(2);
makeReady();
const { parseCLI } = await import("vitest/node");
const command = ["vitest", "run", "--config", "tests/vitest.config.ts", ...args];
const { filter, options } = parseCLI([...command]);
const isChosen = filter.length > 0 || options.changed !== undefined;
const { status } = spawnSync("npx", command, {
  cwd: ROOT,
  stdio: "inherit",
  shell: process.platform === "win32",
  env: { ...process.env, TEST_SET: isChosen ? "all" : set },
});
if (!isChosen) {
  const { register } = await import("tsx/esm/api");
  register();
  const { summaryOf } = await import("../tests/support/test-sets.ts");
  console.log(summaryOf(set));
}
process.exitCode = status ?? 2;
