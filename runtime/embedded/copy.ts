import { chmod, cp, lstat, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

import { mend } from "./mend.js";
import type { NativeTree } from "./native-tree.js";

/**
 * The copy of a native tree below `parent`, made when it isn't there: whole or not at all, readable and executable by
 * everybody, writable by us alone.
 *
 * @throws Error when it can't be made there
 */
export async function copyOf(tree: NativeTree, parent: string): Promise<NativeTree> {
  const directory = join(parent, `routewright-postgres-${tree.version}-${process.platform}-${process.arch}`);
  if (!(await isThere(directory))) await makeCopy(tree.directory, directory);
  return { ...tree, directory };
}

/**
 * In a directory that all may write to, such as /tmp, anybody could have put programs of their own under the name that
 * we look for. What isn't ours is not run.
 */
async function isThere(directory: string): Promise<boolean> {
  const found = await lstat(directory).catch(() => undefined);
  if (!found) return false;
  const ours =
    found.isDirectory() && found.uid === (process.geteuid?.() ?? found.uid) && !(found.mode & 0o022);
  if (ours) return true;
  throw new Error(`${directory} is in the way: it was not made by this account`);
}

async function makeCopy(from: string, to: string): Promise<void> {
  const staging = await mkdtemp(`${to}.new-`);
  try {
    await cp(from, staging, { recursive: true, verbatimSymlinks: true });
    await openToAll(staging);
    const trouble = await mend(staging);
    if (trouble) throw new Error(trouble);
    await rename(staging, to);
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    if (!(await isThere(to))) throw error;
  }
}

/** Whatever umask the files were installed under, and if they were read-only. */
async function openToAll(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) await chmod(join(entry.parentPath, entry.name), 0o755);
  }
}
