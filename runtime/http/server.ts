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

/** A server that is listening. */
export interface RunningServer {
  readonly url: string;
  /** Takes no more requests, lets those under way finish, then closes. */
  stop(): Promise<void>;
}

/** Starts an HTTP server with the time limits that all servers here share. Rejects when the port cannot be had. */
export async function listen(listener: RequestListener, host: string, port: number): Promise<RunningServer> {
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    },
    listener,
  );
  server.on("clientError", answerClientError);
  server.listen(port, host);
  await once(server, "listening");
  return { url: urlOf(server, host), stop: () => stop(server) };
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
  const timer = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  clearTimeout(timer);
}

const CLIENT_ERRORS: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** What is not HTTP never becomes a request: it is answered here, in the form that all errors have. */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const status = CLIENT_ERRORS[error.code ?? ""] ?? 400;
  const reason = STATUS_CODES[status] ?? "Bad Request";
  const body = JSON.stringify({ detail: reason });
  socket.end(
    `HTTP/1.1 ${String(status)} ${reason}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${String(body.length)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
