import { readFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";

import type { Cluster } from "./cluster.js";

/**
 * A port of the loopback for a new server: the one that the last server had, which somebody may still have in an
 * address, or else any. If it's taken by the time the server binds it, the start fails and is tried again.
 */
export async function portFor(cluster: Cluster): Promise<number> {
  const last = await lastPort(cluster);
  return (last && (await free(last).catch(() => undefined))) || (await free(0));
}

/** From the command line that a server writes down when it starts, and leaves there when it ends. */
async function lastPort(cluster: Cluster): Promise<number | undefined> {
  const text = await readFile(join(cluster.data, "postmaster.opts"), "utf8").catch(() => "");
  const port = /"-p" "(\d+)"/.exec(text)?.[1];
  return port === undefined ? undefined : Number(port);
}

function free(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(port, "127.0.0.1", () => {
      const { port: found } = probe.address() as AddressInfo;
      probe.close(() => resolve(found));
    });
  });
}
