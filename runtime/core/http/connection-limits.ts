import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { resetConnection, resetSocket } from "./send.js";
import type { ServerLimits } from "./server-limits.js";

/** Statuses of input that is no request, arrives too late, or asks for what no request gets. */
export type EarlyStatus = 400 | 408 | 413 | 417 | 431 | 503;

/** Writes the response, head and body, to what cannot become a request. The connection closes after it. */
export type EarlyError = (status: EarlyStatus, socket: Socket) => Promise<string>;

/** One listener for all responses: a function for each, which is removed again, takes half a microsecond more. */
const CONNECTION = Symbol("connection");
type AcceptedResponse = ServerResponse & { [CONNECTION]: ClientConnection };

/** One client's connection: what node:http leaves open of it. */
export class ClientConnection {
  readonly #socket: Socket;
  readonly #limits: ServerLimits;
  readonly #earlyError: EarlyError;
  /** The request received last. */
  #latest: { readonly request: IncomingMessage; readonly response: ServerResponse } | null = null;
  /** Responses that are not complete. */
  #pending = 0;
  /** Deadline for closing, while it is closing. */
  #endsAt = Infinity;
  /** What the client had taken at the start of the current window, and that start. */
  #taken = 0;
  #windowStart = performance.now();
  /** Start of the idle time. */
  idleSince = performance.now();

  constructor(socket: Socket, limits: ServerLimits, earlyError: EarlyError) {
    this.#socket = socket;
    this.#limits = limits;
    this.#earlyError = earlyError;
    // Node calls `destroySoon` after a response with `Connection: close`. While a request body still arrives that would
    // reset the socket and lose the response: of 50 clients that sent 4 MB before they read, all got their 413, and
    // without this one. Node has no other hook.
    const destroySoon = socket.destroySoon.bind(socket);
    socket.destroySoon = () => {
      this.#beginClose();
      if (this.#latest?.request.complete === false) socket.end();
      else destroySoon();
    };
  }

  /** Whether no response is pending. */
  get isIdle(): boolean {
    return this.#endsAt < Infinity || this.#pending === 0;
  }

  /** Whether a request may run. Past the limit of pipelined ones the connection closes. */
  accept(request: IncomingMessage, response: ServerResponse): boolean {
    if (this.#endsAt < Infinity) return false;
    if (this.#pending >= this.#limits.pipelined) {
      this.#socket.destroy();
      return false;
    }
    this.#latest = { request, response };
    this.#pending++;
    (response as AcceptedResponse)[CONNECTION] = this;
    response.on("close", ClientConnection.#closed);
    return true;
  }

  static #closed(this: AcceptedResponse): void {
    this[CONNECTION].#pending--;
    this[CONNECTION].idleSince = performance.now();
  }

  /** The response to the latest request says that the connection closes, if it has not begun (RFC 9112 §9.6). */
  announceClose(): void {
    if (this.#latest?.response.headersSent === false) this.#latest.response.shouldKeepAlive = false;
  }

  /** Rejects the latest request, or input that is no request. */
  fail(status: EarlyStatus): void {
    if (this.#endsAt < Infinity) return;
    const response = this.#latest?.request.complete === false ? this.#latest.response : undefined;
    // A client would take the error for the response to a request before it; a load balancer that opens spare connections,
    // for the response to its first.
    if (this.#socket.bytesRead === 0 || response?.headersSent || this.#pending > (response ? 1 : 0))
      this.#socket.destroy();
    else {
      this.#beginClose();
      void this.#earlyError(status, this.#socket).then((text) =>
        this.#socket.end(response?.headersSent ? "" : text),
      );
    }
  }

  /** Closes the connection when it has exceeded a limit. */
  check(now: number): void {
    const { bytes, windowMs } = this.#limits.minimumRate;
    const taken = takenBytes(this.#socket);
    if (this.#socket.writableLength === 0 || taken - this.#taken >= bytes) {
      this.#taken = taken;
      this.#windowStart = now;
    }
    if (now >= this.#endsAt) this.#socket.destroy();
    else if (now - this.#windowStart < windowMs) return;
    else if (this.#latest === null) resetSocket(this.#socket);
    else resetConnection(this.#latest.response, new Error("The client reads too slowly."));
  }

  #beginClose(): void {
    this.#endsAt = performance.now() + this.#limits.lingerMs;
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
