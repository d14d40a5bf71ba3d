import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Cluster } from "./cluster.js";

/**
 * Runs `start` unless another process, or another start in this one, is starting the server; then resolves to null. The
 * lock is gone with its process.
 *
 * PostgreSQL lets one server run on a data directory. But of two starts at once after a crash each may take the other's
 * `postmaster.pid` for the stale one.
 */
export async function withStartLock<T>(
  cluster: Pick<Cluster, "data" | "password">,
  start: () => Promise<T>,
): Promise<T | null> {
  const lock = await acquire(addressOf(cluster));
  if (lock === "held") return null;
  try {
    return await start();
  } finally {
    if (lock !== "unavailable") await new Promise((closed) => lock.close(closed));
  }
}

/**
 * An address to listen on, which the system frees when the process ends: an abstract socket on Linux, a pipe on Windows.
 * Elsewhere a socket file, which stays behind, with no listener. Without the password nobody can guess it.
 */
function addressOf({ data, password }: Pick<Cluster, "data" | "password">): string {
  const name = createHash("sha256").update(`start ${data} ${password}`).digest("hex").slice(0, 32);
  if (process.platform === "linux") return `\0routewright-${name}`;
  return process.platform === "win32"
    ? `\\\\.\\pipe\\routewright-${name}`
    : join(tmpdir(), `routewright-${name}`);
}

/** `unavailable`: no socket may be made here; PostgreSQL's own lock has to do. */
async function acquire(address: string): Promise<Server | "held" | "unavailable"> {
  const first = await listen(address);
  if (!(first instanceof Error)) return first;
  if (first.code !== "EADDRINUSE") return "unavailable";
  if (/^[\0\\]/.test(address) || (await isAnswered(address))) return "held";
  await rm(address, { force: true });
  const second = await listen(address);
  return second instanceof Error ? "held" : second;
}

function listen(path: string): Promise<Server | NodeJS.ErrnoException> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", resolve);
    // In a worker of node:cluster the primary would listen otherwise.
    server.listen({ path, exclusive: true }, () => resolve(server.unref()));
  });
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("error", () => resolve(false));
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
  });
}
