import { createServer, STATUS_CODES, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import { once } from "node:events";

/** A request's headers must be here by then: slow senders hold a connection, not a thread, but connections are bounded too. */
const HEADERS_TIMEOUT_MS = 10_000;
/** The whole request, body included. */
const REQUEST_TIMEOUT_MS = 30_000;
/** Longer than the idle time of the usual load balancers (60 s), which must be the ones to close. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** How long a stop waits for requests under way. */
const DRAIN_MS = 10_000;
/** How often a stop looks for connections that have become idle. */
const IDLE_SWEEP_MS = 50;

/** A server that is listening. */
export interface RunningServer {
  readonly url: string;
  /** Takes no more requests, lets those under way finish, then closes. */
  stop(): Promise<void>;
}

/** What an answer says to a caller of whom only the connection is known, as flat name and value pairs. */
export type StrangerHeaders = (socket: Socket) => Promise<readonly string[]>;

/** Starts an HTTP server with the time limits that all servers here share. Rejects when the port cannot be had. */
export async function listen(
  listener: RequestListener,
  host: string,
  port: number,
  strangerHeaders: StrangerHeaders = () => Promise.resolve([]),
): Promise<RunningServer> {
  const refuse = (status: number, socket: Socket): void =>
    void refuseStranger(status, socket, strangerHeaders);
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      // Node would answer with an empty body.
      requireHostHeader: false,
    },
    withHost(listener, refuse),
  );
  // An expectation may be passed over (RFC 9110 §10.1.1); Node would answer with an empty body.
  server.on("checkExpectation", withHost(listener, refuse));
  // Nothing here is a tunnel, and to end the connection without a word is no answer.
  server.on("connect", ({ socket }) => refuse(400, socket));
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === "ECONNRESET" || !socket.writable) socket.destroy();
    else refuse(CLIENT_ERRORS[error.code ?? ""] ?? 400, socket);
  });
  server.listen(port, host);
  await once(server, "listening").catch((error: unknown) => {
    throw new Error(notListening(error as NodeJS.ErrnoException, host, port));
  });
  return { url: urlOf(server, host), stop: () => stop(server) };
}

/** Why a server cannot listen, and what to do. */
function notListening({ code, message }: NodeJS.ErrnoException, host: string, port: number): string {
  switch (code) {
    case "EADDRINUSE":
      return `Port ${String(port)} of ${host} is in use: stop what uses it, or choose another port.`;
    case "EACCES":
      return `Port ${String(port)} of ${host} is not for this user: choose one from 1024 up.`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return `HOST ${host} is no address of this machine.`;
    default:
      return `Cannot listen on port ${String(port)} of ${host}: ${message}`;
  }
}

/** HTTP/1.1 asks for the header `Host` (RFC 9112 §3.2). */
function withHost(
  listener: RequestListener,
  refuse: (status: number, socket: Socket) => void,
): RequestListener {
  return (request, response) => {
    if (request.headers.host === undefined && request.httpVersion === "1.1") refuse(400, request.socket);
    else listener(request, response);
  };
}

function urlOf(server: Server, host: string): string {
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return `http://${host.includes(":") ? `[${host}]` : host}:${String(port)}`;
}

async function stop(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeIdleConnections();
  // A connection whose request has just been answered is idle from then on.
  const sweep = setInterval(() => server.closeIdleConnections(), IDLE_SWEEP_MS);
  const timer = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  clearInterval(sweep);
  clearTimeout(timer);
}

const CLIENT_ERRORS: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** What is not HTTP never becomes a request: it is answered here, in the form that all errors have. */
async function refuseStranger(status: number, socket: Socket, headersOf: StrangerHeaders): Promise<void> {
  const reason = STATUS_CODES[status] ?? "Bad Request";
  const body = JSON.stringify({ detail: reason });
  const headers = [
    ...(await headersOf(socket).catch(() => [])),
    ...["Content-Type", "application/json; charset=utf-8"],
    ...["Content-Length", String(body.length), "Connection", "close"],
  ];
  const lines = headers.flatMap((name, i) => (i % 2 === 0 ? `${name}: ${headers[i + 1] ?? ""}` : []));
  socket.end(`HTTP/1.1 ${String(status)} ${reason}\r\n${lines.join("\r\n")}\r\n\r\n${body}`);
}
