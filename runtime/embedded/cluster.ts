import { randomBytes } from "node:crypto";
import {
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import type { Account } from "./account.js";
import { program } from "./binaries.js";
import { majorOf, type NativeTree } from "./native-tree.js";
import { run } from "./run.js";
import { EmbeddedPostgresUnavailable } from "./unavailable.js";

/** A database cluster on disk, with what it takes to run it. */
export interface Cluster {
  /** PostgreSQL's own data directory. */
  readonly data: string;
  readonly log: string;
  readonly password: string;
  readonly tree: NativeTree;
  readonly account: Account | undefined;
}

export const SUPERUSER = "routewright";

/** The folder below `dataDir` that holds `data/` and `password`; it appears whole, by one rename. */
export function clusterDirectory(dataDir: string): string {
  return join(dataDir, "postgres");
}

/** A half-made cluster this old belongs to a process that died: initdb takes seconds. */
const ABANDONED_MS = 10 * 60_000;

/**
 * PostgreSQL's arguments naming the data directory, which must also be the working directory. As root we run it under
 * an account that may have no way down to that directory from `/`; on Linux this path needs none.
 */
export function dataArguments(cluster: Pick<Cluster, "data" | "account">): readonly string[] {
  return ["-D", cluster.account && process.platform === "linux" ? "/proc/self/cwd" : cluster.data];
}

/** The cluster below `dataDir`, made when there is none. */
export async function openCluster(
  dataDir: string,
  tree: NativeTree,
  account: Account | undefined,
  log: (line: string) => void,
): Promise<Cluster> {
  const directory = clusterDirectory(dataDir);
  await removeAbandoned(directory);
  if (!(await exists(directory))) {
    log(`embedded PostgreSQL: making a database cluster in ${directory}`);
    await createCluster(directory, tree, account);
  }
  await checkVersion(directory, tree);
  const password = await readFile(join(directory, "password"), "utf8");
  return { data: join(directory, "data"), log: `${directory}.log`, password, tree, account };
}

/** Made aside and renamed, so that a crash leaves nothing half made and of two processes at once one wins. */
async function createCluster(
  directory: string,
  tree: NativeTree,
  account: Account | undefined,
): Promise<void> {
  const staging = await mkdtemp(`${directory}.new-`);
  try {
    await initialise(staging, tree, account);
    await rename(staging, directory);
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    if (!(await exists(directory))) throw error;
  }
}

async function initialise(staging: string, tree: NativeTree, account: Account | undefined): Promise<void> {
  const data = join(staging, "data");
  const password = join(staging, "password");
  await mkdir(data, { mode: 0o700 });
  await writeFile(password, randomBytes(24).toString("base64url"), { mode: 0o600 });
  if (account) for (const path of [staging, data, password]) await chown(path, account.uid, account.gid);
  const args = [...dataArguments({ data, account }), "--pwfile=../password", ...INITDB_OPTIONS];
  const ended = await run(program(tree, "initdb"), args, { account, cwd: data });
  if (ended.code !== 0) throw new EmbeddedPostgresUnavailable(`initdb failed: ${lastLines(ended.output)}`);
}

/**
 * The built-in locale knows Unicode's upper and lower case (`ILIKE`, `lower()`), sorts by code point and is the same
 * on every system. No Unix socket: its path would have to be short and reachable by every account.
 */
const INITDB_OPTIONS = [
  `--username=${SUPERUSER}`,
  "--auth=scram-sha-256",
  "--encoding=UTF8",
  "--locale=C",
  "--locale-provider=builtin",
  "--builtin-locale=C.UTF-8",
  ...["listen_addresses=127.0.0.1", "unix_socket_directories=", "shared_buffers=128MB", "max_connections=100"]
    .concat("timezone=UTC", "log_timezone=UTC", "log_checkpoints=off")
    .flatMap((setting) => ["--set", setting]),
];

async function checkVersion(directory: string, tree: NativeTree): Promise<void> {
  const found = await readFile(join(directory, "data", "PG_VERSION"), "utf8").catch(
    (error: unknown) => error as Error,
  );
  if (found instanceof Error) {
    const why = `${directory} holds no data for this account (${found.message})`;
    throw new EmbeddedPostgresUnavailable(
      `${why}: run as the account that owns that folder, or move it away`,
    );
  }
  const ours = majorOf(tree);
  if (Number(found) === ours) return;
  throw new EmbeddedPostgresUnavailable(
    `the data in ${directory} is of PostgreSQL ${found.trim()} and the server is PostgreSQL ${ours}: move that folder ` +
      `away to begin anew (to keep the data, dump it with that version first and load it afterwards)`,
  );
}

async function removeAbandoned(directory: string): Promise<void> {
  const parent = dirname(directory);
  for (const name of await readdir(parent)) {
    if (!name.startsWith(`${basename(directory)}.new-`)) continue;
    const path = join(parent, name);
    const made = await stat(path).catch(() => undefined);
    if (made && Date.now() - made.mtimeMs > ABANDONED_MS) await rm(path, { recursive: true, force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}

/** The end of a program's output: enough to tell why it failed, short enough for an error message. */
export function lastLines(output: string): string {
  return output.trim().split("\n").slice(-LAST_LINES).join("\n");
}

const LAST_LINES = 5;
