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
    timeoutMs: 500,
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
  const request = { url, method: "GET", headers: {}, body: "", timeoutMs: 5_000 } as const;
  for (let round = 0; round < 5; round++)
    await Promise.all(Array.from({ length: 40 }, () => sendRequest(request)));
  // An idle one closes after 1.5 s, which a busy machine may need once.
  expect(opened).toBeLessThan(100);
});
