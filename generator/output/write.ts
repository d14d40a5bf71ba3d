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
 * Brings a folder up to date: writes what is missing or changed, deletes what is stale, leaves the rest alone. All new
 * text is on disk under other names, and all folders are known to be writable, before the first file changes: a full
 * disk or a missing permission is thrown and changes nothing.
 */
export function writeDrift(path: string, fresh: FileSet, drift: readonly Drift[]): void {
  const stale = drift.flatMap(({ file, kind }) => (kind === "stale" ? [file] : []));
  const written = drift.flatMap(({ file, kind }) => (kind === "missing" || kind === "changed" ? [file] : []));
  for (const folder of foldersOf(stale)) accessSync(join(path, folder), constants.W_OK);
  for (const { from, to } of stage(path, fresh, written)) renameSync(from, to);
  for (const file of stale) rmSync(join(path, file), { force: true });
  removeEmpty(path, foldersOf(stale));
}

interface Staged {
  readonly from: string;
  readonly to: string;
}

/** Writes each file's text beside it, under a name that nothing has. */
function stage(path: string, fresh: FileSet, files: readonly string[]): readonly Staged[] {
  const staged: Staged[] = [];
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

/** Removes folders that hold nothing, and those above them that then hold nothing; never the generated folder itself. */
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
