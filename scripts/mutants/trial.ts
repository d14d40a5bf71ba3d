/** Runs tests against a mutant. */
import { readFileSync } from "node:fs";
import type { TestSet } from "../../tests/support/test-sets.js";
import { type Copy, NO_END, OUTSIDE } from "./copy.js";
import { type Mutation, withMutation } from "./mutations.js";

export interface Mutant extends Mutation {
  /** Its place in the order that the seed gives. */
  readonly number: number;
  readonly file: string;
}

/** Turns a mutant on in a copy, or off. */
type Turn = (isOn: boolean) => Promise<void>;

export interface Trial {
  readonly copy: Copy;
  readonly set: TestSet;
  readonly turn: Turn;
  /** Test files that may notice the mutant, in runs of which each ends within its time. */
  readonly runs: readonly (readonly string[])[];
}

export interface Noticed {
  /** The test file that notices the mutant, or what else does; null if nothing does. */
  readonly by: string | null;
  /** Test files that fail without the mutant too, or not each time. */
  readonly leftOut: readonly string[];
}

/** By its switch. Where the build runs its place, it is built anew. */
export function switchOf(copy: Copy, { number }: Mutant, isBuilt: boolean): Turn {
  return changing(async (isOn) => {
    copy.turn(isOn ? number : 0);
    if (isBuilt) await copy.build();
  });
}

/** By its source, since pages in a browser have no switches. */
export function sourceOf(copy: Copy, mutant: Mutant): Turn {
  const source = readFileSync(mutant.file, "utf8");
  return changing(async (isOn) => {
    copy.write(new Map([[mutant.file, isOn ? withMutation(source, mutant) : source]]));
    await copy.build();
  });
}

function changing(change: Turn): Turn {
  let isOnNow = false;
  return async (isOn) => {
    if (isOn === isOnNow) return;
    isOnNow = isOn;
    await change(isOn);
  };
}

/** What notices a mutant: it fails twice with the mutant, and not without it. */
export async function noticed(trial: Trial): Promise<Noticed> {
  const leftOut: string[] = [];
  try {
    if (!(await turnsOn(trial))) return { by: "(the build)", leftOut };
    for (const files of trial.runs) {
      const by = await noticedIn(trial, files, leftOut);
      if (by !== null) return { by, leftOut };
    }
    return { by: null, leftOut };
  } finally {
    await trial.turn(false);
  }
}

/** Whether what a build runs of the mutant lets it come to its end. It does without the mutant, or turning it off fails. */
async function turnsOn({ turn }: Trial): Promise<boolean> {
  try {
    await turn(true);
    return true;
  } catch {
    return false;
  }
}

async function noticedIn(trial: Trial, files: readonly string[], leftOut: string[]): Promise<string | null> {
  const { copy, set, turn } = trial;
  if (files.length === 0) return null;
  await turn(true);
  const by = await copy.failureOf(files, set);
  if (by === null) return null;
  const judged = isFile(by) ? [by] : files;
  // A run that has no end is not waited for twice.
  const isAgain = by === NO_END || (await copy.failureOf(judged, set)) !== null;
  await turn(false);
  const without = await copy.failureOf(judged, set);
  if (isAgain && without === null) return by;
  const unsure = [by, without ?? by].find(isFile);
  if (unsure === undefined && without !== null)
    throw new Error(`${without} without a mutant: ${judged.join(" ")}\n${copy.output}`);
  // What fails outside of the tests once, and then not, has kept the others of its run from their end.
  if (unsure !== undefined) leftOut.push(unsure);
  return noticedIn(trial, unsure === undefined ? files : files.filter((file) => file !== unsure), leftOut);
}

function isFile(name: string): boolean {
  return name !== OUTSIDE && name !== NO_END;
}
