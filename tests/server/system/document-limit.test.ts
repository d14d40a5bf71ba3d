/** Documents and pages have a limit of their own by address, and cost no caller a request. */
import { describe, expect, it } from "vitest";
import { ownSchema } from "../../support/database.js";
import { type Reply, sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";

const schema = await ownSchema("CREATE TABLE @.sales AS SELECT 1::bigint AS n");
const manifest = manifestOf([{ name: "sales", schema, columns: { n: "bigint" } }]);

const DOCUMENTS = [
  ...[
    "/",
    "/docs",
    "/docs/",
    "/docs/swagger-ui.css",
    "/docs/none.js",
    "/redoc",
    "/explore",
    "/explore/embed",
    "/explore/figures.json",
    "/guide",
    "/status",
  ],
  ...["/openapi.json", "/openapi.json?tier=tier1", "/llms.txt", "/.well-known/oauth-protected-resource"],
  ...["/v1/system/catalogue", "/v1/system/changelog", "/v1/system/changelog.atom", "/v1/system/status.atom"],
  "/v1/system/status",
  "/v1/system/events.atom",
];

/** A server behind a proxy, so that a test may come from any address. */
const serve = (limit: number) =>
  serveManifest(manifest, { TRUST_PROXY: "127.0.0.1", DOCUMENT_RATE_LIMIT: String(limit) });

describe("documents and pages", async () => {
  const url = await serve(2);

  it.each(DOCUMENTS)("%s counts by address, and not against the caller's window", async (path) => {
    const at = String(DOCUMENTS.indexOf(path));
    const [one, other] = [`192.0.2.${at}`, `198.51.100.${at}`];
    const ask = (address: string, headers: Record<string, string> = {}): Promise<Reply> =>
      sendRequest(url, path, { headers: { "x-forwarded-for": address, ...headers } });
    const first = await ask(one);
    expect(first.status).not.toBe(429);
    expect((await ask(one)).status).toBe(first.status);
    const over = await ask(one);
    const wait = Number(over.headers["retry-after"]);
    expect([over.status, over.text]).toEqual([
      429,
      `{"detail":"Rate limit exceeded. Try again in ${String(wait)} seconds."}`,
    ]);
    expect(wait).toBeLessThanOrEqual(60);
    expect(wait).toBeGreaterThan(0);
    expect(over.headers["x-ratelimit-remaining"]).toBe("100");
    // Another key at the address is no way around it, another address is not concerned.
    expect((await ask(one, { "x-api-key": KEYS.tier3 })).status).toBe(429);
    expect((await ask(other)).status).toBe(first.status);
  });

  it("are one limit together, and by network in IPv6", async () => {
    const url = await serve(3);
    const ask = async (path: string, address: string): Promise<number> =>
      (await sendRequest(url, path, { headers: { "x-forwarded-for": address } })).status;
    expect(await ask("/docs", "2001:db8::1")).toBe(200);
    expect(await ask("/openapi.json", "2001:db8::2")).toBe(200);
    expect(await ask("/v1/system/catalogue", "2001:db8::3")).toBe(200);
    expect(await ask("/llms.txt", "2001:db8::4")).toBe(429);
    // Rows have a limit of their own.
    expect(await ask("/v1/shop/sales", "2001:db8::4")).toBe(200);
  });

  it("answer an unknown key with 403, and with 429 once the limit is used up", async () => {
    const url = await serve(2);
    const statuses: number[] = [];
    for (let i = 0; i < 3; i++)
      statuses.push((await sendRequest(url, "/openapi.json", { key: "sk_live_unknown" })).status);
    expect(statuses).toEqual([403, 403, 429]);
  });

  it("are 300 a minute by default", async () => {
    const url = await serveManifest(manifest, { DOCUMENT_RATE_LIMIT: "" });
    const statuses = new Map<number, number>();
    for (let i = 0; i < 310; i++) {
      const { status } = await sendRequest(url, "/docs/frame.css", { method: "HEAD" });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    expect([...statuses]).toEqual([
      [200, 300],
      [429, 10],
    ]);
  });
});

it.each(["/health", "/metrics"])("%s has no limit", async (path) => {
  const url = await serveManifest(manifest, { DOCUMENT_RATE_LIMIT: "1", RATE_LIMITS: "1" });
  await sendRequest(url, "/docs");
  await sendRequest(url, "/v1/shop/sales");
  for (let i = 0; i < 5; i++) expect((await sendRequest(url, path)).status).toBe(200);
});
