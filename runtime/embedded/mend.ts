import { chmod, readFile, readdir, stat, symlink } from "node:fs/promises";
import { basename, join, relative } from "node:path";

interface Link {
  readonly source: string;
  readonly target: string;
}

/**
 * Makes in a native tree what npm leaves out: the links to its libraries, which the package's install script would
 * make and `--ignore-scripts` forbids, and the execute permission. A link is made in one step and finding it made is
 * fine, so processes may race.
 *
 * @returns why it could not, as in a tree that is read-only
 */
export async function mend(directory: string): Promise<string | undefined> {
  try {
    for (const { source, target } of await libraryLinks(directory)) {
      await symlink(basename(source), join(directory, relative("native", target))).catch(unlessThere);
    }
    for (const file of await readdir(join(directory, "bin")))
      await makeExecutable(join(directory, "bin", file));
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** What the package's `pg-symlinks.json` asks for, in paths that begin with `native/`. Windows has no such file. */
async function libraryLinks(directory: string): Promise<readonly Link[]> {
  const text = await readFile(join(directory, "pg-symlinks.json"), "utf8").catch(() => "[]");
  return JSON.parse(text) as readonly Link[];
}

function unlessThere(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}

async function makeExecutable(file: string): Promise<void> {
  const { mode } = await stat(file);
  if ((mode & 0o111) !== 0o111) await chmod(file, mode | 0o111);
}
