import type { RequestListener } from "node:http";
import { describe, expect, it } from "vitest";
import { readBody } from "../../../runtime/core/http/body.js";
import { serveOrders } from "../../support/orders.js";
import { Client, get, serveWith, SENDER } from "./client.js";

const MIB = 1024 * 1024;
const CHUNKED = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
const CHUNK = `10000\r\n${"x".repeat(0x10000)}\r\n`;

/** Answers with what became of the body. */
const reading: RequestListener = (request, response) =>
  void readBody(request, SENDER).then(({ kind }) => {
    response.statusCode = kind === "text" ? 200 : 413;
    if (kind !== "text") response.setHeader("Connection", "close");
    response.end(kind);
  });

describe("input above its limit", () => {
  it.each([
    ["a header of 1 MiB", get("/", `X-Long: ${"x".repeat(MIB)}\r\n`), 431],
    ["10,000 headers", get("/", "X-A: 1\r\n".repeat(10_000)), 431],
    ["an address of 100 kB", get(`/${"x".repeat(100_000)}`), 431],
    ["a query of 100,000 parameters", get(`/?${"&a=1".repeat(100_000)}`), 431],
    ["5,000 trailers", `${CHUNKED}1\r\nx\r\n0\r\n${"X-A: 1\r\n".repeat(5000)}\r\n`, 431],
    ["a chunk extension of 20 kB", `${CHUNKED}1;${"x".repeat(20_000)}\r\nx\r\n`, 413],
  ])("is refused in the form of all errors: %s", async (_, text, status) => {
    const client = await Client.saying(await serveWith(reading, {}), text);
    await client.closed;
    expect(client.statuses).toEqual([status]);
    expect(client.said).toMatch(/\r\nConnection: close\r\n\r\n\{"detail":"[A-Z][\w ]+"\}$/);
  });

  it("(body) is refused to a client that keeps sending, and its connection closes", async () => {
    // Long enough for a process that stands still for a moment: it sends and reads a megabyte itself.
    const client = await Client.saying(await serveWith(reading, { lingerMs: 3000, checkMs: 20 }), CHUNKED);
    for (let i = 0; i < 16; i++) client.send(CHUNK);
    client.drip(CHUNK, 10);
    await client.hears(/too-large$/);
    await client.closed;
    expect(client.statuses).toEqual([413]);
  });

  it("(body) is refused without being read when Content-Length announces it", async () => {
    const url = await serveWith(reading, {});
    const head = `POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length:`;
    const large = await Client.saying(url, `${head} ${MIB + 1}\r\n\r\n`);
    await large.closed;
    expect(large.statuses).toEqual([100, 413]);
    const small = await Client.saying(url, `${head} 2\r\n\r\n`);
    await small.hears(/100 Continue\r\n\r\n/);
    small.send("{}");
    await small.hears(/text$/);
    expect(small.statuses).toEqual([100, 200]);
  });
});

describe("input at its limit", () => {
  it.each([
    ["an address", get(`/${"x".repeat(16_000)}`)],
    ["a header", get("/", `X-Long: ${"x".repeat(16_000)}\r\n`)],
    ["many headers", get("/", "a:b\r\n".repeat(3200))],
    ["a body", `${CHUNKED}${CHUNK.repeat(16)}0\r\n\r\n`],
  ])("is taken: %s", async (_, text) => {
    const client = await Client.saying(await serveWith(reading, {}), text);
    await client.hears(/text$/);
    expect(client.statuses).toEqual([200]);
  });

  it("(headers) does not hide headers that a proxy appends", async () => {
    const { url } = await serveOrders({ TRUST_PROXY: "1" });
    const behind = (path: string): Promise<Client> =>
      Client.saying(url, get(path, `${"a:b\r\n".repeat(2500)}X-Forwarded-For: 203.0.113.9\r\n`));
    for (const left of [99, 98]) {
      const client = await behind("/v1/none");
      await client.hears(/\{"detail"/);
      expect(client.said).toContain(`X-RateLimit-Remaining: ${left}\r\n`);
    }
    const own = await Client.saying(url, get("/v1/none"));
    await own.hears(/X-RateLimit-Remaining: 99\r\n/);
    const metrics = await behind("/metrics");
    await metrics.hears(/\{"detail"/);
    expect(metrics.statuses).toEqual([403]);
  });
});
