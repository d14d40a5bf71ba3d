import { existsSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

/** What the compiler makes of a source. */
const COMPILED = /(?:\.d\.ts|\.js)(?:\.map)?$/;

/**
 * Removes what the compiler made of sources that are gone: it leaves them, and a package would carry them. `made` are
 * folders and files of `dist` that have no source of their own.
 */
export function removeStale(source: string, dist: string, made: readonly string[]): void {
  const isMade = (file: string): boolean => made.some((path) => file === path || file.startsWith(`${path}/`));
  for (const file of filesOf(dist)) {
    const isStale = COMPILED.test(file) && !existsSync(join(source, file.replace(COMPILED, ".ts")));
    if (isStale && !isMade(file)) removeWithEmptyFolders(dist, file);
  }
}

const filesOf = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" }).map((file) => file.replaceAll("\\", "/"));

function removeWithEmptyFolders(dist: string, file: string): void {
  rmSync(join(dist, file));
  for (let folder = dirname(file); folder !== "."; folder = dirname(folder)) {
    if (readdirSync(join(dist, folder)).length > 0) return;
    rmSync(join(dist, folder), { recursive: true });
  }
}
