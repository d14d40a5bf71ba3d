import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";

import type { Cluster } from "./cluster.js";
import { isAlive, isServerOn } from "./processes.js";

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

/** Whether a server runs on the cluster, ready or not. */
export async function isRunning(cluster: Cluster): Promise<boolean> {
  const found = await readPidFile(cluster);
  return found !== undefined && isAlive(found.pid) && (await isServerOn(cluster.data, found.pid));
}

/**
 * After a crash the id in `postmaster.pid` may have gone to another process of the account, or to nobody but a process
 * that has not been buried, and PostgreSQL would take that for a server and not start. Under a dead id it manages by
 * itself, so then nothing is removed, lest we take away the file of a server that has started in this moment.
 */
export async function removeStalePidFile(cluster: Cluster): Promise<void> {
  const found = await readPidFile(cluster);
  if (!found || !isAlive(found.pid) || (await isServerOn(cluster.data, found.pid))) return;
  if ((await readPidFile(cluster))?.text === found.text) await rm(pidFileOf(cluster), { force: true });
}
