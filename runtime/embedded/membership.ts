import { Pace } from "./pace.js";
import { comeBack, type Seat } from "./revival.js";
import type { Session } from "./session.js";
import { AM_I_LAST, LEAVE } from "./watch.js";

/** That this process uses the server, as the other processes on the same data directory see it. */
export class Membership {
  readonly port: number;
  readonly #seat: Seat;
  readonly #pace = new Pace();
  readonly #leaving = new AbortController();
  /** `undefined` while the server is away. */
  #session: Session | undefined;
  #returning: Promise<void> = Promise.resolve();

  constructor(seat: Seat, session: Session) {
    this.port = seat.port;
    this.#seat = seat;
    this.#keep(session);
  }

  /** Gives the membership up. When we were the last, `close` runs while newcomers are kept waiting outside. */
  async leave(close: () => Promise<void>): Promise<void> {
    this.#leaving.abort();
    await this.#returning;
    if (await this.#leaveBy(this.#session, close)) return;
    // Cut off in this moment, or before: the server may be on its way back.
    await this.#leaveBy(await comeBack(this.#seat, this.#pace, this.#leaving.signal), close);
  }

  /** Whether it could be found out if we were the last. */
  async #leaveBy(session: Session | undefined, close: () => Promise<void>): Promise<boolean> {
    if (!session) return false;
    session.socket.ref();
    const last = await isLast(session).catch(() => undefined);
    if (last) await close();
    await session.client.end().catch(() => {});
    return last !== undefined;
  }

  #keep(session: Session): void {
    this.#session = session;
    if (session.socket.closed) this.#lose();
    else session.client.once("end", () => this.#lose());
  }

  #lose(): void {
    this.#session = undefined;
    if (!this.#leaving.signal.aborted) this.#returning = this.#comeBack();
  }

  async #comeBack(): Promise<void> {
    const session = await comeBack(this.#seat, this.#pace, this.#leaving.signal);
    if (session) this.#keep(session);
  }
}

async function isLast({ client }: Session): Promise<boolean> {
  await client.query(LEAVE);
  const { rows } = await client.query<{ last: boolean }>(AM_I_LAST);
  return rows[0]?.last === true;
}
