import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { ReadRate, ServerLimits } from "./limits.js";

/** Writes the response, head and body, to what cannot become a request. The connection closes after it. */
export type EarlyError = (status: number, socket: Socket) => Promise<string>;

/** How fast the client of one connection takes what is sent to it. */
class ReadProgress {
  #taken = 0;
  #since = performance.now();

  /** Whether the client has taken less than the rate in the current window. */
  isBelow({ bytes, windowMs }: ReadRate, socket: Socket, now: number): boolean {
    const taken = takenBytes(socket);
    if (socket.writableLength === 0 || taken - this.#taken >= bytes) {
      this.#taken = taken;
      this.#since = now;
    }
    return now - this.#since >= windowMs;
  }
}

/**
 * Bytes that the system has taken for the client. Of a body that is one write, `bytesWritten` and `writableLength` show no
 * progress before its end; Node's own timeout of a socket reads the same two counters.
 */
function takenBytes(socket: Socket): number {
  const { _handle: handle } = socket as { _handle?: { bytesWritten: number; writeQueueSize: number } | null };
  return handle ? handle.bytesWritten - handle.writeQueueSize : socket.bytesWritten;
}

/** One client's connection: what node:http leaves open of it. */
export class ClientConnection {
  readonly socket: Socket;
  readonly #limits: ServerLimits;
  readonly #earlyError: EarlyError;
  readonly #progress = new ReadProgress();
  /** The request received last. */
  #latest: { readonly request: IncomingMessage; readonly response: ServerResponse } | null = null;
  /** Responses that are not complete. */
  #pending = 0;
  #onPending: () => void = () => undefined;
  /** Whether no further request is accepted. */
  #isClosing = false;
  /** Deadline for closing, while it is closing. */
  #endsAt = Infinity;
  /** Start of the idle time. */
  idleSince = performance.now();

  constructor(socket: Socket, limits: ServerLimits, earlyError: EarlyError) {
    this.socket = socket;
    this.#limits = limits;
    this.#earlyError = earlyError;
    // Node calls `destroySoon` after a response with `Connection: close`. While a request body still arrives that would
    // reset the socket and lose the response: of 50 clients that sent 4 MB before they read, all got their 413, and
    // without this one. Node has no other hook.
    const destroySoon = socket.destroySoon.bind(socket);
    socket.destroySoon = () => {
      this.#beginClose();
      if (this.#latest?.request.complete === false) this.socket.end();
      else destroySoon();
    };
  }

  /** Whether no response is pending. */
  get isIdle(): boolean {
    return this.#endsAt < Infinity || this.#pending === 0;
  }

  /** Whether a request is running or arriving. */
  get isBusy(): boolean {
    return this.#latest === null ? this.socket.bytesRead > 0 : this.#pending > 0;
  }

  /**
   * Whether a request may run. Past the limit of pipelined ones (a client could have any number of results in memory) the
   * connection closes after those before it.
   */
  accept(request: IncomingMessage, response: ServerResponse): boolean {
    if (this.#isClosing) return false;
    if (this.#pending >= this.#limits.pipelined) {
      this.announceClose();
      this.#closeAfter(0, () => this.socket.destroySoon());
      return false;
    }
    this.#latest = { request, response };
    this.#pending++;
    response.once("close", () => {
      this.#pending--;
      this.idleSince = performance.now();
      this.#onPending();
    });
    return true;
  }

  /** The response to the latest request says that the connection closes, if it has not begun (RFC 9112 §9.6). */
  announceClose(): void {
    if (this.#latest?.response.headersSent === false) this.#latest.response.shouldKeepAlive = false;
  }

  /** Rejects the latest request, or input that is no request, after the responses before it. */
  fail(status: number): void {
    if (this.#isClosing) return;
    const { request, response } = this.#latest ?? {};
    const isInBody = request?.complete === false;
    // A load balancer that opens spare connections would take an error for the response to its first request.
    if (this.socket.bytesRead === 0 || (isInBody && response?.headersSent)) this.socket.destroy();
    else this.#closeAfter(isInBody ? 1 : 0, () => this.#reject(status, isInBody ? response : undefined));
  }

  /** Closes the connection when it has exceeded a limit. */
  check(now: number): void {
    if (now >= this.#endsAt) this.socket.destroy();
    else if (this.#progress.isBelow(this.#limits.minimumRate, this.socket, now)) {
      if (this.#latest === null) resetSocket(this.socket);
      else resetConnection(this.#latest.response, new Error("The client reads too slowly."));
    }
  }

  /** Accepts no more requests, and closes once no more than so many responses are pending. */
  #closeAfter(pending: number, close: () => void): void {
    this.#isClosing = true;
    this.#onPending = () => {
      if (this.#pending > pending || this.#endsAt < Infinity) return;
      this.#onPending = () => undefined;
      close();
    };
    this.#onPending();
  }

  /** Sends an error as the last response; only closes if `response` has begun. */
  #reject(status: number, response?: ServerResponse): void {
    this.#beginClose();
    void this.#earlyError(status, this.socket).then((text) =>
      this.socket.end(response?.headersSent ? "" : text),
    );
  }

  #beginClose(): void {
    this.#isClosing = true;
    this.#endsAt = performance.now() + this.#limits.lingerMs;
  }
}

/**
 * Aborts a response; `reason` becomes its `errored`. An orderly close would end a body without a length as if it were
 * complete (HTTP/1.0, which proxies use); a reset does not.
 */
export function resetConnection(response: ServerResponse, reason: Error): void {
  if (response.socket !== null) resetSocket(response.socket);
  response.destroy(reason);
}

export function resetSocket(socket: Socket): void {
  try {
    socket.resetAndDestroy();
  } catch {
    // Only TCP sockets can be reset.
    socket.destroy();
  }
}
