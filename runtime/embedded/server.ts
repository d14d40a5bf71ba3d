import { open, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

import { program } from "./binaries.js";
import { dataArguments, lastLines, type Cluster } from "./cluster.js";
import { isRunning, removeStalePidFile } from "./pid-file.js";
import { orphansOf } from "./processes.js";
import { run, type Ended } from "./run.js";

/** A log longer than this (10 MB) is begun anew at the next start. */
const LOG_LIMIT = 10 * 1024 * 1024;

/**
 * Starts the server on a port of the loopback and waits until it answers. It goes on when we end, whichever way.
 * PostgreSQL itself sees to it that a data directory has one server: the second start fails. On `signal` the start is
 * broken off, and the server stopped again, unless it answers already.
 *
 * @returns why it did not start, from the server's log
 */
export async function startServer(
  cluster: Cluster,
  port: number,
  signal?: AbortSignal,
): Promise<string | undefined> {
  await removeStalePidFile(cluster);
  await endOrphans(cluster);
  const log = await open(cluster.log, "a", 0o600);
  try {
    if (cluster.account) await log.chown(cluster.account.uid, cluster.account.gid);
    if ((await log.stat()).size > LOG_LIMIT) await log.truncate();
    const before = (await log.stat()).size;
    const options = ["--silent", "--wait", "--options", `-p ${String(port)}`];
    const starting = pgCtl(cluster, "start", options, log.fd);
    const ended = await (signal ? unlessBrokenOff(cluster, starting, signal) : starting);
    if (ended.code === 0) return undefined;
    const said = (await readFile(cluster.log)).subarray(before).toString();
    return lastLines(`${ended.output}\n${said}`);
  } finally {
    await log.close();
  }
}

/**
 * Fast shutdown: sessions are cut off, everything is written, and the server is gone when this resolves. So is what it
 * has left behind when it was killed.
 */
export async function stopServer(cluster: Cluster): Promise<void> {
  // `pg_ctl` would signal whoever has got the id of a server that was killed.
  if (await isRunning(cluster)) await pgCtl(cluster, "stop", ["--silent", "--wait", "--mode", "fast"]);
  await endOrphans(cluster);
}

function pgCtl(
  cluster: Cluster,
  action: "start" | "stop",
  options: readonly string[],
  outputTo?: number,
): Promise<Ended> {
  const { account, data: cwd } = cluster;
  const args = [action, ...dataArguments(cluster), ...options];
  return run(program(cluster.tree, "pg_ctl"), args, { account, cwd, ...(outputTo && { outputTo }) });
}

const ORPHANS_MS = 5_000;
const LOOK_MS = 20;

/**
 * Ends what a server that was killed has left behind (`orphansOf`). PostgreSQL does not start beside it, as it could
 * write too.
 */
async function endOrphans(cluster: Cluster): Promise<void> {
  const deadline = Date.now() + ORPHANS_MS;
  for (let asked = false; Date.now() < deadline; asked = true) {
    const orphans = await orphansOf(cluster.data);
    if (orphans.length === 0) return;
    if (!asked) orphans.forEach(terminate);
    await sleep(LOOK_MS);
  }
}

function terminate(pid: number): void {
  try {
    process.kill(pid, "SIGTERM");
  } catch {
    // It has ended by itself.
  }
}

const AGAIN_MS = 100;

/** The server may be recovering, for minutes, or not have written down yet by which id it can be stopped. */
async function unlessBrokenOff(
  cluster: Cluster,
  starting: Promise<Ended>,
  signal: AbortSignal,
): Promise<Ended> {
  let isOver = false;
  let stopping = Promise.resolve();
  const stop = async (): Promise<void> => {
    for (; !isOver; await sleep(AGAIN_MS)) await stopServer(cluster);
  };
  const breakOff = (): void => void (stopping = stop());
  if (signal.aborted) breakOff();
  else signal.addEventListener("abort", breakOff, { once: true });
  const ended = await starting;
  isOver = true;
  signal.removeEventListener("abort", breakOff);
  await stopping;
  return ended;
}
