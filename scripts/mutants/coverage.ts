/** Which quick tests run the place of each mutant: a copy is built with a switch for each, and all of them run once with every switch off. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { filesOf } from "../../tests/support/test-sets.js";
import type { Copy } from "./copy.js";
import { type Coverage, joined } from "./switches.js";

export interface Covered {
  /** How many mutants of the order have been looked at. */
  readonly upTo: number;
  /** Those that have a switch, and which tests run it. */
  readonly places: Readonly<Record<number, Coverage>>;
  /** Those whose place the build runs: what it writes has the value in it, and no switch. */
  readonly built: readonly number[];
  /** Test files that have run, and those of them that pass without a mutant. */
  readonly read: readonly string[];
  readonly passing: readonly string[];
}

/** Test files of a run: a call that ends before its time loses no more. */
export const AT_A_TIME = 40;

/** What a file holds, if it goes far enough. */
export function keptCoverage(file: string, upTo: number): Covered | null {
  const kept = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Covered) : null;
  return kept && kept.upTo >= upTo ? kept : null;
}

export function keepCoverage(file: string, covered: Covered): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(covered));
}

/** Runs the quick tests that have not run yet, some at a time, and keeps after each run what is known. */
export async function readCoverage(file: string, copy: Copy, from: Covered): Promise<Covered> {
  copy.turn(0);
  // Of a call that was stopped, whose tests run again.
  copy.takeCovered();
  let covered = from;
  const left = filesOf("quick").filter((test) => !from.read.includes(test));
  for (let at = 0; at < left.length; at += AT_A_TIME) {
    const some = left.slice(at, at + AT_A_TIME);
    const passing = await passingOf(copy, some);
    covered = withNotes(covered, some, passing, copy.takeCovered());
    keepCoverage(file, covered);
  }
  return covered;
}

/** Where one file does not come to an end, none of its run has a result: each half runs again. */
async function passingOf(copy: Copy, files: readonly string[]): Promise<readonly string[]> {
  const passing = await copy.passing(files, "quick");
  if (passing) return passing;
  if (files.length === 1) return [];
  const half = Math.ceil(files.length / 2);
  return [...(await passingOf(copy, files.slice(0, half))), ...(await passingOf(copy, files.slice(half)))];
}

function withNotes(
  covered: Covered,
  read: readonly string[],
  passing: readonly string[],
  notes: ReadonlyMap<number, Coverage>,
): Covered {
  const places = Object.entries(covered.places).map(([number, before]) => {
    const now = notes.get(Number(number));
    return [number, now ? joined(before, now) : before] as const;
  });
  return {
    ...covered,
    places: Object.fromEntries(places),
    read: [...covered.read, ...read],
    passing: [...covered.passing, ...passing],
  };
}
