import { setTimeout as sleep } from "node:timers/promises";

import { claimStart, type Claim } from "./claim.js";
import type { Cluster } from "./cluster.js";
import { join } from "./join.js";
import type { Pace } from "./pace.js";
import { isRunning, readPidFile } from "./pid-file.js";
import { startServer, stopServer } from "./server.js";
import type { Session } from "./session.js";
import { whyEnded } from "./why-ended.js";

/** Gets what is worth telling, a line at a time. */
export interface Tell {
  info(line: string): void;
  warn(line: string): void;
}

/** A server as its user knows it, at the address that it has given away. */
export interface Seat {
  readonly cluster: Cluster;
  readonly port: number;
  readonly tell: Tell;
}

const LOOK_MS = 250;

/**
 * Joins the server again after the session was cut off. PostgreSQL itself is back within seconds when one of its
 * processes crashes. When all of it has ended, one of its users starts it again, at the same port: the one that gets
 * the claim, which it keeps until the server is back; the others wait for that. So one alone tells of it, too.
 *
 * On `signal` this ends soon, and leaves no server behind that nobody uses: `undefined`, or a session to leave by.
 */
export async function comeBack(seat: Seat, pace: Pace, signal: AbortSignal): Promise<Session | undefined> {
  const outage = new Outage(seat, pace, signal);
  try {
    while (!signal.aborted) {
      // What fails now, as on a disk without room, may succeed later.
      const session = await outage.tryOnce().catch(() => undefined);
      if (session) return session;
      await sleep(LOOK_MS, undefined, { ref: false, signal }).catch(() => undefined);
    }
    return await outage.giveUp().catch(() => undefined);
  } finally {
    await outage.end();
  }
}

class Outage {
  readonly #seat: Seat;
  readonly #pace: Pace;
  readonly #signal: AbortSignal;
  readonly #since = performance.now();
  #claim: Claim | undefined;
  #isTold = false;
  #starts = 0;

  constructor(seat: Seat, pace: Pace, signal: AbortSignal) {
    this.#seat = seat;
    this.#pace = pace;
    this.#signal = signal;
    pace.ended(this.#since);
  }

  async tryOnce(): Promise<Session | undefined> {
    const { cluster, port } = this.#seat;
    const isUp = (await isRunning(cluster)) || (await this.#start());
    if (!isUp) return undefined;
    const session = await join(cluster, port);
    this.#pace.cameUp(performance.now());
    this.#tellBack();
    return session;
  }

  /** Of a server that is up but can't be joined, nobody is a user. */
  async giveUp(): Promise<Session | undefined> {
    const { cluster } = this.#seat;
    this.#claim ??= await claimStart(cluster);
    if (!this.#claim) return undefined;
    const session = (await isRunning(cluster)) ? await this.#joinAny() : undefined;
    if (!session) await stopServer(cluster);
    return session;
  }

  async end(): Promise<void> {
    await this.#claim?.release();
  }

  /** Whoever started it gave it a port. */
  async #joinAny(): Promise<Session | undefined> {
    const { cluster, port } = this.#seat;
    const found = await readPidFile(cluster);
    return join(cluster, found?.port ?? port).catch(() => undefined);
  }

  /** Whether the server is up. */
  async #start(): Promise<boolean> {
    const { cluster, port } = this.#seat;
    this.#claim ??= await claimStart(cluster);
    if (!this.#claim) return false;
    if (await isRunning(cluster)) return true;
    await this.#tellEnded();
    const now = performance.now();
    if (!this.#pace.isDue(now)) return false;
    this.#pace.started(now);
    this.#starts++;
    return (await startServer(cluster, port, this.#signal)) === undefined;
  }

  async #tellEnded(): Promise<void> {
    if (this.#isTold) return;
    this.#isTold = true;
    const why = await whyEnded(this.#seat.cluster).catch(() => "its folder is gone");
    this.#seat.tell.warn(`embedded PostgreSQL has ended by itself and is started again: ${why}`);
  }

  #tellBack(): void {
    if (!this.#isTold) return;
    const seconds = ((performance.now() - this.#since) / 1000).toFixed(1);
    const { port, tell } = this.#seat;
    const starts = String(this.#starts);
    tell.info(
      `embedded PostgreSQL is back on 127.0.0.1:${String(port)} after ${seconds} s (starts: ${starts})`,
    );
  }
}
