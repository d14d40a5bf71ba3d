import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
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
}

/** Tests of the files that differ from a commit: changed ones, and of the quick ones those that load a changed file, the nearest first. */
export function changedTests(root: string, commit = "HEAD"): ChangedTests {
  const changed = changedFiles(root, commit);
  return nearestTests(root, changed);
}

/** Of files that are as near, those of the folder that is named alike come first. */
export function nearestTests(root: string, changed: readonly string[]): ChangedTests {
  const quick = filesOf("quick");
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
  return { nearest: [...nearest], others: all.size - nearest.size };
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
