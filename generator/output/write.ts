import {
  accessSync,
  constants,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { type Drift, temporaryName } from "./folder.js";
import type { FileSet } from "../render/render.js";

/**
 * Writes missing and changed files and deletes stale ones. Before the first file changes, all new text is on disk under
 * temporary names and all folders are known to be writable: a full disk or a missing permission changes nothing and is
 * thrown.
 */
export function writeDrift(path: string, fresh: FileSet, drift: readonly Drift[]): void {
  const stale = drift.flatMap(({ file, kind }) => (kind === "stale" ? [file] : []));
  const written = drift.flatMap(({ file, kind }) => (kind === "missing" || kind === "changed" ? [file] : []));
  for (const folder of foldersOf(stale)) accessSync(join(path, folder), constants.W_OK);
  for (const { from, to } of stage(path, fresh, written)) renameSync(from, to);
  for (const file of stale) rmSync(join(path, file), { force: true });
  removeEmpty(path, foldersOf(stale));
}

interface StagedFile {
  readonly from: string;
  readonly to: string;
}

/** Writes each file's text beside it, under a temporary name. */
function stage(path: string, fresh: FileSet, files: readonly string[]): readonly StagedFile[] {
  const staged: StagedFile[] = [];
  try {
    mkdirSync(path, { recursive: true });
    for (const folder of foldersOf(files)) mkdirSync(join(path, folder), { recursive: true });
    for (const file of files) {
      const to = join(path, file);
      const from = join(dirname(to), temporaryName());
      staged.push({ from, to });
      writeFileSync(from, fresh.get(file) ?? "", { flag: "wx" });
    }
    return staged;
  } catch (error) {
    for (const { from } of staged) rmSync(from, { force: true });
    removeEmpty(path, foldersOf(files));
    throw error;
  }
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
