import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Account } from "./account.js";
import { copyOf } from "./copy.js";
import { mend } from "./mend.js";
import type { NativeTree } from "./native-tree.js";
import { run } from "./run.js";
import { EmbeddedPostgresUnavailable } from "./unavailable.js";

const PROGRAMS = ["initdb", "pg_ctl", "postgres"] as const;

/**
 * Where a copy may go; the first place that serves is taken (one may be missing, read-only or `noexec`). What root
 * copies is for another account, which can't be relied on to reach `dataDir`.
 */
export function placesForCopy(account: Account | undefined, dataDir: string): readonly string[] {
  return account ? ["/var/cache", tmpdir(), "/var/tmp"] : [dataDir];
}

/** Path of a program of the tree. */
export function program(tree: NativeTree, name: (typeof PROGRAMS)[number]): string {
  return join(tree.directory, "bin", name);
}

/**
 * A tree whose programs run under `account`: the given one, mended where it stands, or else a copy. Two things call
 * for a copy: the tree lacks its library links and is read-only, or we are root and the account can't get at the tree,
 * as below a home directory of mode 0700.
 *
 * @throws EmbeddedPostgresUnavailable when the programs run nowhere, as on musl
 */
export async function runnableTree(
  tree: NativeTree,
  account: Account | undefined,
  places: readonly string[],
): Promise<NativeTree> {
  const unmended = await mend(tree.directory);
  const trouble = await trial(tree, account);
  if (!trouble) return tree;
  if (account && BARRED.test(trouble)) {
    const why = `PostgreSQL refuses to run as root, and root may not run it as user id ${account.uid} here`;
    throw new EmbeddedPostgresUnavailable(`${why} (${trouble})`);
  }
  const copyHelps = unmended !== undefined || (account && !(await trial(tree, undefined)));
  if (!copyHelps) throw new EmbeddedPostgresUnavailable(`its programs do not run: ${trouble}`);
  return await runnableCopy(tree, account, places);
}

/** In a container that has taken root's capabilities away; in a user namespace without that user id. */
const BARRED = /spawn (EPERM|EINVAL)/;

async function runnableCopy(
  tree: NativeTree,
  account: Account | undefined,
  places: readonly string[],
): Promise<NativeTree> {
  const troubles: string[] = [];
  for (const place of places) {
    try {
      const copy = await copyOf(tree, place);
      const trouble = await trial(copy, account);
      if (!trouble) return copy;
      troubles.push(`in ${place}: ${trouble}`);
    } catch (error) {
      troubles.push(`in ${place}: ${(error as Error).message}`);
    }
  }
  throw new EmbeddedPostgresUnavailable(
    `its programs run neither where they are nor as a copy ${troubles.join("; ")}`,
  );
}

/** Why the programs don't run under the account. They load their libraries even to tell their version. */
async function trial(tree: NativeTree, account: Account | undefined): Promise<string | undefined> {
  const runs = PROGRAMS.map((name) => run(program(tree, name), ["--version"], { account }));
  const failed = (await Promise.all(runs)).find(({ code }) => code !== 0);
  return failed && (failed.output.trim() || `exit code ${failed.code}`);
}
