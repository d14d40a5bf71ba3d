import { describe, expect, it } from "vitest";
import { readEnvironment } from "../../../runtime/server/operations/environment.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { serveManifest } from "../../support/service.js";

const APP = "https://app.example.com";
const PATHS = ["/health", "/v1/system/catalogue", "/explore", "/nothing", "/v1/system/usage"];
const manifest = manifestOf([]);
const [open, listed] = [
  await serveManifest(manifest),
  await serveManifest(manifest, { CORS_ORIGINS: `${APP}, http://localhost:3000` }),
];

async function corsOf(url: string, path: string, headers: Record<string, string>, method = "GET") {
  const reply = await sendRequest(url, path, { headers, method });
  const { "access-control-allow-origin": allowed, vary = "" } = reply.headers;
  return { allowed, variesByOrigin: /\borigin\b/i.test(vary) };
}

describe("CORS", () => {
  it("lets every origin read by default", async () => {
    for (const path of PATHS)
      expect(await corsOf(open, path, { origin: APP })).toEqual({ allowed: "*", variesByOrigin: false });
  });

  it("lets the origins of CORS_ORIGINS read and no others, and tells caches", async () => {
    for (const path of PATHS) {
      expect(await corsOf(listed, path, { origin: APP })).toEqual({ allowed: APP, variesByOrigin: true });
      for (const origin of ["https://evil.example", "https://app.example.com.evil.example", "null"])
        expect(await corsOf(listed, path, { origin })).toEqual({ allowed: undefined, variesByOrigin: true });
      expect(await corsOf(listed, path, {})).toEqual({ allowed: undefined, variesByOrigin: true });
      const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
      const traced = await corsOf(listed, path, { origin: APP, traceparent });
      expect(traced).toEqual({ allowed: APP, variesByOrigin: true });
    }
  });

  it("answers a preflight in the same way", async () => {
    const preflight = { "access-control-request-method": "GET" };
    const ask = (origin: string) =>
      corsOf(listed, "/health", { ...preflight, origin }, "OPTIONS").then(({ allowed }) => allowed);
    expect([await ask(APP), await ask("https://evil.example")]).toEqual([APP, undefined]);
  });

  it("lets a listed page call a server of a private network, and no other page", async () => {
    const headers = {
      "access-control-request-method": "GET",
      "access-control-request-private-network": "true",
    };
    const ask = async (url: string, origin: string): Promise<unknown> => {
      const reply = await sendRequest(url, "/health", { method: "OPTIONS", headers: { ...headers, origin } });
      return reply.headers["access-control-allow-private-network"];
    };
    expect(await ask(listed, APP)).toBe("true");
    expect(await ask(listed, "https://evil.example")).toBeUndefined();
    expect(await ask(open, APP)).toBeUndefined();
  });

  it("refuses a list with anything but origins at start", () => {
    for (const [value, entry] of [
      ["https://app.example.com/path", 1],
      ["https://app.example.com,*", 2],
      ["app.example.com", 1],
    ] as const)
      expect(readEnvironment({ CORS_ORIGINS: value })).toEqual({
        ok: false,
        problems: [
          `CORS_ORIGINS: entry ${String(entry)} must be an origin such as https://app.example.com, and the whole value * for all origins.`,
        ],
      });
  });
});
