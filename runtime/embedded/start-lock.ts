import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Cluster } from "./cluster.js";

/**
 * Runs `start`, or resolves to null if another process, or another start in this one, is starting the server. The system
 * releases the lock when the process ends.
 *
 * PostgreSQL's own lock is not enough: of two starts at once after a crash each may delete the other's `postmaster.pid` as
 * stale.
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
 * On other systems a socket file, which remains without a listener. Derived from the password, so that it is secret.
 */
function addressOf({ data, password }: Pick<Cluster, "data" | "password">): string {
  const name = createHash("sha256").update(`start ${data} ${password}`).digest("hex").slice(0, 32);
  if (process.platform === "linux") return `\0routewright-${name}`;
  return process.platform === "win32"
    ? `\\\\.\\pipe\\routewright-${name}`
    : join(tmpdir(), `routewright-${name}`);
}

/** `unavailable`: sockets cannot be created here, and only PostgreSQL's own lock applies. */
async function acquire(address: string): Promise<Server | "held" | "unavailable"> {
  const first = await listen(address);
  if (!(first instanceof Error)) return first;
  if (first.code !== "EADDRINUSE") return "unavailable";
  if (/^[\0\\]/.test(address) || (await hasListener(address))) return "held";
  await rm(address, { force: true });
  const second = await listen(address);
  return second instanceof Error ? "held" : second;
}

function listen(path: string): Promise<Server | NodeJS.ErrnoException> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", resolve);
    // `exclusive`: in a worker of node:cluster the primary would listen otherwise.
    server.listen({ path, exclusive: true }, () => resolve(server.unref()));
  });
}

function hasListener(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("error", () => resolve(false));
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
  });
}
