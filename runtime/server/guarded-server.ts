import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { exceedsBodyLimit } from "./body.js";
import { type EarlyError, OpenConnections, resetSocket } from "./client-connection.js";
import type { ServerLimits } from "./limits.js";

interface GuardedServer {
  /** Does not listen: it accepts connections through its event `connection`. */
  readonly server: Server;
  /** Accepts no more requests; resolves once the running ones are complete and all connections are closed. */
  readonly shutDown: () => Promise<void>;
}

/** An HTTP server that enforces `ServerLimits` per client. Invalid requests get an error and never reach the listener. */
export function guardedServer(
  listener: RequestListener,
  earlyError: EarlyError,
  limits: ServerLimits,
): GuardedServer {
  // Node would answer a missing Host header with an empty body.
  const server = createServer({
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: limits.checkMs,
    requireHostHeader: false,
  });
  // Node starts checking these timeouts at the event `listening`, and this server never listens. Only Node's parser knows
  // where in a packet the next request begins (tests/hostile/slow-senders.test.ts). Without this all of 20 clients that stopped
  // within their headers kept their connections; with it all got 408.
  server.emit("listening");
  // No limit on the number of headers, since their size is limited: Node would silently drop the last ones, such as those
  // that a proxy adds.
  server.maxHeadersCount = 0;
  const shutdown = new GracefulShutdown(server);
  const connections = new OpenConnections(limits, earlyError);
  server.on("connection", (socket: Socket) => connections.add(socket));
  // Without this listener Node would close the connection without a response.
  server.on("connect", ({ socket }) => connections.of(socket)?.fail(400));
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === "ECONNRESET") socket.destroy();
    else connections.of(socket)?.fail(CLIENT_ERRORS[error.code ?? ""] ?? 400);
  });
  const inTurn: RequestListener = (request, response) => {
    shutdown.track(request, response);
    const connection = connections.of(request.socket);
    connection?.enqueue({ request, response }, () => {
      if (isWellFormed(request)) listener(request, response);
      else connection.reject(400);
    });
  };
  server.on("request", inTurn);
  server.on("checkContinue", (request, response) => {
    if (!exceedsBodyLimit(request)) response.writeContinue();
    inTurn(request, response);
  });
  // An expectation may be ignored (RFC 9110 §10.1.1); Node would answer with an empty body.
  server.on("checkExpectation", inTurn);
  const timer = setInterval(() => connections.check(), limits.checkMs).unref();
  const shutDown = async (): Promise<void> => {
    await shutdown.run();
    clearInterval(timer);
    server.close();
  };
  return { server, shutDown };
}

const CLIENT_ERRORS: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/**
 * Checks against request smuggling that Node does not make: HTTP/1.1 requires one `Host` header and no version allows two
 * (RFC 9112 §3.2), HTTP/1.0 has no `Transfer-Encoding` (§6.1), and `chunked` is the only coding that Node decodes.
 */
function isWellFormed({ headers, rawHeaders, httpVersion }: IncomingMessage): boolean {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? "";
    if (name.length === 4 && name.toLowerCase() === "host") hosts++;
  }
  const coding = headers["transfer-encoding"];
  if (httpVersion !== "1.1") return hosts <= 1 && coding === undefined;
  return hosts === 1 && (coding === undefined || coding.toLowerCase() === "chunked");
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

  constructor(server: Server) {
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
