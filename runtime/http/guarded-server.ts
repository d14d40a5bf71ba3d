import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import { announcesTooMuch } from "./body.js";
import type { Refusing } from "./connection.js";
import type { Limits } from "./limits.js";
import { OpenConnections } from "./open-connections.js";

/** An HTTP server on which no client can hold more than the limits say. What is no request is refused, never handled. */
export function guardedServer(listener: RequestListener, refusing: Refusing, limits: Limits): Server {
  const server = createServer({
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: limits.checkMs,
    // Node would answer with an empty body.
    requireHostHeader: false,
  });
  // Their size is bounded. Of too many Node would drop the last ones, among them what a proxy adds, and say nothing.
  server.maxHeadersCount = 0;
  const connections = new OpenConnections(limits, refusing);
  watch(server, connections, limits);
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
  // An expectation may be passed over (RFC 9110 §10.1.1); Node would answer with an empty body.
  server.on("checkExpectation", inTurn);
  return server;
}

function watch(server: Server, connections: OpenConnections, limits: Limits): void {
  const timer = setInterval(() => connections.check(), limits.checkMs).unref();
  server.on("close", () => clearInterval(timer));
  server.on("connection", (socket: Socket) => connections.add(socket));
  server.setTimeout(limits.stalledMs, (socket: Socket) => connections.of(socket)?.quiet());
  // Nothing here is a tunnel, and to end the connection without a word is no answer.
  server.on("connect", ({ socket }) => connections.of(socket)?.fail(400));
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === "ECONNRESET") socket.destroy();
    else connections.of(socket)?.fail(CLIENT_ERRORS[error.code ?? ""] ?? 400);
  });
}

const CLIENT_ERRORS: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/**
 * Node leaves to us what a proxy in front might read another way: HTTP/1.1 asks for one header `Host`, nothing allows two
 * (RFC 9112 §3.2), and HTTP/1.0 knows no `Transfer-Encoding` (§6.1).
 */
function isWellFormed({ headers, rawHeaders, httpVersion }: IncomingMessage): boolean {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? "";
    if (name.length === 4 && name.toLowerCase() === "host") hosts++;
  }
  if (httpVersion === "1.1") return hosts === 1;
  return hosts <= 1 && headers["transfer-encoding"] === undefined;
}
