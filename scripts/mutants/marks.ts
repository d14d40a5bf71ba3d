/** Which test files run the places that mutants change: the others cannot notice them. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import type { Range } from "./mutations.js";

/** A place, by the number of its mutant. */
export interface Place {
  readonly number: number;
  readonly expression: Range;
}

/** What a worker of the tests notes in a file of its own, and a marked place in one of the place's. */
const WORKER = "worker-";

export interface Marked {
  readonly text: string;
  readonly numbers: readonly number[];
}

/** The source with a mark before each place that can have one, which notes once for each test file that it ran. */
export function withMarks(source: string, places: readonly Place[], folder: string): Marked {
  const marked = places.reduce<readonly Place[]>((kept, place) => {
    const more = [...kept, place];
    return isValid(marksIn(source, more, folder)) ? more : kept;
  }, []);
  // The marks have no types.
  const text = `// @ts-nocheck\n${marksIn(source, marked, folder)}`;
  return { text, numbers: marked.map(({ number }) => number) };
}

function marksIn(source: string, places: readonly Place[], folder: string): string {
  const opened = places.map(({ number, expression: { start, end } }) => ({
    ...{ at: start, order: -end },
    text: `(${markOf(number, folder)}, `,
  }));
  // What ends where another begins ends first.
  const closed = places.map(({ expression: { end } }) => ({ at: end, order: -Infinity, text: ")" }));
  return [...opened, ...closed]
    .sort((a, b) => b.at - a.at || b.order - a.order)
    .reduce((text, { at, text: added }) => text.slice(0, at) + added + text.slice(at), source);
}

/** Also in a command that a test starts, of which the process above it is known. A page of a browser notes nothing. */
function markOf(number: number, folder: string): string {
  const file = JSON.stringify(join(folder, String(number)));
  const line = "`${process.pid} ${process.ppid} ${Date.now()}\\n`";
  return `(globalThis.reachedPlaces ??= {})[${String(number)}] ??= globalThis.process?.getBuiltinModule("fs").appendFileSync(${file}, ${line}) ?? true`;
}

function isValid(text: string): boolean {
  const { diagnostics = [] } = ts.transpileModule(text, { reportDiagnostics: true });
  return diagnostics.length === 0;
}

/** What a set-up file of the tests does for marks: it notes when its worker begins with a test file. */
export function setUpFor(folder: string): string {
  return `
import { appendFileSync as noteAt } from "node:fs";
(globalThis as { reachedPlaces?: object }).reachedPlaces = {};
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
