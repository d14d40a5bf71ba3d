import {
  accessSync,
  constants,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { FileSet } from "../render/render.js";
import { type Drift, temporaryName } from "./folder.js";

/**
 * Writes missing and changed files and deletes stale ones. Before the first file changes, all new text is on disk under
 * temporary names and all folders are known to be writable: a full disk or a missing permission changes nothing and is
 * thrown. Each file is then renamed into place; a reader finds a mixture by the digests of `catalogue.json`.
 */
export function writeDrift(path: string, fresh: FileSet, drift: readonly Drift[]): void {
  const stale = drift.flatMap(({ file, kind }) => (kind === "stale" ? [file] : []));
  const written = drift.flatMap(({ file, kind }) => (kind === "missing" || kind === "changed" ? [file] : []));
  const staged = new Map<string, string>();
  try {
    makeFolder(path);
    for (const folder of foldersOf([...stale, ...written])) {
      makeFolder(join(path, folder));
      accessSync(join(path, folder), constants.W_OK);
    }
    for (const file of written) {
      const temporary = join(path, dirname(file), temporaryName());
      staged.set(temporary, join(path, file));
      writeFileSync(temporary, fresh.get(file) ?? "", { flag: "wx" });
    }
  } catch (error) {
    for (const temporary of staged.keys()) rmSync(temporary, { force: true });
    removeEmpty(path, foldersOf(written));
    throw error;
  }
  for (const [temporary, file] of staged) renameSync(temporary, file);
  for (const file of stale) rmSync(join(path, file), { force: true });
  removeEmpty(path, foldersOf(stale));
}

/** Step by step: Node's `recursive` never returns where a parent refuses to have children, as `/proc` does. */
function makeFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  if (dirname(path) !== path) makeFolder(dirname(path));
  mkdirSync(path);
}

function foldersOf(files: readonly string[]): readonly string[] {
  return [...new Set(files.map((file) => dirname(file)))];
}

/** Removes empty folders and their parents that become empty; never the generated folder itself. */
function removeEmpty(path: string, folders: readonly string[]): void {
  for (const folder of folders) {
    for (let name = folder; name !== "." && isEmpty(join(path, name)); name = dirname(name)) {
      rmdirSync(join(path, name));
    }
  }
}

function isEmpty(folder: string): boolean {
  try {
    return readdirSync(folder).length === 0;
  } catch {
    return false;
  }
}
