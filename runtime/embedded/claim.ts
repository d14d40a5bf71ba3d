import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Cluster } from "./cluster.js";

/** The right to start the server of a cluster, which one at a time has. It's gone with the process that has it. */
export interface Claim {
  release(): Promise<void>;
}

/**
 * Claims the right to start the server; `undefined` while somebody else has it, in this process or another one.
 *
 * PostgreSQL itself sees to it that a data directory has one server. But of two starts at once after a crash each may
 * take the other's `postmaster.pid` for the stale one; and one alone is to tell what happens.
 */
export async function claimStart(cluster: Cluster): Promise<Claim | undefined> {
  const address = addressOf(cluster);
  const first = await listen(address);
  if (!(first instanceof Error)) return claimOf(first);
  if (first.code !== "EADDRINUSE") return WITHOUT;
  if (!isFile(address) || (await isHeld(address))) return undefined;
  await rm(address, { force: true });
  const second = await listen(address);
  return second instanceof Error ? undefined : claimOf(second);
}

/** Where one can't be had, as when no socket may be made, PostgreSQL's own lock has to do. */
const WITHOUT: Claim = { release: () => Promise.resolve() };

/**
 * A name to listen on, which the system takes back when the process ends: on Linux one of its own kind, on Windows a
 * pipe; elsewhere a socket's file, which is left behind, but with nobody behind it. Nobody who lacks the password can
 * make it out and stand in the way.
 */
function addressOf({ data, password }: Cluster): string {
  const name = createHash("sha256").update(`start ${data} ${password}`).digest("hex").slice(0, 32);
  switch (process.platform) {
    case "linux":
      return `\0routewright-${name}`;
    case "win32":
      return `\\\\.\\pipe\\routewright-${name}`;
    default:
      return join(tmpdir(), `routewright-${name}`);
  }
}

function isFile(address: string): boolean {
  return !address.startsWith("\0") && !address.startsWith("\\");
}

function listen(path: string): Promise<Server | NodeJS.ErrnoException> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", resolve);
    // Of the processes of a cluster of Node's, each for itself.
    server.listen({ path, exclusive: true }, () => resolve(server.unref()));
  });
}

function isHeld(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("error", () => resolve(false));
    socket.once("connect", () => resolve(true));
    socket.once("close", () => socket.destroy());
  });
}

function claimOf(server: Server): Claim {
  return { release: () => new Promise((resolve) => server.close(() => resolve())) };
}
