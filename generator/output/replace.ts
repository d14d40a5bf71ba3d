import {
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
import { type Drift, isMarked, OWN_NAMES, readFolder } from "./folder.js";
import { writeDrift } from "./write.js";

/**
 * Brings a folder up to date. A folder that holds nothing but generated files is replaced in one step, so that a reader
 * finds the whole old tree or the whole new one; in any other, such as `--out .`, only generated files are touched.
 */
export function updateFolder(path: string, fresh: FileSet, drift: readonly Drift[]): void {
  if (drift.length === 0) return;
  if (isOwned(path)) replaceFolder(path, fresh, drift);
  else writeDrift(path, fresh, drift);
}

/** Whether everything in a folder is the generator's: no file of somebody else, no link, no empty folder. */
function isOwned(path: string): boolean {
  if (!existsSync(path)) return true;
  const { files, others } = readFolder(path);
  const isPlain = (folder: string): boolean =>
    readdirSync(folder, { withFileTypes: true }).every((entry) => {
      if (!entry.isDirectory()) return entry.isFile();
      return isPlain(join(folder, entry.name)) && readdirSync(join(folder, entry.name)).length > 0;
    });
  return (
    others.size === 0 &&
    readdirSync(path).every((name) => OWN_NAMES.has(name)) &&
    [...files.values()].every(isMarked) &&
    isPlain(path)
  );
}

/**
 * The new tree is made beside the folder, out of links to what stays, and then takes its place by renaming. Between the
 * two renames there is no folder for some microseconds; `recoverFolder` repairs it after a process was killed just then.
 */
function replaceFolder(path: string, fresh: FileSet, drift: readonly Drift[]): void {
  const { folder, next, previous } = besideOf(path);
  discard(next);
  mkdirSync(next, { recursive: true });
  const replaced = new Set(drift.map(({ file }) => file));
  if (existsSync(folder)) linkTree(folder, next, "", replaced);
  for (const { file, kind } of drift) {
    if (kind === "stale") continue;
    mkdirSync(dirname(join(next, file)), { recursive: true });
    writeFileSync(join(next, file), fresh.get(file) ?? "");
  }
  discard(previous);
  if (existsSync(folder)) renameSync(folder, previous);
  renameSync(next, folder);
  discard(previous);
}

/** Puts back what a killed process had moved aside, and removes what it had not finished. */
export function recoverFolder(path: string): void {
  const { folder, previous } = besideOf(path);
  if (!existsSync(folder) && existsSync(previous)) renameSync(previous, folder);
  if (!existsSync(dirname(folder))) return;
  const unfinished = `.${basename(folder)}.next-`;
  for (const name of readdirSync(dirname(folder))) {
    if (name.startsWith(unfinished) && !isAlive(Number(name.slice(unfinished.length))))
      discard(join(dirname(folder), name));
  }
}

function isAlive(pid: number): boolean {
  try {
    return Number.isInteger(pid) && pid !== process.pid && process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Hidden names beside the folder, so that renaming stays within one file system. A link is followed to its folder. */
function besideOf(path: string): { folder: string; next: string; previous: string } {
  const folder = existsSync(path) ? realpathSync(path) : resolve(path);
  const beside = join(dirname(folder), `.${basename(folder)}`);
  return { folder, next: `${beside}.next-${String(process.pid)}`, previous: `${beside}.previous` };
}

/** Links every file but those that are replaced; folders that would be empty are left out. */
function linkTree(from: string, to: string, below: string, replaced: ReadonlySet<string>): void {
  for (const entry of readdirSync(join(from, below), { withFileTypes: true })) {
    const name = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) {
      linkTree(from, to, name, replaced);
    } else if (!replaced.has(name)) {
      mkdirSync(dirname(join(to, name)), { recursive: true });
      linkSync(join(from, name), join(to, name));
    }
  }
}

function discard(path: string): void {
  rmSync(path, { recursive: true, force: true });
}
