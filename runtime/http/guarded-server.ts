import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import { exceedsBodyLimit } from "./body.js";
import { ClientConnection, type EarlyError } from "./client-connection.js";
import type { ServerLimits } from "./limits.js";

/** Share of the connections that is evicted at a time: finding idle ones scans all of them. */
const EVICTED_SHARE = 1 / 100;

/** Without a listener an error on a connection would end the process. */
const ignored = (): void => undefined;

interface GuardedServer {
  /** Does not listen: it accepts connections through its event `connection`. */
  readonly server: Server;
  /** Stops checking the limits. */
  readonly stopChecks: () => void;
}

/** An HTTP server that enforces `Limits` per client. Invalid requests get an error and never reach the listener. */
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
  // where in a packet the next request begins (tests/hostile/slow-senders.test.ts).
  server.emit("listening");
  // No limit on the number of headers, since their size is limited: Node would silently drop the last ones, such as those
  // that a proxy adds.
  server.maxHeadersCount = 0;
  const connections = new OpenConnections(limits, earlyError);
  server.on("connection", (socket: Socket) => connections.add(socket));
  server.setTimeout(limits.stalledMs, (socket: Socket) => connections.of(socket)?.onTimeout());
  // Without this listener Node would close the connection without a response.
  server.on("connect", ({ socket }) => connections.of(socket)?.fail(400));
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === "ECONNRESET") socket.destroy();
    else connections.of(socket)?.fail(CLIENT_ERRORS[error.code ?? ""] ?? 400);
  });
  const inTurn: RequestListener = (request, response) => {
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
  const stopChecks = (): void => {
    clearInterval(timer);
    server.close();
  };
  return { server, stopChecks };
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

/**
 * The connections of a server. At the limit new connections evict idle ones, so that a flood of idle connections cannot
 * block other clients.
 */
class OpenConnections {
  readonly #limits: ServerLimits;
  readonly #earlyError: EarlyError;
  readonly #open = new Map<Socket, ClientConnection>();

  constructor(limits: ServerLimits, earlyError: EarlyError) {
    this.#limits = limits;
    this.#earlyError = earlyError;
  }

  add(socket: Socket): void {
    socket.on("error", ignored);
    if (this.#open.size >= this.#limits.connections) this.#evictIdle();
    if (this.#open.size >= this.#limits.connections) {
      void this.#earlyError(503, socket).then((text) => socket.end(text).destroySoon());
      return;
    }
    this.#open.set(socket, new ClientConnection(socket, this.#limits, this.#earlyError));
    socket.once("close", () => this.#open.delete(socket));
  }

  /** Undefined for a rejected connection. */
  of(socket: Socket): ClientConnection | undefined {
    return this.#open.get(socket);
  }

  /** Closes connections that have exceeded a limit. */
  check(): void {
    const now = performance.now();
    for (const connection of this.#open.values()) connection.check(now);
  }

  #evictIdle(): void {
    const most = Math.max(1, Math.floor(this.#limits.connections * EVICTED_SHARE));
    const idle = [...this.#open.values()].filter(({ isIdle }) => isIdle);
    for (const { socket } of longestIdle(idle, most)) {
      this.#open.delete(socket);
      socket.destroy();
    }
  }
}

/** The longest idle connections: of the address with the most idle ones, or of all if no address has more than `most`. */
function longestIdle(idle: readonly ClientConnection[], most: number): readonly ClientConnection[] {
  const largest = largestGroup(idle);
  const candidates = largest.length > most ? [...largest] : [...idle];
  return candidates.sort((a, b) => (a.idleSince < b.idleSince ? -1 : 1)).slice(0, most);
}

function largestGroup(connections: readonly ClientConnection[]): readonly ClientConnection[] {
  const byAddress = new Map<string, ClientConnection[]>();
  for (const connection of connections) {
    const address = connection.socket.remoteAddress ?? "";
    const group = byAddress.get(address);
    if (group) group.push(connection);
    else byAddress.set(address, [connection]);
  }
  return [...byAddress.values()].reduce((a, b) => (b.length > a.length ? b : a), []);
}
