import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { loadedBy } from "./loaded-by.js";
import { filesOf } from "../tests/support/test-sets.js";

/**
 * Test files of a run, shared by the changed files: 24 of the core took 95 s of processor time. A file of the core
 * is loaded by 200 quick ones.
 */
const MOST = 12;
/** Of many changed files each has at least so many. */
const FEWEST = 2;

export interface ChangedTests {
  /** Test files that run. */
  readonly nearest: readonly string[];
  /** How many quick ones more load what changed. */
  readonly others: number;
  /** Whether one of those that run starts the built command. */
  readonly startCommand: boolean;
}

/** Files that start the built command or read what is built, or that a test uses to do so. */
const START_COMMAND =
  /support\/(?:commands?|bundle)\.js|\/compiler\.js|generator\/bin\/|runtime\/dist|routewrightProcess|repository\.js/;

/** Tests of the files that differ from a commit: changed ones, and of the quick ones those that load a changed file, the nearest first. */
export function changedTests(root: string, commit = "HEAD"): ChangedTests {
  const changed = changedFiles(root, commit);
  return nearestTests(root, changed);
}

/** Of files that are as near, those of the folder that is named alike come first. */
export function nearestTests(root: string, changed: readonly string[]): ChangedTests {
  const startsCommand = (test: string): boolean =>
    START_COMMAND.test(readFileSync(`${root}/${test}`, "utf8"));
  // A build takes as long as the tests.
  const quick = filesOf("quick").filter((test) => !startsCommand(test));
  const own = changed.filter((file) => file.endsWith(".test.ts"));
  const sources = changed.filter((file) => !own.includes(file));
  const count = Math.max(FEWEST, Math.floor(MOST / Math.max(1, sources.length)));
  const related = sources.map((file) => {
    const folder = testsOf(file);
    const [beside, others] = [true, false].map((is) =>
      quick.filter((test) => test.startsWith(folder) === is),
    ) as [string[], string[]];
    return loadedBy(root, [...beside, ...others], file);
  });
  const nearest = new Set([...own, ...related.flatMap((tests) => tests.slice(0, count))]);
  const all = new Set([...own, ...related.flat()]);
  const startCommand = [...nearest].some(startsCommand);
  return { nearest: [...nearest], others: all.size - nearest.size, startCommand };
}

/** The folder of tests that is named like that of a source. */
const testsOf = (file: string): string =>
  `tests/${file.replace(/^(?:generator|runtime|tests)\//, "").replace(/[^/]+$/, "")}`;

function changedFiles(root: string, commit: string): readonly string[] {
  const lines = (...args: readonly string[]): readonly string[] =>
    execFileSync("git", args, { cwd: root, encoding: "utf8" }).split("\n");
  const files = [
    ...lines("diff", "--name-only", "--relative", commit, "--"),
    ...lines("ls-files", "--others", "--exclude-standard"),
  ];
  return files.filter((file) => file.endsWith(".ts") && existsSync(`${root}/${file}`));
}
