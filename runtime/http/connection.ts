import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Limits } from "./limits.js";

/** Words the answer to what is no request, whole with its head: the last thing that is said on the socket. */
export type Refusing = (status: number, socket: Socket) => Promise<string>;

/** A request and the answer it gets. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Node's own timer closes an idle connection first, unless its client has kept that from running out. */
const KEEP_ALIVE_GRACE_MS = 3000;

/**
 * One client's connection. Its requests are worked on one after the other, also when they come all at once: whatever waits
 * for an answer, or for its answer to be read, takes memory, and how much must not be for the client to choose.
 */
export class Connection {
  readonly socket: Socket;
  readonly #limits: Limits;
  readonly #refusing: Refusing;
  /** What is worked on, or was last. */
  #current: Exchange | null = null;
  /** What came in last. */
  #latest: Exchange | null = null;
  readonly #waiting: (() => void)[] = [];
  /** Whether nothing more is taken. */
  #leaving = false;
  /** When it is closed at the latest, once it is leaving. */
  #endsAt = Infinity;
  /** Since when it was seen to be idle; null while a request is under way. */
  #idleSince: number | null = performance.now();
  /** Bytes that the client has still to take. */
  #untaken = 0;
  /** Since when they have been as many. */
  #untakenSince = 0;

  constructor(socket: Socket, limits: Limits, refusing: Refusing) {
    this.socket = socket;
    this.#limits = limits;
    this.#refusing = refusing;
    const destroySoon = socket.destroySoon.bind(socket);
    // Node calls it after an answer that says `Connection: close`.
    socket.destroySoon = () => this.#leave(destroySoon);
  }

  /** Whether nobody waits for an answer on it. */
  get isIdle(): boolean {
    if (this.#endsAt < Infinity) return true;
    const response = this.#current?.response;
    return this.#waiting.length === 0 && (!response || response.writableFinished || response.destroyed);
  }

  /** Since when it was seen to be idle, as `performance.now()` tells it; infinity when it was not yet. */
  get idleSince(): number {
    return this.#idleSince ?? Infinity;
  }

  /** Does the work of a request in its turn. */
  take(exchange: Exchange, work: () => void): void {
    if (this.#leaving) return;
    this.#latest = exchange;
    this.#inTurn(() => {
      this.#current = exchange;
      this.#idleSince = null;
      work();
    });
  }

  /** Refuses what came in last, or what cannot become a request, in its turn. */
  fail(status: number): void {
    if (this.#leaving) return;
    const { request, response } = this.#latest ?? {};
    const isInBody = request?.complete === false;
    // A load balancer that opens connections ahead must not take a refusal for the answer to its first request.
    if (this.socket.bytesRead === 0 || (isInBody && response?.headersSent)) {
      this.socket.destroy();
    } else if (isInBody && this.#latest === this.#current) {
      this.refuse(status, response);
    } else {
      if (isInBody) this.#waiting.pop();
      this.#inTurn(() => this.refuse(status));
      this.#leaving = true;
    }
  }

  /** Says no, and nothing more; not even that when an answer in its place has been begun meanwhile. */
  refuse(status: number, response?: ServerResponse): void {
    this.#end();
    void this.#refusing(status, this.socket).then((text) =>
      this.socket.end(response?.headersSent ? "" : text),
    );
  }

  /** Told that nothing was sent or received for a while. Who waits for the database is not to blame. */
  quiet(): void {
    if (this.isIdle || this.socket.writableLength > 0) this.socket.destroy();
  }

  /** Closes it when it is overdue. */
  check(now: number): void {
    if (now >= this.#endsAt || this.#isForgotten(now) || this.#isTrickling(now)) this.socket.destroy();
  }

  #isForgotten(now: number): boolean {
    if (!this.isIdle) return false;
    this.#idleSince ??= now;
    return now - this.#idleSince >= this.#limits.keepAliveMs + KEEP_ALIVE_GRACE_MS;
  }

  #isTrickling(now: number): boolean {
    const untaken = this.socket.writableLength;
    if (untaken === 0 || untaken !== this.#untaken) this.#untakenSince = now;
    this.#untaken = untaken;
    return now - this.#untakenSince >= this.#limits.pieceMs;
  }

  #inTurn(work: () => void): void {
    if (this.isIdle) {
      work();
    } else if (this.#waiting.length >= this.#limits.pipelined) {
      this.socket.destroy();
    } else {
      this.#waiting.push(work);
      if (this.#waiting.length === 1) this.#current?.response.once("close", this.#next);
    }
  }

  readonly #next = (): void => {
    const work = this.#waiting.shift();
    if (!work || this.socket.destroyed) return;
    work();
    if (this.#waiting.length > 0) this.#current?.response.once("close", this.#next);
  };

  /** To close a socket on which something unread arrives is to reset it, and the client may never read its answer. */
  #leave(destroySoon: () => void): void {
    this.#end();
    if (this.#latest?.request.complete === false) this.socket.end();
    else destroySoon();
  }

  #end(): void {
    this.#leaving = true;
    this.#waiting.length = 0;
    this.#endsAt = performance.now() + this.#limits.lingerMs;
  }
}
