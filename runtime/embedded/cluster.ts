import { createHash, randomBytes } from "node:crypto";
import { chown, mkdir, readFile, readlink, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import { type Binaries, EmbeddedPostgresUnavailable, program, run } from "./binaries.js";

/** A database cluster on disk, with the binaries and the account that run it. */
export interface Cluster {
  /** Holds `data`, `password` and `postgres.log`. */
  readonly directory: string;
  readonly binaries: Binaries;
}

export const SUPERUSER = "routewright";

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

/** Creates the cluster with initdb if there is none: aside and renamed, so that a killed process leaves none. */
export async function createCluster({ directory, binaries }: Cluster): Promise<void> {
  if (await stat(directory).catch(() => undefined)) return;
  const staging = `${directory}.new`;
  const data = join(staging, "data");
  const password = join(staging, "password");
  await rm(staging, { recursive: true, force: true });
  await mkdir(data, { recursive: true, mode: 0o700 });
  await writeFile(password, randomBytes(24).toString("base64url"), { mode: 0o600 });
  const { account } = binaries;
  if (account) for (const path of [staging, data, password]) await chown(path, account.uid, account.gid);
  const args = ["--pwfile=../password", ...INITDB_OPTIONS];
  const { isDone, output } = await runHere({ directory: staging, binaries }, "initdb", args);
  if (!isDone) throw new EmbeddedPostgresUnavailable(`initdb failed: ${lastLines(output)}`);
  await rename(staging, directory);
}

/**
 * PostgreSQL's arguments for the data directory, which must also be the working directory. The account may have no access
 * to its parent directories: on Linux `/proc/self/cwd` does not need it.
 */
export function dataArguments({ directory, binaries }: Cluster): readonly string[] {
  const isHidden = binaries.account && process.platform === "linux";
  return ["-D", isHidden ? "/proc/self/cwd" : join(directory, "data")];
}

function runHere(
  cluster: Cluster,
  name: "initdb" | "pg_ctl",
  args: readonly string[],
): ReturnType<typeof run> {
  const { directory, binaries } = cluster;
  const { account } = binaries;
  const cwd = join(directory, "data");
  return run(program(binaries, name), [...dataArguments(cluster), ...args], { account, cwd });
}

/**
 * Starts the server unless another process is starting it (`wait`); else returns why it did not start. The lock is a
 * loopback port made from the folder's name, which the system frees when the process ends: of two starts at once after a
 * crash each would delete the other's `postmaster.pid` as stale. The server prefers the next port.
 */
export async function startAlone(cluster: Cluster): Promise<string> {
  const digest = createHash("sha256").update(cluster.directory).digest();
  const port = 20_000 + 2 * (digest.readUInt16BE() % 5_000);
  const lock = await listen(port);
  if (lock === null) return "wait";
  try {
    await createCluster(cluster);
    return await startServer(cluster, await freePort(port + 1));
  } finally {
    lock.close();
  }
}

/** Starts the server, detached from this process, and waits until it is ready. */
async function startServer(cluster: Cluster, port: number): Promise<string> {
  const { directory } = cluster;
  const { pid } = await readPidFile(directory);
  // A killed server leaves its file. PostgreSQL replaces it if no process has its id, but after a restart of a container
  // another process has it.
  if (pid && (await isOtherProcess(directory, pid)))
    await rm(join(directory, "data", "postmaster.pid"), { force: true });
  const log = join(directory, "postgres.log");
  await rename(log, `${log}.old`).catch(() => undefined);
  const options = ["--log=../postgres.log", "--options", `-p ${String(port)}`];
  const { isDone, output } = await runHere(cluster, "pg_ctl", ["start", "--silent", "--wait", ...options]);
  return isDone ? "started" : lastLines(`${output}\n${await readFile(log, "utf8").catch(() => "")}`);
}

/** Fast shutdown: terminates sessions, writes a checkpoint, and resolves when the server has ended. */
export async function stopServer(cluster: Cluster): Promise<void> {
  await runHere(cluster, "pg_ctl", ["stop", "--silent", "--wait", "--mode=fast"]);
}

/** The port of the server that runs in the folder. */
export async function findServer({ directory }: Cluster): Promise<number | null> {
  const { pid, port } = await readPidFile(directory);
  return pid && port && !(await isOtherProcess(directory, pid)) ? port : null;
}

async function readPidFile(
  directory: string,
): Promise<{ pid?: number | undefined; port?: number | undefined }> {
  const text = await readFile(join(directory, "data", "postmaster.pid"), "utf8").catch(() => "");
  const [pid, , , port] = text.split("\n").map(Number);
  return { pid, port };
}

/** Whether another process than a server on this data directory has the id, a zombie included. False if unknown. */
async function isOtherProcess(directory: string, pid: number): Promise<boolean> {
  if (process.platform !== "linux") {
    const { isDone, output } = await run("ps", ["-p", String(pid), "-o", "comm="], {});
    return isDone && !output.includes("postgres");
  }
  const facts = await readFile(`/proc/${String(pid)}/stat`, "utf8").catch(() => "");
  if (facts === "") return false;
  if (!/\(postgres\) [^ZX]/.test(facts)) return true;
  // A server's working directory is its data directory. Root in a container may not be allowed to read it.
  const cwd = await readlink(`/proc/${String(pid)}/cwd`).catch(() => null);
  return cwd !== null && cwd !== (await realpath(join(directory, "data")));
}

async function freePort(preferred: number): Promise<number> {
  const probe = (await listen(preferred)) ?? (await listen(0));
  const address = probe?.address() as AddressInfo;
  await new Promise((closed) => probe?.close(closed));
  return address.port;
}

/** A listener on the loopback port; null where it is taken. The system frees it when the process ends. */
function listen(port: number): Promise<Server | null> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy()).unref();
    server.once("error", () => resolve(null));
    // `exclusive`: in a worker of node:cluster the primary would listen otherwise.
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => resolve(server));
  });
}

/** The end of a program's output, short enough for an error message. */
function lastLines(output: string): string {
  return output.trim().split("\n").slice(-5).join("\n");
}
