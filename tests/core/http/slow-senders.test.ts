import type { RequestListener } from "node:http";
import { describe, expect, it } from "vitest";
import { readBody } from "../../../runtime/core/http/body.js";
import { Client, get, serveWith, SENDER, SHORT, SHORT_LINGER } from "./client.js";

const POST = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n";
const TIMED_OUT = /^HTTP\/1\.1 408 Request Timeout\r\n[^]*\r\n\r\n\{"detail":"Request Timeout"\}$/;

/** Answers with the length of the body, once it is there. */
const reading: RequestListener = (request, response) =>
  void readBody(request, SENDER).then((body) =>
    response.end(body.kind === "text" ? `${body.text.length}` : ""),
  );
/** Answers at once, whatever else comes. */
const refusing: RequestListener = (_, response) => response.end("no");

describe("a connection on which a request arrives too slowly", () => {
  it("or not at all is closed without a response", async () => {
    const client = new Client(await serveWith(reading, SHORT));
    await client.closed;
    expect(client.said).toBe("");
  });

  it.each([
    ["in its first line", "GET /", "a"],
    ["in its headers", "GET / HTTP/1.1\r\nHost: x\r\nX-A: ", "a"],
    ["between its headers", "GET / HTTP/1.1\r\nHost: x\r\n", "X-A: a\r\n"],
    ["in its body", `${POST}{`, " "],
    ["in its chunked body", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n"],
    [
      "in an endless chunk",
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n",
      " ",
    ],
  ])("%s is told so and closed, though the client goes on", async (_, begin, more) => {
    const client = await Client.saying(await serveWith(reading, SHORT), begin);
    client.drip(more, 20);
    await client.closed;
    expect(client.said).toMatch(TIMED_OUT);
  });

  it("because its body is missing gets a 408 and is closed", async () => {
    const client = await Client.saying(await serveWith(reading, SHORT), POST);
    await client.closed;
    expect(client.said).toMatch(TIMED_OUT);
  });

  it("is released by the server, though the client never closes its side", async () => {
    let open = 0;
    const url = await serveWith((request, response) => {
      open++;
      request.socket.once("close", () => open--);
      reading(request, response);
    }, SHORT);
    const client = await Client.saying(url, POST);
    await client.closed;
    await expect.poll(() => open).toBe(0);
    expect(client.statuses).toEqual([408]);
  });

  it("after its response gets no second one", async () => {
    const client = await Client.saying(
      await serveWith(refusing, { ...SHORT_LINGER, headersMs: 3000, requestMs: 3000 }),
      POST,
    );
    client.drip(" ", 20);
    await client.closed;
    expect(client.statuses).toEqual([200]);
  });

  it("does not block other connections", async () => {
    const url = await serveWith(reading, SHORT_LINGER);
    for (let i = 0; i < 100; i++) (await Client.saying(url, POST)).drip(" ", 50);
    const client = await Client.saying(url, get("/"));
    await client.hears(/\r\n\r\n/);
    expect(client.statuses).toEqual([200]);
  });
});

describe("an idle connection", () => {
  it("is closed after the keep-alive time", async () => {
    const client = await Client.saying(
      await serveWith(refusing, { ...SHORT_LINGER, keepAliveMs: 50 }),
      get("/"),
    );
    await client.closed;
    expect(client.statuses).toEqual([200]);
  });

  it("is kept until then", async () => {
    const limits = { ...SHORT_LINGER, headersMs: 2000, requestMs: 2000 };
    const client = await Client.saying(await serveWith(refusing, limits), get("/"));
    await client.hears(/no$/);
    // Longer than a request may take.
    await new Promise((resolve) => setTimeout(resolve, 2500));
    client.send(get("/"));
    await client.hears(/no[^]*no$/);
    expect(client.statuses).toEqual([200, 200]);
  });
});
