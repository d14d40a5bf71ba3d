import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { isObject } from "../manifest/json.js";
import type { ModuleCache } from "./render.js";

/** Name of the built file that holds this code: the build puts a hash of everything it imports into it. */
const BUILD = /-[A-Z0-9]{8}(?=\.js$)/.exec(basename(import.meta.url))?.[0] ?? null;

/**
 * Modules that an earlier run of this same build rendered, from `node_modules/.cache/routewright`: to print them anew
 * takes many times as long as to read a manifest. Empty where there is no such file; a damaged one is as none.
 */
export function readModuleCache(): ModuleCache {
  const file = cacheFile();
  if (file === null || !existsSync(file)) return new Map();
  try {
    const modules: unknown = JSON.parse(readFileSync(file, "utf8"));
    const entries = isObject(modules) ? Object.entries(modules) : [];
    return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
  } catch {
    return new Map();
  }
}

/** Keeps the modules for the next run. A cache that cannot be written costs time, and nothing else. */
export function writeModuleCache(before: ModuleCache, after: ModuleCache): void {
  const file = cacheFile();
  if (file === null || (before.size === after.size && [...after.keys()].every((key) => before.has(key))))
    return;
  try {
    mkdirSync(dirname(file), { recursive: true });
    const unfinished = `${file}.${String(process.pid)}`;
    writeFileSync(unfinished, JSON.stringify(Object.fromEntries(after)));
    renameSync(unfinished, file);
  } catch {
    return;
  }
}

/** In the nearest `node_modules`; null where there is none, or where the sources run unbuilt. */
function cacheFile(): string | null {
  if (BUILD === null) return null;
  for (let folder = resolve("."); ; folder = dirname(folder)) {
    const modules = join(folder, "node_modules");
    if (existsSync(modules)) return join(modules, `.cache/routewright/modules${BUILD}.json`);
    if (dirname(folder) === folder) return null;
  }
}
