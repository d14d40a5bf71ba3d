/** A receiver of webhooks in a process of its own, which does at each path what receivers should not. Prints its address first. */
import { createServer, type Socket } from "node:net";
import { listening, serveTest } from "./server.js";

const head = (status: string, ...headers: readonly string[]): string =>
  [`HTTP/1.1 ${status}`, ...headers, "", ""].join("\r\n");

/** A byte a second. */
function drip(socket: Socket, text: string): void {
  const bytes = Buffer.from(text);
  let at = 0;
  const timer = setInterval(() => {
    if (at < bytes.length) socket.write(bytes.subarray(at, ++at));
    else socket.end();
  }, 1_000);
  socket.on("close", () => clearInterval(timer));
}

/** As fast as the other side reads, until it leaves. */
function flood(socket: Socket, chunk: string): void {
  const bytes = Buffer.from(chunk.repeat(Math.ceil(65_536 / chunk.length)));
  const more = (): void => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on("drain", more);
  more();
}

let answered = 0;
const CHUNKED = head("200 OK", "transfer-encoding: chunked");
const WAYS: Readonly<Record<string, (socket: Socket) => void>> = {
  "/hang": () => undefined,
  "/drip-head": (socket) => drip(socket, head("200 OK", `x-long: ${"x".repeat(1_000)}`)),
  "/drip-body": (socket) => {
    socket.write(head("200 OK", "content-length: 1000"));
    drip(socket, "x".repeat(1_000));
  },
  "/reset": (socket) => void socket.write("HTTP/1.1 200 OK\r\nx-", () => socket.resetAndDestroy()),
  "/large-header": (socket) => socket.end(head("200 OK", `x-large: ${"x".repeat(100_000)}`)),
  "/many-headers": (socket) => socket.end(head("200 OK", ...Array.from({ length: 20_000 }, () => "a: b"))),
  "/endless-headers": (socket) => {
    socket.write("HTTP/1.1 200 OK\r\n");
    flood(socket, "a: b\r\n");
  },
  "/endless-body": (socket) => {
    socket.write(head("200 OK", "content-length: 1000000000000"));
    flood(socket, "x");
  },
  "/endless-extension": (socket) => {
    socket.write(`${CHUNKED}1;`);
    flood(socket, "x");
  },
  "/endless-chunks": (socket) => {
    socket.write(CHUNKED);
    flood(socket, "1\r\nx\r\n");
  },
  "/endless-trailers": (socket) => {
    socket.write(`${CHUNKED}0\r\n`);
    flood(socket, "a: b\r\n");
  },
  "/redirect": (socket) => socket.end(head("307 Temporary Redirect", "location: /good", "content-length: 0")),
  "/no-http": (socket) => socket.end("220 mail.example ESMTP\r\n"),
  "/slower": (socket) =>
    void setTimeout(() => socket.end(head("204 No Content")), Math.min(100 * ++answered, 20_000)),
  "/good": (socket) => socket.end(head("204 No Content", "connection: close")),
};

const server = createServer((socket) => {
  socket.on("error", () => undefined);
  socket.once("data", (bytes: Buffer) => {
    const path = bytes.toString("latin1").split(" ")[1] ?? "";
    socket.on("data", () => undefined);
    WAYS[path]?.(socket);
  });
});
serveTest(await listening(server));
