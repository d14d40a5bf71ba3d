import { once } from "node:events";
import { type RequestListener, STATUS_CODES } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import { Connections } from "./graceful-shutdown.js";
import { guardedServer } from "./guarded-server.js";
import { FileDescriptorMonitor, type Limits, LIMITS } from "./limits.js";
import type { Logger } from "./logger.js";

/** A server that is listening. */
export interface RunningServer {
  readonly url: string;
  /** Takes no more requests, lets those under way finish, then closes. */
  stop(): Promise<void>;
}

/** Where a server's connections come from; each is given to `accept`. */
export type ConnectionSource = (
  accept: (socket: Socket) => void,
  host: string,
  port: number,
) => Promise<OpenConnectionSource>;

export interface OpenConnectionSource {
  /** The server's address. */
  readonly url: string;
  /** No connection comes in any more; the open ones stay. */
  close(): void;
}

/** Headers for a caller of which only the connection is known, as flat name and value pairs. */
export type EarlyErrorHeaders = (socket: Socket) => Promise<readonly string[]>;

export interface ListenOptions {
  readonly earlyErrorHeaders?: EarlyErrorHeaders | undefined;
  /** `listening` when left out. */
  readonly source?: ConnectionSource | undefined;
  /** `LIMITS` where left out. */
  readonly limits?: Partial<Limits>;
  /** Gets the start-up warning of few file descriptors, and the error when none is left. */
  readonly log?: Logger;
}

/** Starts an HTTP server. Rejects with what to do when the port cannot be had. */
export async function listen(
  listener: RequestListener,
  host: string,
  port: number,
  { earlyErrorHeaders = () => Promise.resolve([]), source = listening, limits, log }: ListenOptions = {},
): Promise<RunningServer> {
  const reject = (status: number, socket: Socket): Promise<string> =>
    earlyError(status, socket, earlyErrorHeaders);
  const { server, stopChecks } = guardedServer(listener, reject, { ...LIMITS, ...limits });
  const connections = new Connections(server);
  const note: RequestListener = (request, response) => connections.note(request, response);
  // Before the listener, which may answer at once.
  for (const event of ["request", "checkContinue", "checkExpectation"]) server.prependListener(event, note);
  const open = await source((socket) => void server.emit("connection", socket), host, port);
  const monitor = log && new FileDescriptorMonitor(log);
  const stop = async (): Promise<void> => {
    open.close();
    await connections.drain();
    stopChecks();
    monitor?.stop();
  };
  return { url: open.url, stop };
}

/**
 * Connections come from a port. It is a server of its own: closing an HTTP server also closes its idle connections at once,
 * and a request that is on its way would be lost (tests/cluster/drain.test.ts).
 */
export const listening: ConnectionSource = async (accept, host, port) => {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, accept);
  const url = await bind(server, host, port);
  return { url, close: () => void server.close() };
};

/** Makes a server listen. Resolves to its address as an `http://` URL; rejects with what to do when the port cannot be had. */
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
      return `Port ${String(port)} of ${host} is not for this user: choose one from 1024 up.`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return `HOST ${host} is no address of this machine.`;
    default:
      return `Cannot listen on port ${String(port)} of ${host}: ${message}`;
  }
}

/** Seconds after which a caller may try a full server again. */
const FULL_RETRY_SECONDS = 1;

/**
 * The response, head and body, to what is not HTTP, or comes too late, and so never becomes a request: in the form of all
 * errors. The connection ends with it.
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
