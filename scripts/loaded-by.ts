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
  const distances = files.map((from) => ({ from, distance: distanceOf(root, from, file) }));
  return distances
    .filter(({ distance }) => distance < Infinity)
    .sort((a, b) => a.distance - b.distance)
    .map(({ from }) => from);
}

function distanceOf(root: string, from: string, to: string): number {
  const seen = new Set([from]);
  let level = [from];
  for (let distance = 0; level.length > 0; distance++) {
    if (level.includes(to)) return distance;
    const next = level.flatMap((file) => importsOf(root, file)).filter((file) => !seen.has(file));
    next.forEach((file) => seen.add(file));
    level = [...new Set(next)];
  }
  return Infinity;
}

/** Each file is read once; the sources do not change meanwhile. */
const read = new Map<string, readonly string[]>();

/** Files that a file imports, also later by `import()`. */
function importsOf(root: string, file: string): readonly string[] {
  const known = read.get(file);
  if (known) return known;
  const { importedFiles } = ts.preProcessFile(readFileSync(`${root}/${file}`, "utf8"));
  const imports = importedFiles
    .map(({ fileName }) => fileOf(dirname(file), fileName))
    .filter((path) => path !== undefined && existsSync(`${root}/${path}`)) as readonly string[];
  read.set(file, imports);
  return imports;
}

function fileOf(folder: string, specifier: string): string | undefined {
  const internal = INTERNAL.exec(specifier)?.[1];
  if (internal !== undefined) return `runtime/${internal}.ts`;
  if (!specifier.startsWith(".")) return ENTRIES[specifier];
  return posix.join(folder, specifier).replace(/\.js$/, ".ts");
}
