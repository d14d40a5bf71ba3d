/** Which test files may notice a mutant, in the order of their runs. */
import { readFileSync } from "node:fs";
import { filesOf, filesOnClickhouse, namedBy, REST } from "../../tests/support/test-sets.js";
import { loadedBy } from "../loaded-by.js";
import { AT_A_TIME, type Covered } from "./coverage.js";
import { UNKNOWN } from "./switches.js";
import type { Mutant } from "./trial.js";

type Runs = readonly (readonly string[])[];

/** Files in the first run: most mutants end there. Those of the rest take longer: so many in each run. */
const NEAREST = 8;

const startsCommand = (file: string): boolean =>
  /support\/commands?\.js|node:child_process/.test(readFileSync(file, "utf8"));

/**
 * Those that cover its place. Any that loads its file does, if its place runs at load. What the build makes of it has no switch that
 * says who uses it: all of them may notice that.
 */
export function quickRuns({ number, file, isStatic }: Mutant, { places, built, passing }: Covered): Runs {
  const { tests, isAtLoad } = places[number] ?? { tests: [], isAtLoad: false };
  const related = loadedBy(process.cwd(), passing, file);
  const loading = isAtLoad || (isStatic && tests.length > 0) ? new Set(related) : new Set<string>();
  const isUnknown = tests.includes(UNKNOWN);
  const may = (test: string): boolean =>
    built.includes(number) || tests.includes(test) || loading.has(test) || (isUnknown && startsCommand(test));
  const ordered = commandsLast(nearestFirst(related, passing).filter(may));
  return [...inParts(ordered.slice(0, NEAREST), NEAREST), ...inParts(ordered.slice(NEAREST), AT_A_TIME)];
}

/** Those of the rest that load its file or start a command, and for a page those in a browser. All, where none imports its file. */
export function restRuns(file: string): Runs {
  const all = [...new Set([...filesOf("rest"), ...filesOnClickhouse("rest")])];
  const inBrowser = new Set(namedBy(REST["drive a browser"] ?? []));
  const related = loadedBy(process.cwd(), all, file);
  const isOfPages = file.startsWith("runtime/pages/");
  const may = (test: string): boolean =>
    (related.length === 0 && !isOfPages) ||
    related.includes(test) ||
    startsCommand(test) ||
    (isOfPages && inBrowser.has(test));
  return inParts(commandsLast(nearestFirst(related, all).filter(may)), NEAREST);
}

/** What loads it by another way than imports, as a worker does, comes last. */
function nearestFirst(related: readonly string[], all: readonly string[]): readonly string[] {
  return [...new Set([...related, ...all])];
}

function commandsLast(files: readonly string[]): readonly string[] {
  return [...files.filter((file) => !startsCommand(file)), ...files.filter(startsCommand)];
}

function inParts(files: readonly string[], size: number): Runs {
  const parts = Array.from({ length: Math.ceil(files.length / size) }, (_, at) => at * size);
  return parts.map((start) => files.slice(start, start + size));
}
