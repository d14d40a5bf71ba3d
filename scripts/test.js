/**
 * `test.js <set>`: tests of a set (`tests/support/test-sets.ts`), from a fresh clone too. Further arguments go to the test
 * runner; files that they name run, whichever set they belong to. With `--changed` those run that are nearest to what changed.
 */
import { spawnSync } from "node:child_process";
import { makeBuilt, makeInstalled, ROOT } from "./ready.js";

const [set = "all", ...given] = process.argv.slice(2);
// The runner takes no files after it.
const args = given.filter((arg) => arg !== "--");
makeInstalled();
const { parseCLI } = await import("vitest/node");
const { register } = await import("tsx/esm/api");
register();
const {
  filter,
  options: { changed },
} = parseCLI(["vitest", "run", ...args]);
const isForChanged = filter.length === 0 && changed !== undefined;
if (!isForChanged) makeBuilt();
if (filter.length > 0) runTests(args, "all");
else if (isForChanged) await testChanged();
else {
  runTests(args, set);
  const { summaryOf } = await import("../tests/support/test-sets.ts");
  console.log(summaryOf(set));
}

/** Without the option, of which the runner would take all tests that load a changed file. */
async function testChanged() {
  const { changedTests } = await import("./changed-tests.ts");
  const commit = typeof changed === "string" ? changed : undefined;
  const { nearest, others, startCommand } = changedTests(ROOT, commit);
  makeBuilt(startCommand ? undefined : []);
  const at = args.findIndex((arg) => arg.startsWith("--changed"));
  const isNext = args[at] === "--changed" && commit !== undefined;
  if (nearest.length > 0) runTests([...args.toSpliced(at, isNext ? 2 : 1), ...nearest], "all");
  console.log(`Ran ${nearest.length} test files that are nearest to what changed; ${others} more load it.`);
}

function runTests(options, testSet) {
  // Without `npx`, which takes half a second of a processor to find it.
  const runner = `${ROOT}/node_modules/vitest/vitest.mjs`;
  const command = [runner, "run", "--config", "tests/vitest.config.ts", ...options];
  const { status } = spawnSync(process.execPath, command, {
    cwd: ROOT,
    stdio: "inherit",
    env: { ...process.env, TEST_SET: testSet },
  });
  process.exitCode = status ?? 2;
}
