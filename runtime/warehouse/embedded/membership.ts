import { setTimeout as sleep } from "node:timers/promises";

import type { Cluster } from "./cluster.js";
import { ensureDatabase } from "./database.js";
import { readPidFile } from "./server.js";
import { isOurs, openSession, type Session } from "./session.js";
import { AM_I_LAST, JOIN, LEAVE, WATCH_OVER } from "./watch.js";

/**
 * What stands behind `postmaster.pid`: our server, which we have joined; our server, not ready (it starts, recovers or
 * shuts down); or nothing that is ours.
 */
export type Attachment =
  | { readonly kind: "joined"; readonly membership: Membership }
  | { readonly kind: "busy" }
  | { readonly kind: "absent"; readonly why: string };

/** Attaches to the server that runs on the cluster, whoever started it. */
export async function attach(cluster: Cluster): Promise<Attachment> {
  const found = await readPidFile(cluster);
  if (!found) return { kind: "absent", why: "no server runs yet" };
  try {
    return {
      kind: "joined",
      membership: new Membership(cluster, found.port, await join(cluster, found.port)),
    };
  } catch (error) {
    const { code = "", message } = error as Error & { code?: string };
    return BUSY.test(code) ? { kind: "busy" } : { kind: "absent", why: message };
  }
}

/** SQLSTATE: shutting down, crashed, not ready yet; too many connections. */
const BUSY = /^(57P0[123]|53300)$/;

/** Until it has joined a session keeps the Node process alive; from then on it doesn't. */
async function join(cluster: Cluster, port: number): Promise<Session> {
  const session = await openSession(cluster, port, "uses this server");
  try {
    if (!(await isOurs(cluster, session))) throw new Error(`the server on port ${port} is another cluster's`);
    await session.client.query(JOIN);
    await ensureDatabase(session.client);
    await watchOver(cluster, port);
    session.socket.unref();
    return session;
  } catch (error) {
    session.socket.destroy();
    throw error;
  }
}

/** Not awaited to the end: the session lasts as long as the server unless another watches already. */
async function watchOver(cluster: Cluster, port: number): Promise<void> {
  const { client, socket } = await openSession(cluster, port, "shuts the server down when nobody uses it");
  client.query(WATCH_OVER).then(
    () => client.end(),
    () => {},
  );
  socket.unref();
}

/** PostgreSQL cuts all sessions off when one of its processes crashes, and is back within seconds. */
const REJOIN_TRIES = 30;
const REJOIN_MS = 1_000;

/** That this process uses the server, as the other processes on the same data directory see it. */
export class Membership {
  readonly port: number;
  readonly #cluster: Cluster;
  #session: Session;
  #left = false;

  constructor(cluster: Cluster, port: number, session: Session) {
    this.port = port;
    this.#cluster = cluster;
    this.#session = this.#keep(session);
  }

  /** Gives the membership up. When we were the last, `close` runs while newcomers are kept waiting outside. */
  async leave(close: () => Promise<void>): Promise<void> {
    this.#left = true;
    const { client, socket } = this.#session;
    socket.ref();
    const last = await this.#isLast().catch(() => false);
    if (last) await close();
    await client.end().catch(() => {});
  }

  async #isLast(): Promise<boolean> {
    await this.#session.client.query(LEAVE);
    const { rows } = await this.#session.client.query<{ last: boolean }>(AM_I_LAST);
    return rows[0]?.last === true;
  }

  #keep(session: Session): Session {
    session.client.once("end", () => void this.#rejoin());
    return session;
  }

  async #rejoin(): Promise<void> {
    for (let tries = 0; tries < REJOIN_TRIES && !this.#left; tries++) {
      await sleep(REJOIN_MS, undefined, { ref: false });
      const session = await join(this.#cluster, this.port).catch(() => undefined);
      if (!session) continue;
      // `leave` may have come while this was joining.
      // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition
      if (this.#left) session.socket.destroy();
      else this.#session = this.#keep(session);
      return;
    }
  }
}
