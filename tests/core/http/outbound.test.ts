import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { expect, it } from "vitest";
import { sendRequest } from "../../../runtime/core/http/outbound-http.js";

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
