import { once } from "node:events";
import { type RequestListener, STATUS_CODES } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import { guardedServer } from "./guarded-server.js";
import { FileDescriptorMonitor, type ServerLimits, SERVER_LIMITS } from "./limits.js";
import type { Logger } from "./logger.js";

/** A server that is listening. */
export interface RunningServer {
  readonly url: string;
  /** Graceful shutdown: accepts no more requests, completes running ones, then closes. */
  stop(): Promise<void>;
}

/** Headers for a connection without a parsed request, as flat name and value pairs. */
export type EarlyErrorHeaders = (socket: Socket) => Promise<readonly string[]>;

interface ListenOptions {
  readonly earlyErrorHeaders?: EarlyErrorHeaders | undefined;
  /** Overrides of `SERVER_LIMITS`. */
  readonly limits?: Partial<ServerLimits>;
  /** Receives a warning at the start if there are few file descriptors, and an error when none is left. */
  readonly log?: Logger;
}

/** Starts an HTTP server. Rejects with a message that says what to do when it cannot listen. */
export async function listen(
  listener: RequestListener,
  host: string,
  port: number,
  { earlyErrorHeaders = () => Promise.resolve([]), limits, log }: ListenOptions = {},
): Promise<RunningServer> {
  const reject = (status: number, socket: Socket): Promise<string> =>
    earlyError(status, socket, earlyErrorHeaders);
  const { server, shutDown } = guardedServer(listener, reject, { ...SERVER_LIMITS, ...limits });
  // A TCP server accepts: closing an HTTP server would also close its idle connections at once and lose requests in
  // transit (tests/server/graceful-shutdown.test.ts).
  const acceptor = createServer(
    { allowHalfOpen: true, noDelay: true },
    (socket) => void server.emit("connection", socket),
  );
  const url = await bind(acceptor, host, port);
  const monitor = log && new FileDescriptorMonitor(log);
  const stop = async (): Promise<void> => {
    acceptor.close();
    await shutDown();
    monitor?.stop();
  };
  return { url, stop };
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

/** `Retry-After` of a server at its connection limit, in seconds. */
const RETRY_SECONDS = 1;

/**
 * The response, head and body, to input that is not HTTP or arrives too late: an error body as every other, and the
 * connection closes (runtime/README.md, Errors).
 */
async function earlyError(status: number, socket: Socket, headersOf: EarlyErrorHeaders): Promise<string> {
  const reason = STATUS_CODES[status] ?? "Bad Request";
  const body = JSON.stringify({ detail: reason });
  const headers = [
    ...(await headersOf(socket).catch(() => [])),
    ...(status === 503 ? ["Retry-After", String(RETRY_SECONDS)] : []),
    ...["Content-Type", "application/json; charset=utf-8"],
    ...["Content-Length", String(body.length), "Connection", "close"],
  ];
  const lines = headers.flatMap((name, i) => (i % 2 === 0 ? `${name}: ${headers[i + 1] ?? ""}` : []));
  return `HTTP/1.1 ${String(status)} ${reason}\r\n${lines.join("\r\n")}\r\n\r\n${body}`;
}
