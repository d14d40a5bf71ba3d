import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import { announcesTooMuch } from "./body.js";
import { Connection, type EarlyError } from "./connection.js";
import type { Limits } from "./limits.js";

/** How many idle connections make room at a time, as a share of all: finding them takes a look at each. */
const SHARE_CLOSED = 1 / 100;

/** An error on a connection is its client's business; without a listener it would end the process. */
const ignored = (): void => undefined;

export interface GuardedServer {
  /** Does not listen: it takes the connections that its event `connection` is emitted with. */
  readonly server: Server;
  /** Ends the checks of its limits. */
  readonly stopChecks: () => void;
}

/** An HTTP server on which no client can hold more than the limits say. What is no request is refused, never handled. */
export function guardedServer(
  listener: RequestListener,
  earlyError: EarlyError,
  limits: Limits,
): GuardedServer {
  // Node would answer a missing Host header with an empty body.
  const server = createServer({
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: limits.checkMs,
    requireHostHeader: false,
  });
  // Node starts its checks of these limits at this event, and this server never listens. Only Node's parser knows where in
  // the bytes of one packet the next request begins (tests/hostile/slow-senders.test.ts).
  server.emit("listening");
  // Their size is bounded. Of too many Node would silently drop the last ones, among them what a proxy adds.
  server.maxHeadersCount = 0;
  const connections = new OpenConnections(limits, earlyError);
  server.on("connection", (socket: Socket) => connections.add(socket));
  server.setTimeout(limits.stalledMs, (socket: Socket) => connections.of(socket)?.quiet());
  // Nothing here is a tunnel, and to end the connection without a word is no answer.
  server.on("connect", ({ socket }) => connections.of(socket)?.fail(400));
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === "ECONNRESET") socket.destroy();
    else connections.of(socket)?.fail(CLIENT_ERRORS[error.code ?? ""] ?? 400);
  });
  const inTurn: RequestListener = (request, response) => {
    const connection = connections.of(request.socket);
    connection?.take({ request, response }, () => {
      if (isWellFormed(request)) listener(request, response);
      else connection.refuse(400);
    });
  };
  server.on("request", inTurn);
  server.on("checkContinue", (request, response) => {
    if (!announcesTooMuch(request)) response.writeContinue();
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
 * Node leaves to us what a proxy in front might read another way: HTTP/1.1 asks for one header `Host`, nothing allows two
 * (RFC 9112 §3.2), HTTP/1.0 has no `Transfer-Encoding` (§6.1), and no coding but `chunked` is decoded here.
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
 * The connections of a server. Once there are as many as it may hold, the idle ones make room for new ones: a flood of
 * connections that do nothing keeps nobody out, neither behind a proxy, which opens all of them, nor without one.
 */
class OpenConnections {
  readonly #limits: Limits;
  readonly #earlyError: EarlyError;
  readonly #open = new Map<Socket, Connection>();

  constructor(limits: Limits, earlyError: EarlyError) {
    this.#limits = limits;
    this.#earlyError = earlyError;
  }

  add(socket: Socket): void {
    socket.on("error", ignored);
    if (this.#open.size >= this.#limits.connections) this.#makeRoom();
    if (this.#open.size >= this.#limits.connections) {
      void this.#earlyError(503, socket).then((text) => socket.end(text).destroySoon());
      return;
    }
    this.#open.set(socket, new Connection(socket, this.#limits, this.#earlyError));
    socket.once("close", () => this.#open.delete(socket));
  }

  /** Undefined for one that was turned away. */
  of(socket: Socket): Connection | undefined {
    return this.#open.get(socket);
  }

  /** Closes those that are overdue. */
  check(): void {
    const now = performance.now();
    for (const connection of this.#open.values()) connection.check(now);
  }

  #makeRoom(): void {
    const most = Math.max(1, Math.floor(this.#limits.connections * SHARE_CLOSED));
    const idle = [...this.#open.values()].filter(({ isIdle }) => isIdle);
    for (const { socket } of longestIdle(idle, most)) {
      this.#open.delete(socket);
      socket.destroy();
    }
  }
}

/** Those that have been idle longest: of the address that has the most, or of all where no address has many. */
function longestIdle(idle: readonly Connection[], most: number): readonly Connection[] {
  const largest = largestGroup(idle);
  const candidates = largest.length > most ? [...largest] : [...idle];
  return candidates.sort((a, b) => (a.idleSince < b.idleSince ? -1 : 1)).slice(0, most);
}

function largestGroup(connections: readonly Connection[]): readonly Connection[] {
  const byAddress = new Map<string, Connection[]>();
  for (const connection of connections) {
    const address = connection.socket.remoteAddress ?? "";
    const group = byAddress.get(address);
    if (group) group.push(connection);
    else byAddress.set(address, [connection]);
  }
  return [...byAddress.values()].reduce((a, b) => (b.length > a.length ? b : a), []);
}
