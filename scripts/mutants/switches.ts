/**
 * Sources that hold many mutants, each behind a switch: they are built once, and each run turns on one of them, or none. A switch also
 * notes which test files run its place: the others cannot notice the mutant.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import type { Mutation } from "./mutations.js";

/** A mutation, by the number of its mutant. */
export interface Switched extends Mutation {
  readonly number: number;
}

/** What a worker of the tests notes in a file of its own, and a place in one of the place's. */
const WORKER = "worker-";
/** Names the mutant that is on, in the environment of a run: commands that tests start inherit it. */
export const SWITCHED_ON = "MUTANT";

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
  const known = (globalThis.mutants ??= { reached: {}, on: Number(process?.env.${SWITCHED_ON}) });
  known.reached[number] ??= process && note();
  return known.on === number;
  function note() {
    const line = \`\${process.pid} \${process.ppid} \${Date.now()}\\n\`;
    if (!known.on) process.getBuiltinModule("fs").appendFileSync(${JSON.stringify(`${folder}/`)} + number, line);
    return true;
  }
}`;
}

function isValid(text: string): boolean {
  const { diagnostics = [] } = ts.transpileModule(text, { reportDiagnostics: true });
  return diagnostics.length === 0;
}

/** What a set-up file of the tests does for switches: it notes when its worker begins with a test file. */
export function setUpFor(folder: string): string {
  return `
import { appendFileSync as noteAt } from "node:fs";
const known = (globalThis as { mutants?: { reached: object } }).mutants;
if (known) known.reached = {};
if (process.env["${SWITCHED_ON}"] === undefined)
  noteAt(\`${join(folder, WORKER)}\${process.pid}\`, \`\${Date.now()} \${expect.getState().testPath}\\n\`);
`;
}

/** Test files by the number of a place that they run; `unknown` where a process ran it that none is known to have started. */
export function reachedIn(folder: string, root: string): Readonly<Record<string, readonly string[]>> {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const linesOf = (name: string): readonly string[] =>
    readFileSync(join(folder, name), "utf8").trim().split("\n");
  const begun = new Map(
    names
      .filter((name) => name.startsWith(WORKER))
      .map((name) => [name.slice(WORKER.length), linesOf(name)] as const),
  );
  const fileAt = (line: string): string => {
    const [pid = "", parent = "", time] = line.split(" ");
    const files = begun.get(pid) ?? begun.get(parent) ?? [];
    const [, path] = files.findLast((file) => Number(file.split(" ")[0]) <= Number(time))?.split(" ") ?? [];
    return path?.slice(root.length + 1) ?? UNKNOWN;
  };
  const numbers = names.filter((name) => !name.startsWith(WORKER));
  return Object.fromEntries(numbers.map((name) => [name, [...new Set(linesOf(name).map(fileAt))]]));
}

export const UNKNOWN = "unknown";
