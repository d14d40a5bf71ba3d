import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server as HttpServer,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import { Server, type Socket } from "node:net";
import { type EarlyStatus } from "./connection-limits.js";
import { BUSY_RETRY_SECONDS } from "./headers.js";
import { OpenConnections } from "./open-connections.js";
import { type ServerLimits, SERVER_LIMITS } from "./server-limits.js";
import { SharedConnections } from "./shared-connections.js";
import { Interval } from "../model/timer.js";

/** A server that is listening. */
export interface RunningServer {
  readonly url: string;
  /** Graceful shutdown: accepts no more requests, completes running ones, then closes. */
  stop(): Promise<void>;
}

/** A server of this process. */
export interface HttpService extends RunningServer {
  readonly connections: SharedConnections;
}

/** What a service says to input that is no request to it. */
export interface EarlyErrors {
  /** As flat name and value pairs: only the client's address is known. */
  headersOf(socket: Socket): Promise<readonly string[]>;
  bodyOf(status: EarlyStatus): string;
}

const DEFAULT_ERRORS: EarlyErrors = {
  headersOf: () => Promise.resolve([]),
  bodyOf: (status) => JSON.stringify({ detail: STATUS_CODES[status] }),
};

interface ListenOptions {
  readonly earlyErrors?: EarlyErrors | undefined;
  /** Overrides of `SERVER_LIMITS`. */
  readonly limits?: Partial<ServerLimits>;
}

/** Starts an HTTP server. Rejects with a message that says what to do when it cannot listen. */
export async function listen(
  listener: RequestListener,
  host: string,
  port: number,
  { earlyErrors = DEFAULT_ERRORS, limits }: ListenOptions = {},
): Promise<HttpService> {
  const all = { ...SERVER_LIMITS, ...limits };
  const connections = new OpenConnections(all, (status, socket) => earlyError(status, socket, earlyErrors));
  const server = createServer({
    headersTimeout: all.headersMs,
    requestTimeout: all.requestMs,
    keepAliveTimeout: all.keepAliveMs,
    connectionsCheckingInterval: all.checkMs,
    // Node would answer a missing Host header with an empty body.
    requireHostHeader: false,
  });
  // No limit on the number of headers, since their size is limited: Node would silently drop the last ones, such as those
  // that a proxy adds.
  server.maxHeadersCount = 0;
  guard(server, connections, listener);
  const url = await bind(server, host, port);
  const timer = new Interval(all.checkMs, () => connections.check()).unref();
  const stop = async (): Promise<void> => {
    // An HTTP server's own `close` ends idle connections at once and loses requests in transit.
    Server.prototype.close.call(server);
    await connections.shutDown();
    timer.stop();
    server.close();
  };
  const shared = new SharedConnections(server, connections, () =>
    bind(server, host, Number(new URL(url).port) || HTTP_PORT),
  );
  return { url, stop, connections: shared };
}

/** A URL leaves it out. */
const HTTP_PORT = 80;

/** Refuses what node:http lets through; invalid requests never reach the listener. */
function guard(server: HttpServer, connections: OpenConnections, listener: RequestListener): void {
  server.on("connection", (socket: Socket) => connections.add(socket));
  // Without this listener Node would close the connection without a response.
  server.on("connect", ({ socket }) => connections.of(socket)?.fail(400));
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    // Behind a request with `Connection: close`, after which Node closes.
    if (error.code === "HPE_CLOSED_CONNECTION") return;
    if (error.code === "ECONNRESET") socket.destroy();
    else connections.of(socket)?.fail(CLIENT_ERRORS[error.code ?? ""] ?? 400);
  });
  // Without this listener Node's answer has no body.
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.of(request.socket);
    if (connection?.accept(request, response)) connection.fail(417);
  });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.of(request.socket);
    if (!isWellFormed(request)) return connection?.fail(400);
    if (!connection?.accept(request, response)) return;
    if (request.headers.connection !== "close" && connections.closesNext()) connection.announceClose();
    if (hasIdleBody(request)) request.resume();
    listener(request, response);
  });
}

/** Methods whose requests have no use for a body (RFC 9110 §9.3): no handler reads it. */
const WITHOUT_BODY: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Whether a request has a body that nobody reads. Node would keep it until the response ends, which may be that of events: 60,000 chunks
 * of a byte, 360 kB of a client, took 6 MB.
 */
function hasIdleBody({ method = "", headers }: IncomingMessage): boolean {
  const { "transfer-encoding": coding, "content-length": length = "0" } = headers;
  return (coding !== undefined || length !== "0") && WITHOUT_BODY.has(method);
}

const CLIENT_ERRORS: Readonly<Record<string, EarlyStatus>> = {
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

/** Makes a server listen. Resolves to its address as an `http://` URL; rejects with a message that says what to do. */
export async function bind(server: Server, host: string, port: number): Promise<string> {
  server.listen(port, host);
  await once(server, "listening").catch((error: unknown) => {
    throw new Error(bindProblem(error as NodeJS.ErrnoException, host, port));
  });
  const address = server.address();
  const boundPort = typeof address === "object" && address !== null ? address.port : 0;
  return `http://${host.includes(":") ? `[${host}]` : host}:${String(boundPort)}`;
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

/**
 * The response, head and body, to input that is not HTTP or arrives too late: an error body as every other, and the
 * connection closes (runtime/docs/errors.md).
 */
async function earlyError(status: EarlyStatus, socket: Socket, errors: EarlyErrors): Promise<string> {
  const reason = STATUS_CODES[status] ?? "";
  const body = errors.bodyOf(status);
  const headers = [
    ...(await errors.headersOf(socket).catch(() => [])),
    ...(status === 503 ? ["Retry-After", String(BUSY_RETRY_SECONDS)] : []),
    ...["Content-Type", "application/json; charset=utf-8"],
    ...["Content-Length", String(Buffer.byteLength(body)), "Connection", "close"],
  ];
  const lines = headers.flatMap((name, i) => (i % 2 === 0 ? `${name}: ${headers[i + 1] ?? ""}` : []));
  return `HTTP/1.1 ${String(status)} ${reason}\r\n${lines.join("\r\n")}\r\n\r\n${body}`;
}
