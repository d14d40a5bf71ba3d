import { existsSync, readFileSync } from "node:fs";
import { dirname, posix } from "node:path";
import ts from "typescript";
import { INTERNAL } from "./bench/static-imports.js";

/** What a generated module and the packages' own names stand for, as in `tests/vitest.config.ts`. */
const ENTRIES: Readonly<Record<string, string>> = {
  "@routewright/runtime": "runtime/index.ts",
  "@routewright/runtime/model": "runtime/generator-api.ts",
  "@routewright/ramp": "runtime/ramp/ramp-service.ts",
  "@routewright/runtime/server": "runtime/server/server.ts",
  "@routewright/runtime/keys": "runtime/server/keys.ts",
};

/** Files that load a file, the nearest first: those whose chain of imports is shortest. Paths are relative to the root. */
export function loadedBy(root: string, files: readonly string[], file: string): readonly string[] {
  for (const from of files) walk(root, from);
  const distances = distancesTo(file);
  return files
    .map((from) => ({ from, distance: distances.get(from) ?? Infinity }))
    .filter(({ distance }) => distance < Infinity)
    .sort((a, b) => a.distance - b.distance)
    .map(({ from }) => from);
}

/** Files by one that they import, of all that were walked. */
const importers = new Map<string, string[]>();
/** Each file is read once; the sources do not change meanwhile. */
const walked = new Set<string>();

function walk(root: string, from: string): void {
  const left = [from];
  for (let file = left.pop(); file !== undefined; file = left.pop()) {
    if (walked.has(file)) continue;
    walked.add(file);
    for (const imported of importsOf(root, file)) {
      const known = importers.get(imported);
      if (known) known.push(file);
      else importers.set(imported, [file]);
      left.push(imported);
    }
  }
}

/** Of each file that loads this one, the length of its shortest chain of imports. */
function distancesTo(file: string): ReadonlyMap<string, number> {
  const distances = new Map([[file, 0]]);
  // What is added is iterated too.
  for (const [imported, distance] of distances)
    for (const from of importers.get(imported) ?? [])
      if (!distances.has(from)) distances.set(from, distance + 1);
  return distances;
}

/** Files that a file imports, also later by `import()`. */
function importsOf(root: string, file: string): readonly string[] {
  const { importedFiles } = ts.preProcessFile(readFileSync(`${root}/${file}`, "utf8"));
  return importedFiles
    .map(({ fileName }) => fileOf(dirname(file), fileName))
    .filter((path) => path !== undefined && existsSync(`${root}/${path}`)) as readonly string[];
}

function fileOf(folder: string, specifier: string): string | undefined {
  const internal = INTERNAL.exec(specifier)?.[1];
  if (internal !== undefined) return `runtime/${internal}.ts`;
  if (!specifier.startsWith(".")) return ENTRIES[specifier];
  return posix.join(folder, specifier).replace(/\.js$/, ".ts");
}
