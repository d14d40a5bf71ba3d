import { describe, expect, it } from "vitest";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { serveManifest } from "../../support/service.js";

const manifest = manifestOf([]);
const BODY = { jsonrpc: "2.0", id: 1, method: "tools/list" };

/** Status of a message with these headers. */
async function statusOf(url: string, headers: Record<string, string>): Promise<number> {
  const accept = "application/json, text/event-stream";
  const all = { "content-type": "application/json", accept, ...headers };
  return (await sendRequest(url, "/mcp", { method: "POST", body: BODY, headers: all })).status;
}

describe("/mcp on a loopback address", async () => {
  const url = await serveManifest(manifest);

  it("answers clients of this machine, and pages of this machine", async () => {
    for (const host of ["localhost:8000", "127.0.0.1", "[::1]:8000"])
      for (const origin of [undefined, "http://localhost:6274", "http://127.0.0.1:3000"])
        expect(await statusOf(url, { host, ...(origin !== undefined && { origin }) })).toBe(200);
  });

  it("refuses a page whose host name resolves to this machine, and says what to set", async () => {
    for (const host of [
      "evil.example",
      "evil.example:8000",
      "127.0.0.1.evil.example",
      "localhost.evil.example",
    ])
      expect(await statusOf(url, { host })).toBe(403);
    for (const origin of ["https://evil.example", "http://localhost.evil.example", "null"])
      expect(await statusOf(url, { host: "localhost", origin })).toBe(403);
    const reply = await sendRequest(url, "/mcp", { method: "POST", headers: { host: "evil.example" } });
    expect(JSON.parse(reply.text)).toEqual({
      detail:
        "The header Host names no loopback address. Set PUBLIC_URL to the address at which clients reach this server.",
    });
  });
});

describe("/mcp with a public address", () => {
  it("answers its own pages and those of CORS_ORIGINS, and no others", async () => {
    const url = await serveManifest(manifest, {
      PUBLIC_URL: "https://data.example.com",
      CORS_ORIGINS: "https://app.example.com",
    });
    const ask = (origin: string) => statusOf(url, { host: "data.example.com", origin });
    expect([await ask("https://data.example.com"), await ask("https://app.example.com")]).toEqual([200, 200]);
    expect([await ask("https://evil.example"), await ask("null")]).toEqual([403, 403]);
    expect(await statusOf(url, { host: "data.example.com" })).toBe(200);
  });

  it("answers pages of its own host behind a proxy", async () => {
    const url = await serveManifest(manifest, {
      TRUST_PROXY: "1",
      CORS_ORIGINS: "https://app.example.com",
    });
    expect(await statusOf(url, { host: "data.example.com", origin: "https://data.example.com" })).toBe(200);
    expect(await statusOf(url, { host: "data.example.com", origin: "https://evil.example" })).toBe(403);
  });
});
