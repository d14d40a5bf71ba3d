/**
 * Sources that hold many mutants, each behind a switch: they are built once, and each run turns on one of them, or none. A switch also
 * notes which test files run its place: the others cannot notice the mutant. What switches read and write is in files, since many
 * commands that tests start inherit nothing of the environment.
 */
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import type { Mutation } from "./mutations.js";

/** A mutation, by the number of its mutant. */
export interface Switched extends Mutation {
  readonly number: number;
}

/** Which tests run a place. */
export interface Coverage {
  /** `UNKNOWN` is one of them where a process ran it that no test file is known to have started. */
  readonly tests: readonly string[];
  /** Whether a test file ran it as it loaded: a further one in the same worker finds it loaded. */
  readonly isAtLoad: boolean;
}

export const UNKNOWN = "unknown";
/** Holds the number of the mutant that is on; 0 for none. */
const ON = "on";
/** What a worker of the tests notes in a file of its own, and what each process notes of the places it runs. */
const WORKER = "worker-";
const PROCESS = "process-";

export interface WithSwitches {
  readonly text: string;
  readonly numbers: readonly number[];
}

/** The source with a switch at each place that can have one. */
export function withSwitches(source: string, places: readonly Switched[], folder: string): WithSwitches {
  const inOrder = places.toSorted((a, b) => a.expression.start - b.expression.start);
  const switched = inOrder.reduce<readonly Switched[]>((kept, place) => {
    const more = [...kept, place];
    return isValid(switchesIn(source, more)) ? more : kept;
  }, []);
  // Switches have no types. A function at the end is there as soon as the file is loaded.
  const text = `// @ts-nocheck\n${switchesIn(source, switched)}\n${switchIn(folder)}\n`;
  return { text, numbers: switched.map(({ number }) => number) };
}

/** What stands between two offsets, with the switches of the places in it. */
function switchesIn(source: string, places: readonly Switched[], start = 0, end = source.length): string {
  const outer = places.filter((place) => !places.some((other) => holds(other, place)));
  let at = start;
  const parts = outer.map((place) => {
    const { expression, number, text } = place;
    const before = source.slice(at, expression.start);
    at = expression.end;
    const inner = places.filter((other) => holds(place, other));
    const original = switchesIn(source, inner, expression.start, expression.end);
    return `${before}(isMutant(${String(number)}) ? ${text} : ${original})`;
  });
  return parts.join("") + source.slice(at, end);
}

/** Whether a place is within another; of those at one place the first holds the others. */
function holds(outer: Switched, inner: Switched): boolean {
  if (outer === inner) return false;
  const [a, b] = [outer.expression, inner.expression];
  if (a.start === b.start && a.end === b.end) return outer.number < inner.number;
  return a.start <= b.start && b.end <= a.end;
}

/** Notes once for each test file that a place ran, also in a command that a test starts. A page of a browser has no file to note in. */
function switchIn(folder: string): string {
  return `
function isMutant(number) {
  const { process } = globalThis;
  const fs = () => process.getBuiltinModule("fs");
  const known = (globalThis.mutants ??= {
    covered: {},
    on: process ? Number(fs().readFileSync(${JSON.stringify(join(folder, ON))}, "utf8")) : 0,
  });
  known.covered[number] ??= process && note();
  return known.on === number;
  function note() {
    const own = [number, process.ppid, Date.now(), known.isLoading ? "load" : "run", known.file ?? ""];
    const file = ${JSON.stringify(join(folder, PROCESS))} + process.pid;
    if (!known.on) fs().appendFileSync(file, own.join(" ") + "\\n");
    return true;
  }
}`;
}

function isValid(text: string): boolean {
  const { diagnostics = [] } = ts.transpileModule(text, { reportDiagnostics: true });
  return diagnostics.length === 0;
}

/** What a set-up file of the tests does for switches: its worker begins with a test file, and loads it before its first hook runs. */
export function setUpFor(folder: string): string {
  return `
import { appendFileSync as noteAt, readFileSync as readOn } from "node:fs";
import { beforeAll as onceLoaded } from "vitest";
const on = Number(readOn(${JSON.stringify(join(folder, ON))}, "utf8"));
const mutants = { covered: {}, on, isLoading: true, file: expect.getState().testPath };
Object.assign(globalThis, { mutants });
if (on === 0) noteAt(\`${join(folder, WORKER)}\${process.pid}\`, \`\${Date.now()} \${mutants.file}\\n\`);
onceLoaded(() => void (mutants.isLoading = false));
`;
}

/** Turns one mutant on for what starts from now on, or none by 0. Commands of other users note places too. */
export function turnOn(folder: string, number: number): void {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o777);
  writeFileSync(join(folder, ON), String(number));
}

/** By the number of a place that has run since the last call which tests ran it. */
export function takeCovered(folder: string, root: string): ReadonlyMap<number, Coverage> {
  const names = readdirSync(folder).filter((name) => name !== ON);
  const notes = names.map(
    (name) => [name, readFileSync(join(folder, name), "utf8").trim().split("\n")] as const,
  );
  for (const name of names) rmSync(join(folder, name));
  const ofWorkers = notes.filter(([name]) => name.startsWith(WORKER));
  const begun = new Map(ofWorkers.map(([name, lines]) => [name.slice(WORKER.length), lines]));
  const covered = new Map<number, Coverage>();
  for (const [name, lines] of notes.filter(([each]) => each.startsWith(PROCESS)))
    for (const line of lines) {
      const [number = "", parent = "", time, phase, own = ""] = line.split(" ");
      const path = own || fileAt(begun.get(name.slice(PROCESS.length)) ?? begun.get(parent), Number(time));
      const test = path?.slice(root.length + 1) ?? UNKNOWN;
      const found = { tests: [test], isAtLoad: phase === "load" };
      covered.set(Number(number), joined(covered.get(Number(number)), found));
    }
  return covered;
}

/** The test file that a worker ran at a time. */
function fileAt(begun: readonly string[] | undefined, time: number): string | undefined {
  return begun?.findLast((line) => Number(line.split(" ")[0]) <= time)?.split(" ")[1];
}

/** What two runs have noted of one place. */
export function joined(one: Coverage | undefined, other: Coverage): Coverage {
  const tests = [...new Set([...(one?.tests ?? []), ...other.tests])];
  return { tests, isAtLoad: one?.isAtLoad === true || other.isAtLoad };
}
