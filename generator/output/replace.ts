import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Drift } from "./folder.js";
import type { FileSet } from "../render/render.js";

/**
 * Brings a folder up to date in one step, so that whoever reads it finds the whole old tree or the whole new one. The
 * new tree is made beside the folder, out of links to what stays, and then takes its place by renaming.
 *
 * Between the two renames there is no folder for some microseconds; `recoverFolder` mends a process that was killed
 * just then.
 */
export function replaceFolder(path: string, fresh: FileSet, drift: readonly Drift[]): void {
  const { folder, next, previous } = placesOf(path);
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

/** Puts back what a killed process had moved aside, and clears away what it had not finished. */
export function recoverFolder(path: string): void {
  const { folder, next, previous } = placesOf(path);
  if (!existsSync(folder) && existsSync(previous)) renameSync(previous, folder);
  discard(next);
  discard(previous);
}

/** Beside the folder, so that renaming stays within one file system; hidden, and named after it. */
function placesOf(path: string): { folder: string; next: string; previous: string } {
  const folder = resolve(path);
  const beside = join(dirname(folder), `.${basename(folder)}`);
  return { folder, next: `${beside}.next`, previous: `${beside}.previous` };
}

/** Links every file but those that are replaced; folders that would be empty are left out. */
function linkTree(from: string, to: string, below: string, replaced: ReadonlySet<string>): void {
  for (const entry of readdirSync(join(from, below), { withFileTypes: true })) {
    const name = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) {
      linkTree(from, to, name, replaced);
    } else if (!replaced.has(name)) {
      mkdirSync(dirname(join(to, name)), { recursive: true });
      if (entry.isSymbolicLink()) symlinkSync(readlinkSync(join(from, name)), join(to, name));
      else linkSync(join(from, name), join(to, name));
    }
  }
}

function discard(path: string): void {
  rmSync(path, { recursive: true, force: true });
}
