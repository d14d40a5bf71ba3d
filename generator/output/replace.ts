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
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { FileSet } from "../render/render.js";
import { type Drift, type Folder, isMarked } from "./folder.js";
import { isAlive } from "./lock.js";
import { writeDrift } from "./write.js";

/**
 * Brings a folder up to date. A folder that holds nothing but generated files is replaced in one step, so that a reader
 * finds the whole old tree or the whole new one; in any other, such as `--out .`, only generated files are touched.
 */
export function writeFolder(folder: Folder, fresh: FileSet, drift: readonly Drift[]): void {
  const { path } = folder;
  requireWritable(path, drift);
  if (isOwned(folder) && replaceFolder(path, fresh, drift)) return;
  writeDrift(path, fresh, drift);
}

/** Throws where a folder whose entries change may not be written: renaming the folder above it would not fail. */
function requireWritable(path: string, drift: readonly Drift[]): void {
  for (const folder of new Set(drift.map(({ file }) => dirname(join(path, file)))))
    if (existsSync(folder)) accessSync(folder, constants.W_OK);
}

/** Whether everything in a folder is the generator's: no file of somebody else, no link, no empty folder. */
function isOwned({ path, names, files, others }: Folder): boolean {
  if (!existsSync(path)) return true;
  const isPlain = (folder: string): boolean =>
    readdirSync(folder, { withFileTypes: true }).every((entry) => {
      if (!entry.isDirectory()) return entry.isFile();
      return isPlain(join(folder, entry.name)) && readdirSync(join(folder, entry.name)).length > 0;
    });
  return (
    others.size === 0 &&
    readdirSync(path).every((name) => names.has(name)) &&
    [...files.values()].every(isMarked) &&
    isPlain(path)
  );
}

/**
 * The new tree is made beside the folder, out of links to what stays, and then takes its place by renaming. Between the
 * two renames there is no folder for some microseconds; `recoverFolder` repairs it after a process was killed just then.
 * False, and nothing has changed: the folder above may not be written, or the folder is a mount point.
 */
function replaceFolder(path: string, fresh: FileSet, drift: readonly Drift[]): boolean {
  const { folder, next, previous } = besideOf(path);
  try {
    discard(next);
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
    if (UNMOVABLE.has(codeOf(error))) return false;
    throw error;
  } finally {
    discard(next);
  }
}

const UNMOVABLE: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EROFS", "EBUSY", "EXDEV"]);

/** Puts `next` in the place of `folder`. */
function swap(folder: string, next: string, previous: string): void {
  discard(previous);
  if (existsSync(folder)) renameSync(folder, previous);
  renameSync(next, folder);
  discard(previous);
}

/** Puts back what a killed process had moved aside, and removes what it had not finished. */
export function recoverFolder(path: string): void {
  const folder = existsSync(path) ? realpathSync(path) : resolve(path);
  if (!existsSync(dirname(folder))) return;
  for (const name of readdirSync(dirname(folder))) {
    const [kind, pid] = name.startsWith(`.${basename(folder)}.`) ? (LEFT.exec(name)?.slice(1) ?? []) : [];
    if (kind === undefined || isAlive(Number(pid))) continue;
    const left = join(dirname(folder), name);
    if (kind === "previous" && !existsSync(folder)) renameSync(left, folder);
    else discard(left);
  }
}

const LEFT = /\.(next|previous)-(\d+)$/;

/** Hidden names beside the folder, so that renaming stays within one file system. A link is followed to its folder. */
function besideOf(path: string): { folder: string; next: string; previous: string } {
  const folder = existsSync(path) ? realpathSync(path) : resolve(path);
  const beside = join(dirname(folder), `.${basename(folder)}`);
  const pid = String(process.pid);
  return { folder, next: `${beside}.next-${pid}`, previous: `${beside}.previous-${pid}` };
}

/** Links every file but those that are replaced; folders that would be empty are left out. */
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

function discard(path: string): void {
  rmSync(path, { recursive: true, force: true });
}
