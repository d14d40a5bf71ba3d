import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { FileSet } from "../render/render.js";
import { type Drift, type Folder, isGenerated, temporaryName } from "./folder.js";
import { isAlive } from "./lock.js";

/**
 * Updates a folder. If it contains only generated files, it is replaced in one step, so that a reader finds either the old
 * files or the new ones. In any other folder, such as `--out .`, the files are written one by one.
 */
export function writeFolder(folder: Folder, fresh: FileSet, drift: readonly Drift[]): void {
  const { path } = folder;
  requireWritable(path, drift);
  if (isFullyGenerated(folder) && replaceFolder(path, fresh, drift)) return;
  writeDrift(path, fresh, drift);
}

/** Throws if a changed folder is not writable: replacing the folder above it would succeed nevertheless. */
function requireWritable(path: string, drift: readonly Drift[]): void {
  for (const folder of new Set(drift.map(({ file }) => dirname(join(path, file)))))
    if (existsSync(folder)) accessSync(folder, constants.W_OK);
}

/** Whether a folder contains only generated files: no other file, no link, no empty folder. */
function isFullyGenerated({ path, names, files, others }: Folder): boolean {
  if (!existsSync(path)) return true;
  const isPlain = (folder: string): boolean =>
    readdirSync(folder, { withFileTypes: true }).every((entry) => {
      if (!entry.isDirectory()) return entry.isFile();
      return isPlain(join(folder, entry.name)) && readdirSync(join(folder, entry.name)).length > 0;
    });
  return (
    others.size === 0 &&
    readdirSync(path).every((name) => names.has(name)) &&
    [...files.values()].every(isGenerated) &&
    isPlain(path)
  );
}

/**
 * Builds the new tree beside the folder, with hard links to unchanged files, and renames it into place. Between the two
 * renames the folder is missing for some microseconds; `recoverFolder` restores it if the process is killed then. Returns
 * false, with nothing changed, if the parent is not writable or the folder is a mount point.
 */
function replaceFolder(path: string, fresh: FileSet, drift: readonly Drift[]): boolean {
  const { folder, next, previous } = besideOf(path);
  try {
    remove(next);
    mkdirSync(next, { recursive: true });
    const replaced = new Set(drift.map(({ file }) => file));
    if (existsSync(folder)) linkTree(folder, next, "", replaced);
    for (const { file, kind } of drift) {
      if (kind === "stale") continue;
      mkdirSync(dirname(join(next, file)), { recursive: true });
      writeFileSync(join(next, file), fresh.get(file) ?? "");
    }
    swap(folder, next, previous);
    return true;
  } catch (error) {
    if (RENAME_REFUSED.has(codeOf(error))) return false;
    throw error;
  } finally {
    remove(next);
  }
}

const RENAME_REFUSED: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EROFS", "EBUSY", "EXDEV"]);

/** Puts `next` in the place of `folder`. */
function swap(folder: string, next: string, previous: string): void {
  remove(previous);
  if (existsSync(folder)) renameSync(folder, previous);
  renameSync(next, folder);
  remove(previous);
}

/** Restores the folder that a killed process had renamed, and removes its unfinished one. */
export function recoverFolder(path: string): void {
  const folder = existsSync(path) ? realpathSync(path) : resolve(path);
  if (!existsSync(dirname(folder))) return;
  for (const name of readdirSync(dirname(folder))) {
    const [kind, pid] = name.startsWith(`.${basename(folder)}.`) ? (LEFTOVER.exec(name)?.slice(1) ?? []) : [];
    if (kind === undefined || isAlive(Number(pid))) continue;
    const leftover = join(dirname(folder), name);
    if (kind === "previous" && !existsSync(folder)) renameSync(leftover, folder);
    else remove(leftover);
  }
}

const LEFTOVER = /\.(next|previous)-(\d+)$/;

/** Hidden names beside the folder: a rename works only within a file system. Links are resolved. */
function besideOf(path: string): { folder: string; next: string; previous: string } {
  const folder = existsSync(path) ? realpathSync(path) : resolve(path);
  const beside = join(dirname(folder), `.${basename(folder)}`);
  const pid = String(process.pid);
  return { folder, next: `${beside}.next-${pid}`, previous: `${beside}.previous-${pid}` };
}

/** Links every file that is not replaced; folders that would be empty are not created. */
function linkTree(from: string, to: string, below: string, replaced: ReadonlySet<string>): void {
  for (const entry of readdirSync(join(from, below), { withFileTypes: true })) {
    const name = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) {
      linkTree(from, to, name, replaced);
    } else if (!replaced.has(name)) {
      mkdirSync(dirname(join(to, name)), { recursive: true });
      linkOrCopy(join(from, name), join(to, name));
    }
  }
}

/** Some file systems have no hard links. */
function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "";
}

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true });
}

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
