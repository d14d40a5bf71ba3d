import { once } from "node:events";
import { createConnection } from "node:net";
import { describe, expect, it } from "vitest";
import { ERRORS } from "../../../runtime/core/model/errors.js";
import { askRaw } from "../../support/http-client.js";
import { serveOrders } from "../../support/orders.js";

const { url } = await serveOrders();

interface RawReply {
  readonly status: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

async function raw(text: string): Promise<RawReply> {
  const reply = await askRaw(url, text);
  const [head = "", ...rest] = reply.split("\r\n\r\n");
  const [status = "", ...lines] = head.split("\r\n");
  const headers = lines.map(
    (line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 2)] as const,
  );
  return { status, headers: new Map(headers), body: rest.join("\r\n\r\n") };
}

const WELL = "Host: x\r\nConnection: close\r\n\r\n";

it.each<[string, string, string, string?]>([
  ["nonsense", "nonsense\r\n\r\n", "400 Bad Request"],
  ["a method with odd characters", `G\u0001T / HTTP/1.1\r\n${WELL}`, "400 Bad Request"],
  ["a version that is none", `GET / HTTP/9.9\r\n${WELL}`, "400 Bad Request"],
  ["a header without a colon", `GET / HTTP/1.1\r\nHost x\r\n\r\n`, "400 Bad Request"],
  ["a header with a line break in its name", `GET / HTTP/1.1\r\nHo\nst: x\r\n\r\n`, "400 Bad Request"],
  ["a length that is none", `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ten\r\n\r\n`, "400 Bad Request"],
  [
    "an address that is too long",
    `GET /${"x".repeat(20_000)} HTTP/1.1\r\n${WELL}`,
    "431 Request Header Fields Too Large",
    ERRORS.headersTooLarge.detail,
  ],
  [
    "an expectation of something else",
    `GET /v1/shop/legacy HTTP/1.1\r\nExpect: miracles\r\n${WELL}`,
    "417 Expectation Failed",
    ERRORS.expectationUnknown.detail,
  ],
  [
    "the same with a body",
    `POST /v1/shop/legacy HTTP/1.1\r\nExpect: 200-ok\r\nContent-Length: 2\r\nHost: x\r\n\r\n{}`,
    "417 Expectation Failed",
    ERRORS.expectationUnknown.detail,
  ],
  ["HTTP/1.1 without Host", "GET / HTTP/1.1\r\nConnection: close\r\n\r\n", "400 Bad Request"],
  [
    "a request for a tunnel",
    "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n",
    "400 Bad Request",
  ],
])(
  "what is not HTTP is answered in the form of all errors: %s",
  async (_, text, status, detail = "Bad Request") => {
    const reply = await raw(text);
    expect(reply.status).toBe(`HTTP/1.1 ${status}`);
    expect(reply.body).toBe(JSON.stringify({ detail }));
    expect(reply.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(reply.headers.get("connection")).toBe("close");
    expect(reply.headers.get("x-ratelimit-limit")).toBe("100");
    expect(reply.headers.get("x-ratelimit-remaining")).toBe("100");
    expect(Number(reply.headers.get("x-ratelimit-reset"))).toBeGreaterThan(1_700_000_000);
    expect(reply.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    expect(reply.headers.get("access-control-allow-origin")).toBe("*");
  },
);

it.each([
  ["a request for a tunnel", "CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\nmore"],
  ["nonsense", "nonsense\r\n\r\n"],
  ["a request without Host", "GET / HTTP/1.1\r\n\r\n"],
])("a caller that hangs up before its answer or after it does no harm: %s", async (_, text) => {
  for (let i = 0; i < 50; i++) {
    const socket = createConnection(Number(new URL(url).port), "127.0.0.1");
    await new Promise<void>((resolve) => socket.write(text, () => resolve()));
    if (i % 2 === 1) await once(socket, "readable");
    socket.resetAndDestroy();
  }
  expect(await askRaw(url, `GET / HTTP/1.1\r\n${WELL}`)).toMatch(/^HTTP\/1\.1 200/);
});

describe("what is unusual, but HTTP", () => {
  it.each([
    ["HTTP/1.0 without Host", "GET /v1/shop/legacy HTTP/1.0\r\n\r\n"],
    ["an expectation of 100-continue", `GET /v1/shop/legacy HTTP/1.1\r\nExpect: 100-continue\r\n${WELL}`],
    [
      "an offer of another protocol",
      `GET /v1/shop/legacy HTTP/1.1\r\nUpgrade: h2c\r\nHost: x\r\nConnection: Upgrade, close\r\n\r\n`,
    ],
    ["an empty line in front", `\r\nGET /v1/shop/legacy HTTP/1.1\r\n${WELL}`],
  ])("is answered: %s", async (_, text) => {
    const reply = await askRaw(url, text);
    expect(reply).toMatch(/HTTP\/1\.1 200 OK\r\n/);
  });

  it("as a target that is no path is not found", async () => {
    for (const target of ["*", "http://", "x", "mailto:a@b"]) {
      const reply = await raw(`GET ${target} HTTP/1.1\r\n${WELL}`);
      expect([target, reply.status.slice(9, 12)]).toEqual([target, expect.stringMatching(/^40[04]$/)]);
      expect(JSON.parse(reply.body)).toEqual({ detail: expect.any(String) });
    }
  });
});
