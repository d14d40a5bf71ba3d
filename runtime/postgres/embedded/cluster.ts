import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { chown, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import { type Binaries, program, run } from "./binaries.js";

/** A database cluster on disk, with the binaries and the account that run it. */
export interface Cluster {
  /** Holds `data`, `password` and `postgres.log`. */
  readonly directory: string;
  readonly binaries: Binaries;
}

export const SUPERUSER = "routewright";

/**
 * The built-in locale supports Unicode case mapping (`lower()`, patterns), sorts by code point and is the same on every
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
  await runHere({ directory: staging, binaries }, "initdb", ["--pwfile=../password", ...INITDB_OPTIONS]);
  await rename(staging, directory);
}

/**
 * PostgreSQL's arguments for the data directory, which must also be the working directory. The account may have no access
 * to its parent directories: on Linux `/proc/self/cwd` does not need it.
 */
export function dataArguments({ directory, binaries }: Cluster): readonly string[] {
  return ["-D", binaries.account ? "/proc/self/cwd" : join(directory, "data")];
}

function runHere(cluster: Cluster, name: "initdb" | "pg_ctl", args: readonly string[]): Promise<void> {
  const { directory, binaries } = cluster;
  const options = { account: binaries.account, cwd: join(directory, "data") };
  return run(program(binaries, name), [...dataArguments(cluster), ...args], options);
}

/**
 * Starts the server; rejects with EADDRINUSE while another process starts it. The lock is a loopback port made from the
 * folder's name, which the system frees when the process ends: of two starts at once after a crash each would delete the
 * other's `postmaster.pid`, and of three first starts at once all failed without it. The server prefers the next port.
 */
export async function startAlone(cluster: Cluster): Promise<void> {
  const digest = createHash("sha256").update(cluster.directory).digest();
  const port = 20_000 + 2 * (digest.readUInt16BE() % 5_000);
  const lock = await listen(port);
  try {
    await createCluster(cluster);
    await startServer(cluster, port + 1);
  } finally {
    lock.close();
  }
}

/** Starts the server, detached from this process, and waits until it is ready. */
async function startServer(cluster: Cluster, preferred: number): Promise<void> {
  const { directory } = cluster;
  const before = await recordedPort(cluster);
  const probe = await listen(before ?? preferred).catch(() => listen(0));
  const { port } = probe.address() as AddressInfo;
  await new Promise((closed) => probe.close(closed));
  // A killed server leaves its file. After a restart of a container another process has its id, and PostgreSQL would not
  // start. No server has its port; one that is ending holds the data's shared memory, without which PostgreSQL starts none.
  if (port === before) await rm(join(directory, "data", "postmaster.pid"), { force: true });
  const log = join(directory, "postgres.log");
  await rename(log, `${log}.old`).catch(() => undefined);
  const options = ["--log=../postgres.log", "--options", `-p ${String(port)}`];
  await runHere(cluster, "pg_ctl", ["start", "--silent", "--wait", ...options]);
}

/** Fast shutdown: terminates sessions, writes a checkpoint, and resolves when the server has ended. */
export async function stopServer(cluster: Cluster): Promise<void> {
  await runHere(cluster, "pg_ctl", ["stop", "--silent", "--wait", "--mode=fast"]);
}

/** The port of the server that runs in the folder, or that was killed there. */
export async function recordedPort({ directory }: Cluster): Promise<number | null> {
  const text = await readFile(join(directory, "data", "postmaster.pid"), "utf8").catch(() => "");
  return Number(text.split("\n")[3]) || null;
}

/** A listener on the loopback port. The system frees it when the process ends. */
async function listen(port: number): Promise<Server> {
  // `exclusive`: in a worker of node:cluster the primary would listen otherwise.
  const server = createServer().unref().listen({ port, host: "127.0.0.1", exclusive: true });
  await once(server, "listening");
  return server;
}
