import { open, readFile, rm, stat } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";

import { program } from "./binaries.js";
import { dataArguments, lastLines, type Cluster } from "./cluster.js";
import { run } from "./run.js";

/** A log longer than this (10 MB) is begun anew at the next start. */
const LOG_LIMIT = 10 * 1024 * 1024;

/** What the server says about itself in `postmaster.pid`, which is also there when it was killed. */
export interface PidFile {
  readonly text: string;
  readonly pid: number;
  readonly port: number;
}

/** PostgreSQL's lines: process id, data directory, start time, port, … */
export async function readPidFile(cluster: Cluster): Promise<PidFile | undefined> {
  const text = await readFile(pidFileOf(cluster), "utf8").catch(() => "");
  const [pid, , , port] = text.split("\n").map(Number);
  return pid && port ? { text, pid, port } : undefined;
}

function pidFileOf(cluster: Cluster): string {
  return join(cluster.data, "postmaster.pid");
}

/**
 * Starts the server on a free port of the loopback and waits until it answers. It goes on when we end, whichever way.
 * PostgreSQL itself sees to it that a data directory has one server: the second start fails.
 *
 * @returns why it did not start, from the server's log
 */
export async function startServer(cluster: Cluster): Promise<string | undefined> {
  await removeStalePidFile(cluster);
  const log = await open(cluster.log, "a", 0o600);
  try {
    if (cluster.account) await log.chown(cluster.account.uid, cluster.account.gid);
    if ((await log.stat()).size > LOG_LIMIT) await log.truncate();
    const before = (await log.stat()).size;
    const options = ["--silent", "--wait", "--options", `-p ${await freePort()}`];
    const ended = await pgCtl(cluster, "start", options, log.fd);
    if (ended.code === 0) return undefined;
    const said = (await readFile(cluster.log)).subarray(before).toString();
    return lastLines(`${ended.output}\n${said}`);
  } finally {
    await log.close();
  }
}

/** Fast shutdown: sessions are cut off, everything is written, and the server is gone when this resolves. */
export async function stopServer(cluster: Cluster): Promise<void> {
  await pgCtl(cluster, "stop", ["--silent", "--wait", "--mode", "fast"]);
}

function pgCtl(cluster: Cluster, action: "start" | "stop", options: readonly string[], outputTo?: number) {
  const { account, data: cwd } = cluster;
  const args = [action, ...dataArguments(cluster), ...options];
  return run(program(cluster.tree, "pg_ctl"), args, { account, cwd, ...(outputTo && { outputTo }) });
}

/**
 * After a crash the id in `postmaster.pid` may have gone to another process of the account, and PostgreSQL would take
 * that for a server and not start. Under a dead id it manages by itself, so then nothing is removed, lest we take away
 * the file of a server that has started in this moment.
 */
async function removeStalePidFile(cluster: Cluster): Promise<void> {
  const found = await readPidFile(cluster);
  if (!found || !isAlive(found.pid) || (await isServerOf(cluster, found.pid))) return;
  if ((await readPidFile(cluster))?.text === found.text) await rm(pidFileOf(cluster), { force: true });
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** On Linux exact: a server works in its data directory. Elsewhere by the program's name; when in doubt, yes. */
async function isServerOf(cluster: Cluster, pid: number): Promise<boolean> {
  if (process.platform === "linux") {
    const [cwd, data] = await Promise.all([
      stat(`/proc/${pid}/cwd`).catch(() => undefined),
      stat(cluster.data),
    ]);
    return cwd?.dev === data.dev && cwd.ino === data.ino;
  }
  const { code, output } = await run("ps", ["-p", String(pid), "-o", "comm="]);
  return code !== 0 || output.includes("postgres");
}

/** Free now; if it's taken by the time the server binds it, the start fails and is tried again with another. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}
