import { once } from "node:events";
import {
  type IncomingMessage,
  type RequestListener,
  type Server as HttpServer,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import { guardedServer } from "./guarded-server.js";
import { FileDescriptorMonitor, type ServerLimits, SERVER_LIMITS } from "./limits.js";
import type { Logger } from "./logger.js";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { resetSocket } from "./client-connection.js";

/** A server that is listening. */
export interface RunningServer {
  readonly url: string;
  /** Graceful shutdown: accepts no more requests, completes running ones, then closes. */
  stop(): Promise<void>;
}

/** A source of connections; passes each to `accept`. */
export type ConnectionSource = (
  accept: (socket: Socket) => void,
  host: string,
  port: number,
) => Promise<OpenConnectionSource>;

interface OpenConnectionSource {
  /** The server's address. */
  readonly url: string;
  /** Stops accepting connections; open ones stay. */
  close(): void;
}

/** Headers for a connection without a parsed request, as flat name and value pairs. */
export type EarlyErrorHeaders = (socket: Socket) => Promise<readonly string[]>;

interface ListenOptions {
  readonly earlyErrorHeaders?: EarlyErrorHeaders | undefined;
  /** Default: `listening`. */
  readonly source?: ConnectionSource | undefined;
  /** Overrides of `LIMITS`. */
  readonly limits?: Partial<ServerLimits>;
  /** Gets the start-up warning of few file descriptors, and the error when none is left. */
  readonly log?: Logger;
}

/** Starts an HTTP server. Rejects with a message that says what to do when it cannot listen. */
export async function listen(
  listener: RequestListener,
  host: string,
  port: number,
  { earlyErrorHeaders = () => Promise.resolve([]), source = listening, limits, log }: ListenOptions = {},
): Promise<RunningServer> {
  const reject = (status: number, socket: Socket): Promise<string> =>
    earlyError(status, socket, earlyErrorHeaders);
  const { server, stopChecks } = guardedServer(listener, reject, { ...SERVER_LIMITS, ...limits });
  const shutdown = new GracefulShutdown(server);
  const track: RequestListener = (request, response) => shutdown.track(request, response);
  // Before the listener, which may respond synchronously.
  for (const event of ["request", "checkContinue", "checkExpectation"]) server.prependListener(event, track);
  const open = await source((socket) => void server.emit("connection", socket), host, port);
  const monitor = log && new FileDescriptorMonitor(log);
  const stop = async (): Promise<void> => {
    open.close();
    await shutdown.run();
    stopChecks();
    monitor?.stop();
  };
  return { url: open.url, stop };
}

/**
 * Accepts connections on a port with a TCP server: closing an HTTP server would also close its idle connections at once and
 * lose requests in transit (tests/cluster/drain.test.ts).
 */
export const listening: ConnectionSource = async (accept, host, port) => {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, accept);
  const url = await bind(server, host, port);
  return { url, close: () => void server.close() };
};

/** Makes a server listen. Resolves to its address as an `http://` URL; rejects with a message that says what to do. */
export async function bind(server: Server, host: string, port: number): Promise<string> {
  server.listen(port, host);
  await once(server, "listening").catch((error: unknown) => {
    throw new Error(bindProblem(error as NodeJS.ErrnoException, host, port));
  });
  const address = server.address();
  const bound = typeof address === "object" && address !== null ? address.port : 0;
  return `http://${host.includes(":") ? `[${host}]` : host}:${String(bound)}`;
}

/** Why a server cannot listen, and what to do. */
function bindProblem({ code, message }: NodeJS.ErrnoException, host: string, port: number): string {
  switch (code) {
    case "EADDRINUSE":
      return `Port ${String(port)} of ${host} is in use: stop what uses it, or choose another port.`;
    case "EACCES":
      return `Port ${String(port)} of ${host} needs privileges that this user does not have: choose a port from 1024 up.`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return `HOST ${host} is not an address of this machine: set HOST to a local address, or to 0.0.0.0 for all.`;
    default:
      return `Cannot listen on port ${String(port)} of ${host}: ${message}`;
  }
}

/** `Retry-After` of a server at its connection limit, in seconds. */
const FULL_RETRY_SECONDS = 1;

/**
 * The response, head and body, to input that is not HTTP or arrives too late: an error body as every other, and the
 * connection closes (runtime/README.md, Errors).
 */
async function earlyError(status: number, socket: Socket, headersOf: EarlyErrorHeaders): Promise<string> {
  const reason = STATUS_CODES[status] ?? "Bad Request";
  const body = JSON.stringify({ detail: reason });
  const headers = [
    ...(await headersOf(socket).catch(() => [])),
    ...(status === 503 ? ["Retry-After", String(FULL_RETRY_SECONDS)] : []),
    ...["Content-Type", "application/json; charset=utf-8"],
    ...["Content-Length", String(body.length), "Connection", "close"],
  ];
  const lines = headers.flatMap((name, i) => (i % 2 === 0 ? `${name}: ${headers[i + 1] ?? ""}` : []));
  return `HTTP/1.1 ${String(status)} ${reason}\r\n${lines.join("\r\n")}\r\n\r\n${body}`;
}

/** How long a shutdown waits for running requests. */
const SHUTDOWN_TIMEOUT_MS = 10_000;
/**
 * A connection without traffic for this long is closed. A client that sends often sends within this time, and gets
 * `Connection: close` with the response.
 */
const IDLE_MS = 500;
/** How often a shutdown checks the connections. */
const CHECK_MS = 25;

interface Connection {
  /** The response to its latest request; null before the first one. */
  latest: ServerResponse | null;
}

/** Bytes transferred so far, and the start of the idle time. */
interface Traffic {
  readonly bytes: number;
  readonly idleSince: number;
}

/** Tracks a server's connections, so that a shutdown completes running requests. */
export class GracefulShutdown {
  readonly #open = new Map<Socket, Connection>();
  #hasBegun = false;

  constructor(server: HttpServer) {
    server.on("connection", (socket: Socket) => {
      this.#open.set(socket, { latest: null });
      socket.once("close", () => this.#open.delete(socket));
    });
  }

  /** Must be called for each request before it is handled. */
  track({ socket }: IncomingMessage, response: ServerResponse): void {
    const connection = this.#open.get(socket);
    if (connection) connection.latest = response;
    // The client sends its next request on a new connection (RFC 9112 §9.6).
    if (this.#hasBegun) response.shouldKeepAlive = false;
  }

  /** Resolves once all are closed: busy ones after their response, idle ones after 500 ms, the rest after 10 s. */
  async run(): Promise<void> {
    this.#hasBegun = true;
    for (const { latest } of this.#open.values())
      if (latest?.headersSent === false) latest.shouldKeepAlive = false;
    const end = performance.now() + SHUTDOWN_TIMEOUT_MS;
    const seen = new Map<Socket, Traffic>();
    while (this.#open.size > 0) {
      this.#check(seen, end);
      await sleep(CHECK_MS);
      // Reads what has arrived: closing a connection with unread data resets it.
      await nextTurn();
    }
  }

  #check(seen: Map<Socket, Traffic>, end: number): void {
    const now = performance.now();
    for (const [socket, connection] of this.#open) {
      const bytes = socket.bytesRead + socket.bytesWritten;
      const before = seen.get(socket);
      const isIdle = before?.bytes === bytes && !isBusy(socket, connection);
      const idleSince = isIdle ? before.idleSince : now;
      seen.set(socket, { bytes, idleSince });
      if (now >= end && isBusy(socket, connection)) resetSocket(socket);
      else if (now >= end || now - idleSince >= IDLE_MS) socket.destroy();
    }
  }
}

/** Whether a request is running or arriving. */
function isBusy(socket: Socket, { latest }: Connection): boolean {
  return latest === null ? socket.bytesRead > 0 : !latest.writableFinished;
}
