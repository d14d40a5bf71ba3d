import { randomBytes } from "node:crypto";
import {
  chown,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { basename, dirname, join } from "node:path";
import {
  type Binaries,
  copyParentsOf,
  findBinaries,
  program,
  runnableBinaries,
  serverAccount,
  type SystemAccount,
  EmbeddedPostgresUnavailable,
  type ProgramResult,
  run,
} from "./binaries.js";

/** A database cluster on disk, with the binaries and the account that run it. */
export interface Cluster {
  /** PostgreSQL's own data directory. */
  readonly data: string;
  readonly log: string;
  readonly password: string;
  readonly binaries: Binaries;
  readonly account: SystemAccount | undefined;
}

export const SUPERUSER = "routewright";

/** An incomplete cluster of this age was left by a killed process: initdb takes seconds. */
const ABANDONED_MS = 10 * 60_000;
/** A log longer than this (10 MB) is truncated at the next start. */
const MAX_LOG_BYTES = 10 * 1024 * 1024;

/**
 * The built-in locale supports Unicode case mapping (`ILIKE`, `lower()`), sorts by code point and is the same on every
 * system. No Unix socket: its path would have to be short and accessible to every account.
 */
const INITDB_OPTIONS = [
  `--username=${SUPERUSER}`,
  "--auth=scram-sha-256",
  "--encoding=UTF8",
  "--locale=C",
  "--locale-provider=builtin",
  "--builtin-locale=C.UTF-8",
  ...["listen_addresses=127.0.0.1", "unix_socket_directories=", "shared_buffers=128MB", "max_connections=250"]
    .concat("timezone=UTC", "log_timezone=UTC", "log_checkpoints=off")
    .flatMap((setting) => ["--set", setting]),
];

/** Opens the cluster in `<dataDir>/postgres` (`data/` and `password`); creates it with initdb if it does not exist. */
export async function openCluster(dataDir: string, log: (line: string) => void): Promise<Cluster> {
  await mkdir(dataDir, { recursive: true });
  const directory = join(dataDir, "postgres");
  const account = await serverAccount(directory);
  const binaries = await runnableBinaries(await findBinaries(), account, copyParentsOf(account, dataDir));
  await removeAbandoned(directory);
  if (!(await exists(directory))) {
    log(`embedded PostgreSQL: creating a database cluster in ${directory}`);
    await createCluster(directory, binaries, account);
  }
  await checkVersion(directory, binaries);
  const password = await readFile(join(directory, "password"), "utf8");
  return { data: join(directory, "data"), log: `${directory}.log`, password, binaries, account };
}

/** Created aside and renamed: safe against a crash and against two processes at once. */
async function createCluster(
  directory: string,
  binaries: Binaries,
  account: SystemAccount | undefined,
): Promise<void> {
  const staging = await mkdtemp(`${directory}.new-`);
  const data = join(staging, "data");
  const password = join(staging, "password");
  try {
    await mkdir(data, { mode: 0o700 });
    await writeFile(password, randomBytes(24).toString("base64url"), { mode: 0o600 });
    if (account) for (const path of [staging, data, password]) await chown(path, account.uid, account.gid);
    const args = [...dataArguments({ data, account }), "--pwfile=../password", ...INITDB_OPTIONS];
    const { code, output } = await run(program(binaries, "initdb"), args, { account, cwd: data });
    if (code !== 0) throw new EmbeddedPostgresUnavailable(`initdb failed: ${lastLines(output)}`);
    await rename(staging, directory);
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    if (!(await exists(directory))) throw error;
  }
}

/**
 * PostgreSQL's arguments for the data directory, which must also be the working directory. The account may have no access
 * to its parent directories: on Linux `/proc/self/cwd` does not need it.
 */
export function dataArguments({ data, account }: Pick<Cluster, "data" | "account">): readonly string[] {
  return ["-D", account && process.platform === "linux" ? "/proc/self/cwd" : data];
}

async function checkVersion(directory: string, binaries: Binaries): Promise<void> {
  const file = join(directory, "data", "PG_VERSION");
  const found = await readFile(file, "utf8").catch((error: unknown) => error as Error);
  if (found instanceof Error)
    throw new EmbeddedPostgresUnavailable(
      `${directory} holds no data for this account (${found.message}): run as the account that owns that folder, or move it away`,
    );
  const ours = Number.parseInt(binaries.version, 10);
  if (Number(found) === ours) return;
  throw new EmbeddedPostgresUnavailable(
    `the data in ${directory} is of PostgreSQL ${found.trim()} and the server is PostgreSQL ${String(ours)}: move that folder ` +
      `away to start with an empty database (to keep the data, dump it with that version first and load it afterwards)`,
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

/** Process id and port in `postmaster.pid`. The file remains after the server was killed. */
export async function readPidFile({ data }: Cluster): Promise<{ pid: number; port: number } | undefined> {
  const text = await readFile(join(data, "postmaster.pid"), "utf8").catch(() => "");
  const [pid, , , port] = text.split("\n").map(Number);
  return pid && port ? { pid, port } : undefined;
}

/** Starts the server, detached from this process, and waits until it is ready. Returns why it did not start. */
export async function startServer(cluster: Cluster): Promise<string | undefined> {
  await removeStalePidFile(cluster);
  const port = await freePort(cluster);
  const log = await open(cluster.log, "a", 0o600);
  try {
    if (cluster.account) await log.chown(cluster.account.uid, cluster.account.gid);
    if ((await log.stat()).size > MAX_LOG_BYTES) await log.truncate();
    const before = (await log.stat()).size;
    const options = ["--silent", "--wait", "--options", `-p ${String(port)}`];
    const { code, output } = await pgCtl(cluster, "start", options, log.fd);
    if (code === 0) return undefined;
    const logged = (await readFile(cluster.log)).subarray(before).toString();
    return lastLines(`${output}\n${logged}`);
  } finally {
    await log.close();
  }
}

/** Fast shutdown: terminates sessions, writes a checkpoint, and resolves when the server has ended. */
export async function stopServer(cluster: Cluster): Promise<void> {
  await pgCtl(cluster, "stop", ["--silent", "--wait", "--mode", "fast"]);
}

function pgCtl(
  cluster: Cluster,
  action: "start" | "stop",
  options: readonly string[],
  outputTo?: number,
): Promise<ProgramResult> {
  const { account, binaries, data: cwd } = cluster;
  const args = [action, ...dataArguments(cluster), ...options];
  return run(program(binaries, "pg_ctl"), args, { account, cwd, ...(outputTo && { outputTo }) });
}

/**
 * After a crash the id in `postmaster.pid` may belong to another process or a zombie, which PostgreSQL would take for a
 * running server. PostgreSQL itself replaces the file if no process has the id.
 */
async function removeStalePidFile(cluster: Cluster): Promise<void> {
  const found = await readPidFile(cluster);
  if (found && (await isOtherProcess(cluster.data, found.pid)))
    await rm(join(cluster.data, "postmaster.pid"), { force: true });
}

/** Whether another process than a server on this data directory has the id. False if unknown. */
async function isOtherProcess(data: string, pid: number): Promise<boolean> {
  if (process.platform !== "linux") {
    const { code, output } = await run("ps", ["-p", String(pid), "-o", "comm="]);
    return code === 0 && !output.includes("postgres");
  }
  const facts = await readFile(`/proc/${String(pid)}/stat`, "utf8").catch(() => "");
  if (facts === "") return false;
  if (!/\(postgres\) [^ZX]/.test(facts)) return true;
  // A server's working directory is its data directory. Root in a container may not be allowed to read it.
  const cwd = await readlink(`/proc/${String(pid)}/cwd`).catch(() => null);
  return cwd !== null && cwd !== (await realpath(data));
}

/** The port of the last server, which clients may still use, or else any free loopback port. */
async function freePort({ data }: Cluster): Promise<number> {
  const text = await readFile(join(data, "postmaster.opts"), "utf8").catch(() => "");
  const last = Number(/"-p" "(\d+)"/.exec(text)?.[1] ?? 0);
  return (await tryPort(last)) ?? (await tryPort(0)) ?? 0;
}

function tryPort(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(undefined));
    probe.listen({ port, host: "127.0.0.1", exclusive: true }, () => {
      const { port: found } = probe.address() as AddressInfo;
      probe.close(() => resolve(found));
    });
  });
}

/** The end of a program's output, short enough for an error message. */
function lastLines(output: string): string {
  return output.trim().split("\n").slice(-5).join("\n");
}
