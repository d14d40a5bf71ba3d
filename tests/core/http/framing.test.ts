import { expect, it } from "vitest";
import { readBody } from "../../../runtime/core/http/body.js";
import { Client, get, serveWith, SENDER, SHORT_LINGER } from "./client.js";

/** What would be taken for a request of somebody else if the one before ended elsewhere than a proxy thinks. */
const SMUGGLED = get("/smuggled", "Connection: close\r\n");

const post = (headers: string, body: string): string =>
  `POST / HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n${body}`;

/** Sends a text followed by a request; returns what the server read as requests, and its responses. */
async function ask(text: string) {
  const urls: string[] = [];
  const url = await serveWith((request, response) => {
    urls.push(request.url ?? "");
    void readBody(request, SENDER).then(() => response.end("done"));
  }, SHORT_LINGER);
  const client = await Client.saying(url, text + SMUGGLED);
  await client.closed;
  return { urls, statuses: client.statuses };
}

it.each([
  ["a length and chunks", post("Content-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\n")],
  ["chunks and a length", post("Transfer-Encoding: chunked\r\nContent-Length: 5", "0\r\n\r\n")],
  ["two lengths", post("Content-Length: 0\r\nContent-Length: 5", "12345")],
  ["the same length twice", post("Content-Length: 2\r\nContent-Length: 2", "{}")],
  ["a list of lengths", post("Content-Length: 2, 2", "{}")],
  ["a length with a sign", post("Content-Length: +2", "{}")],
  ["a negative length", post("Content-Length: -1", "")],
  ["a hexadecimal length", post("Content-Length: 0x2", "{}")],
  ["a length of too many digits", post(`Content-Length: ${"9".repeat(30)}`, "{}")],
  ["an empty length", post("Content-Length:", "")],
  ["a coding beside chunks", post("Transfer-Encoding: gzip, chunked", "0\r\n\r\n")],
  ["a coding nobody knows", post("Transfer-Encoding: xchunked", "0\r\n\r\n")],
  ["chunks that are not last", post("Transfer-Encoding: chunked, identity", "0\r\n\r\n")],
  ["two codings", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "0\r\n\r\n")],
  ["a space before the colon", post("Transfer-Encoding : chunked", "0\r\n\r\n")],
  ["a vertical tab", post("Transfer-Encoding: \u000bchunked", "0\r\n\r\n")],
  ["a folded header", post("X: a\r\n Transfer-Encoding: chunked", "")],
  ["a line feed for a line's end", post("X: a\nTransfer-Encoding: chunked", "0\r\n\r\n")],
  ["a carriage return for a line's end", post("X: a\rTransfer-Encoding: chunked", "0\r\n\r\n")],
  ["a carriage return at the end of the headers", "GET / HTTP/1.1\r\nHost: x\r\n\rX: a\r\n\r\n"],
  ["NUL in a header", post("X: a\0b\r\nContent-Length: 0", "")],
  ["NUL in the address", "GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n"],
  ["a space in the address", "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n"],
  ["a negative chunk", post("Transfer-Encoding: chunked", "-1\r\n\r\n")],
  ["a chunk that is too long to count", post("Transfer-Encoding: chunked", "10000000000000000\r\n")],
  ["a chunk length with 0x", post("Transfer-Encoding: chunked", "0x0\r\n\r\n")],
  ["a chunk length with a line feed", post("Transfer-Encoding: chunked", "0\n\r\n")],
  ["more in a chunk than it says", post("Transfer-Encoding: chunked", "2\r\n{}XX\r\n0\r\n\r\n")],
  [
    "chunks in HTTP/1.0",
    "POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  ],
  ["two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"],
  ["two hosts in HTTP/1.0", "GET / HTTP/1.0\r\nConnection: keep-alive\r\nHost: a\r\nhost: b\r\n\r\n"],
  ["no host", "GET / HTTP/1.1\r\n\r\n"],
  ["a tunnel", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
  ["TLS", "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001"],
])("an ambiguously framed request is refused, and nothing after it is handled %s", async (_, text) => {
  const { urls, statuses } = await ask(text);
  expect(statuses).toEqual([400]);
  expect(urls).not.toContain("/smuggled");
});

it.each([
  ["a length", post("Content-Length: 2", "{}")],
  ["no body", post("Content-Length: 0", "")],
  ["chunks", post("Transfer-Encoding: chunked", "2\r\n{}\r\n0\r\n\r\n")],
  ["chunks behind a tab, in any letter case", post("transfer-encoding:\tChunked", "2\r\n{}\r\n0\r\n\r\n")],
  [
    "chunks with an extension and a trailer",
    post("Transfer-Encoding: chunked", "2;a=b\r\n{}\r\n0\r\nX: y\r\n\r\n"),
  ],
  ["a GET with a body", "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"],
])("an unambiguously framed request is answered, and so is the one behind it: %s", async (_, text) => {
  const { urls, statuses } = await ask(text);
  expect(urls).toEqual(["/", "/smuggled"]);
  expect(statuses).toEqual([200, 200]);
});
