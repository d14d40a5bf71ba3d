import { resetSocket } from "./reset.js";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Limits } from "./limits.js";

/** The response to what is no request, head and body: the last thing that is sent on the socket. */
export type EarlyError = (status: number, socket: Socket) => Promise<string>;

/** A request and its response. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Node's own timer closes an idle connection first, unless its client has kept that from running out. */
const KEEP_ALIVE_GRACE_MS = 3000;

/**
 * One client's connection. Its requests are worked on one after the other, also when they come all at once: what waits
 * for a result, or for its response to be read, takes memory, and the client must not choose how much.
 */
export class Connection {
  readonly socket: Socket;
  readonly #limits: Limits;
  readonly #earlyError: EarlyError;
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
  /** Bytes that the client has still to read. */
  #unread = 0;
  #unreadSince = 0;

  constructor(socket: Socket, limits: Limits, earlyError: EarlyError) {
    this.socket = socket;
    this.#limits = limits;
    this.#earlyError = earlyError;
    // Node calls it after a response with `Connection: close`, and offers no other way to keep a socket open that still
    // receives: its reset would lose the response (tests/hostile/oversized.test.ts).
    const destroySoon = socket.destroySoon.bind(socket);
    socket.destroySoon = () => this.#leave(destroySoon);
  }

  /** Whether no response is due on it. */
  get isIdle(): boolean {
    if (this.#endsAt < Infinity) return true;
    const response = this.#current?.response;
    return this.#waiting.length === 0 && (!response || response.writableFinished || response.destroyed);
  }

  /** Since when it was seen to be idle, as `performance.now()` tells it; infinity when it was not yet. */
  get idleSince(): number {
    return this.#idleSince ?? Infinity;
  }

  /** Does the work of a request in its turn. Of too many at once the first ones are answered, then the connection closes. */
  take(exchange: Exchange, work: () => void): void {
    if (this.#leaving) return;
    if (!this.isIdle && this.#waiting.length >= this.#limits.pipelined) {
      this.#leaving = true;
      if (this.#latest) this.#latest.response.shouldKeepAlive = false;
      return void this.socket.pause();
    }
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
    // A load balancer that opens connections ahead must not take an error for the response to its first request.
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

  /** Sends an error as the last response; nothing when a response in its place has begun meanwhile. */
  refuse(status: number, response?: ServerResponse): void {
    this.#end();
    void this.#earlyError(status, this.socket).then((text) =>
      this.socket.end(response?.headersSent ? "" : text),
    );
  }

  /** Nothing was sent or received for a while; while the database works that is no fault of the client. */
  quiet(): void {
    if (this.isIdle) this.socket.destroy();
    else if (this.socket.writableLength > 0) resetSocket(this.socket);
  }

  /** Closes it when it is overdue. */
  check(now: number): void {
    if (now >= this.#endsAt || this.#isForgotten(now)) this.socket.destroy();
    else if (this.#isTrickling(now)) resetSocket(this.socket);
  }

  #isForgotten(now: number): boolean {
    if (!this.isIdle) return false;
    this.#idleSince ??= now;
    return now - this.#idleSince >= this.#limits.keepAliveMs + KEEP_ALIVE_GRACE_MS;
  }

  #isTrickling(now: number): boolean {
    const unread = this.socket.writableLength;
    if (unread === 0 || unread !== this.#unread) this.#unreadSince = now;
    this.#unread = unread;
    return now - this.#unreadSince >= this.#limits.pieceMs;
  }

  #inTurn(work: () => void): void {
    if (this.isIdle) return work();
    this.#waiting.push(work);
    if (this.#waiting.length === 1) this.#current?.response.once("close", this.#next);
  }

  readonly #next = (): void => {
    const work = this.#waiting.shift();
    if (!work || this.socket.destroyed) return;
    work();
    if (this.#waiting.length > 0) this.#current?.response.once("close", this.#next);
  };

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
