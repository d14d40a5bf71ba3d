import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { expect, it } from "vitest";
import { sendRequest } from "../../../runtime/core/http/outbound-http.js";
import { listen } from "../../support/port.js";

/** Nobody answers the look-up: nothing of TLS comes after it that would take the error away. */
it("a host that is longer than a name can be does not break the next private key that is read", async () => {
  const { privateKey } = generateKeyPairSync("ec", {
    namedCurve: "P-256",
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  const url = new URL(`https://${"a".repeat(300)}.example/`);
  const sent = sendRequest({
    url,
    method: "POST",
    headers: {},
    body: "",
    timeoutMs: 60_000,
    lookup: () => undefined,
  });
  expect(createPrivateKey(privateKey).type).toBe("private");
  expect(await sent).toEqual({ kind: "failed", reason: "ERR_INVALID_URL" });
});

/** A provider over TLS: each new connection is a handshake. */
it("forty callers at one server keep their connections between their requests", async () => {
  let opened = 0;
  const server = createServer((_request, response) => response.end("{}")).on("connection", () => opened++);
  const url = new URL(`http://${await listen(server)}/`);
  const request = { url, method: "GET", headers: {}, body: "", timeoutMs: 60_000 } as const;
  const opens: number[] = [];
  for (let round = 0; round < 5; round++) {
    const before = opened;
    await Promise.all(Array.from({ length: 40 }, () => sendRequest(request)));
    opens.push(opened - before);
  }
  // An idle one closes after 1.5 s, which a busy machine may need between two rounds, but not always.
  expect(opens.at(0)).toBe(40);
  expect(opens).toContain(0);
});

/** The result of a request to a server that sends these bytes. */
async function answerOf(bytes: string) {
  const server = createServer(({ socket }) => socket.end(bytes));
  const url = new URL(`http://${await listen(server)}/`);
  return sendRequest({ url, method: "GET", headers: {}, body: "", timeoutMs: 60_000 });
}

const DONE = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

it.each(["100 Continue", "103 Early Hints"])(
  "a response may have some heads of %s in front, and no flood of them",
  async (status) => {
    const head = `HTTP/1.1 ${status}\r\n\r\n`;
    expect(await answerOf(head.repeat(3) + DONE)).toMatchObject({ status: 200, body: "ok" });
    const reason = "unexpected interim responses";
    expect(await answerOf(head.repeat(1_000) + DONE)).toEqual({ kind: "failed", reason });
  },
);

it("a response may have eight thousand small chunks, such as one of each token, and no flood of them", async () => {
  const chunked = (count: number): string =>
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${"1\r\nx\r\n".repeat(count)}0\r\n\r\n`;
  expect(await answerOf(chunked(8_000))).toEqual({ kind: "answered", status: 200, body: "x".repeat(8_000) });
  const reason = "answer too large";
  expect(await answerOf(chunked(100_000))).toEqual({ kind: "unreadable", status: 200, reason });
});
