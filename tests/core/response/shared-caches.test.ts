/** Public rows in real shared caches: nginx and Varnish, with the configurations of the page. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, it, vi } from "vitest";
import { purgeCopies, type SharedCache } from "../../../generator/commands/shared-cache.js";
import { run } from "../../support/command.js";
import { query } from "../../support/database.js";
import { type Reply, sendRequest } from "../../support/http-client.js";
import { needs } from "../../support/needs.js";
import { KEYS, ownInstallation } from "../../support/service.js";
import { startNginx, startVarnish } from "./edges.js";
import { type Lines, publicRows } from "./public-rows.js";

const { schema, manifest, serve } = await publicRows();

const EDGES = [
  ["nginx", ["nginx", "ngx_http_cache_purge_module.so"], startNginx],
  ["Varnish", ["varnishd"], startVarnish],
] as const;

for (const [name, programs, start] of EDGES) {
  if (!needs(...programs)) continue;
  it(`behind ${name}, no caller is of this machine, also where TRUST_PROXY is not set`, async () => {
    const service = await serve();
    const edge = await start(service.url);
    expect((await sendRequest(edge.url, "/metrics")).status).toBe(403);
  });

  let cache: SharedCache | null = null;
  const service = await serve(() => cache, { TRUST_PROXY: "127.0.0.1", RATE_LIMITS: "100000" });
  const edge = await start(service.url);
  cache = edge.cache;

  describe(`public rows behind ${name}, with the configuration of the page,`, () => {
    const ask = (path: string, headers: Record<string, string> = {}) =>
      sendRequest(edge.url, path, { headers });
    const label = async (path: string, headers: Record<string, string> = {}) =>
      /old|new\d*/.exec((await ask(path, headers)).text)?.[0];
    let changes = 0;
    const change = async (): Promise<string> => {
      const next = `new${String(++changes)}`;
      await query(`UPDATE ${schema}.rates SET label = '${next}'`);
      return next;
    };

    it("are kept, and every caller with a key has the rows of now", async () => {
      const kept = await label("/v1/shop/rates");
      const now = await change();
      expect(await label("/v1/shop/rates")).toBe(kept);
      expect(await label("/v1/shop/rates", { "x-api-key": KEYS.tier0 })).toBe(now);
      expect(await label("/v1/shop/rates", { authorization: `Bearer ${KEYS.tier0}` })).toBe(now);
      // Neither took the place of the public copy.
      expect(await label("/v1/shop/rates")).toBe(kept);
    });

    it("are gone after `routewright purge`, in every format and encoding", async () => {
      const paths = ["/v1/shop/rates", "/v1/shop/rates.csv", "/v1/shop/rates.json", "/v1/shop/rates?limit=1"];
      const encodings = ["identity", "gzip"];
      for (const path of paths)
        for (const encoding of encodings) await ask(path, { "accept-encoding": encoding });
      const now = await change();
      const folder = ownInstallation(manifest);
      const { purgeUrl, purgeMethod } = edge.cache;
      writeFileSync(join(folder, "routewright.config.json"), JSON.stringify({ purgeUrl, purgeMethod }));
      const variables = { PURGE_TOKEN: edge.cache.token ?? "" };
      expect(await run(folder, ["purge"], variables)).toMatchObject({ code: 0, stderr: "" });
      for (const path of paths) expect([path, await label(path)]).toEqual([path, now]);
    });

    it("stay where the one who purges has another token, also on the cache's machine", async () => {
      const kept = await label("/v1/shop/rates");
      await change();
      for (const token of [null, "", "other", edge.cache.token?.toUpperCase() ?? ""]) {
        const problems = await purgeCopies({ ...edge.cache, token }, [
          { model: "rates", path: "/v1/shop/rates" },
        ]);
        expect(problems).toContainEqual(expect.objectContaining({ reason: "the cache answered 403" }));
      }
      expect(await label("/v1/shop/rates")).toBe(kept);
    });

    it("are gone after a build that the server has read of", async () => {
      await ask("/v1/shop/rates");
      const now = await change();
      service.recordBuilds([{ node: "model.test.rates", completedAt: Date.now() }]);
      await vi.waitFor(async () => expect(await label("/v1/shop/rates")).toBe(now), { timeout: 90_000 });
    });

    it("do not hide that a key is unknown", async () => {
      await ask("/v1/shop/rates");
      const { status } = await ask("/v1/shop/rates", { "x-api-key": "sk_live_unknown" });
      expect(status).toBe(403);
      expect((await ask("/v1/shop/rates")).status).toBe(200);
    });

    it("are never those of an organization, of a tier, or an error", async () => {
      for (const [path, key] of [
        ["/v1/shop/mine", KEYS.tier0],
        ["/v1/shop/paid", KEYS.tier1],
      ] as const) {
        expect((await ask(path, { "x-api-key": key })).status).toBe(200);
        expect((await ask(path)).status).toBe(403);
      }
      expect((await ask("/v1/shop/rates?limit=x")).status).toBe(400);
    });

    it.each([
      { "x-forwarded-prefix": "/evil" },
      { "x-forwarded-host": "evil.example" },
      { origin: "https://evil.example" },
      { host: "evil.example" },
      { accept: "text/csv" },
      { accept: "application/json; numbers=string" },
      { prefer: "count=exact" },
      { "x-request-id": "evil" },
      { "x-http-method-override": "POST" },
      { "x-forwarded-prefix": "//evil.example" },
      { "x-original-url": "/v1/shop/evil" },
      { forwarded: "for=evil;host=evil.example;proto=https" },
      { traceparent: "00-e0e1e2e3e4e5e6e7e8e9eaebecedeeef-00f067aa0ba902b7-01" },
      { range: "bytes=0-3" },
      { range: "rows=0-0" },
      { "if-none-match": "*" },
      { "accept-encoding": "br;q=1, identity;q=0" },
      { accept: "application/json;q=0, text/csv" },
      { "x-api-key": "" },
      { authorization: " " },
      { connection: "close, x-api-key, vary, cache-control" },
      { x_api_key: "sk_live_unknown" },
      { te: "trailers", expect: "100-continue" },
      { "cache-control": "no-store, max-age=0" },
    ])("are not poisoned by %j", async (headers) => {
      await purgeCopies(edge.cache, [{ model: "rates", path: "/v1/shop/rates" }]);
      await ask("/v1/shop/rates", headers);
      await expectRows("/v1/shop/rates");
    });

    it.each<Lines>([
      { accept: ["*/*", "application/json;q=0"] },
      { accept: ["*/*", "text/csv"] },
      { accept: ["", "text/csv"] },
      { accept: ["application/json", "application/json;numbers=string"] },
      { accept: "*/*", prefer: ["", "count=exact"] },
      { "accept-encoding": ["identity", "gzip"] },
      { origin: ["https://app.example.com", "https://evil.example"] },
      { "x-forwarded-prefix": ["", "/evil"] },
      { "x-api-key": ["", KEYS.tier3] },
      { authorization: ["Basic eDp5", `Bearer ${KEYS.tier3}`] },
      { range: ["bytes=0-1", "bytes=0-3"] },
      { connection: "close, accept", accept: "text/csv" },
    ])("are not poisoned by several lines: %j", async (headers) => {
      for (const accept of [undefined, "*/*", "application/json", "text/csv"]) {
        await purgeCopies(edge.cache, [{ model: "rates", path: "/v1/shop/rates" }]);
        await sendRequest(edge.url, "/v1/shop/rates", { headers });
        if (accept === "text/csv") {
          const reply = await ask("/v1/shop/rates", { accept });
          expect([reply.headers["content-type"], reply.text]).toEqual([
            "text/csv; charset=utf-8; header=present",
            expect.stringMatching(/^n,label\r\n/),
          ]);
        } else await expectRows("/v1/shop/rates", accept === undefined ? {} : { accept });
      }
    });

    async function expectRows(path: string, headers: Record<string, string> = {}): Promise<void> {
      const reply = await ask(path, headers);
      expect(reply.status).toBe(200);
      expect(reply.headers["content-type"]).toBe("application/json; charset=utf-8");
      expect(reply.text).toMatch(/^\[\{"n":1,.*\{"n":2,.*\]$/s);
      expect(`${JSON.stringify(reply.headers)} ${reply.text}`).not.toMatch(/evil|e0e1e2/);
      expect(reply.headers["x-total-count"]).toBeUndefined();
      expect(reply.headers["content-encoding"]).toBeUndefined();
    }

    it.each([
      "//v1/shop/rates",
      "/v1/shop//rates",
      "/v1/./shop/rates",
      "/v1/shop/mine/../rates",
      "/v1/shop/mine/%2e%2e/rates",
      "/v1/shop/%72ates",
      "/v1/shop/rates%2Ecsv",
      "/v1/shop/rates%3Flimit=1",
      "/v1/shop/rates%00",
      "/v1/shop/rates#.csv",
      "/v1/shop/rates;.csv",
      "/v1/shop/rates?limit=1",
      "/v1/shop/rates?",
      "http://evil.example/v1/shop/rates",
    ])("are not poisoned by the address %s", async (path) => {
      for (const suffix of ["", ".json"])
        await purgeCopies(edge.cache, [{ model: "rates", path: `/v1/shop/rates${suffix}` }]);
      await ask(path);
      await ask(path, { accept: "text/csv" });
      await expectRows("/v1/shop/rates");
      await expectRows("/v1/shop/rates.json");
      expect((await ask("/v1/shop/rates.csv")).text).toMatch(/^n,label/);
    });

    it.each(["{}", '{"limit":1}', "limit=1"])("are not poisoned by a GET with the body %s", async (body) => {
      await purgeCopies(edge.cache, [{ model: "rates", path: "/v1/shop/rates" }]);
      const headers = { "content-type": "application/json" };
      await sendRequest(edge.url, "/v1/shop/rates", { method: "GET", headers, body });
      await expectRows("/v1/shop/rates");
    });

    it.each(["POST", "PUT", "OPTIONS", "PURGE", "BAN", "HEAD"])("are not poisoned by %s", async (method) => {
      await purgeCopies(edge.cache, [{ model: "rates", path: "/v1/shop/rates" }]);
      await sendRequest(edge.url, "/v1/shop/rates", {
        method,
        body: method === "POST" ? { limit: 1 } : undefined,
      });
      await expectRows("/v1/shop/rates");
    });

    it.each([
      ["gzip", undefined],
      ["gzip", "identity"],
      [undefined, "gzip"],
      ["identity", "br, gzip"],
    ])("are complete in the encoding that a caller accepts: %s, then %s", async (...accepted) => {
      await purgeCopies(edge.cache, [{ model: "many", path: "/v1/shop/many" }]);
      for (const encodings of [...accepted, ...accepted]) {
        const reply = await ask(
          "/v1/shop/many",
          encodings === undefined ? {} : { "accept-encoding": encodings },
        );
        const isCompressed = encodings?.includes("gzip") === true;
        expect([encodings, reply.headers["content-encoding"]]).toEqual([
          encodings,
          isCompressed ? "gzip" : undefined,
        ]);
        const text = isCompressed ? gunzipSync(reply.bytes).toString() : reply.text;
        expect(JSON.parse(text)).toHaveLength(2000);
      }
    });

    it("say how old they are, so that a cache behind does not keep them as new", async () => {
      await ask("/v1/shop/rates.json");
      const first = await ask("/v1/shop/rates.json");
      await new Promise((resolve) => setTimeout(resolve, 2_100));
      const { headers } = await ask("/v1/shop/rates.json");
      const ageOf = ({ age, date }: Reply["headers"]): number =>
        Math.max(Number(age ?? 0), (Date.now() - Date.parse(date ?? "")) / 1000);
      expect(ageOf(headers)).toBeGreaterThanOrEqual(2);
      expect(first.headers.etag).toBe(headers.etag);
    });

    it("carry nothing of the request that made them", async () => {
      const path = "/v1/shop/rates.ndjson";
      const trace = { traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" };
      await purgeCopies(edge.cache, [{ model: "rates", path }]);
      await ask(path, trace);
      const { headers } = await ask(path);
      const OF_A_REQUEST = [
        "x-request-id",
        "x-ratelimit-limit",
        "x-ratelimit-reset",
        "ratelimit",
        "ratelimit-policy",
        "server-timing",
        "traceparent",
      ];
      expect(OF_A_REQUEST.filter((name) => headers[name] !== undefined)).toEqual([]);
    });

    it("and pages for operators stay closed to callers from elsewhere", async () => {
      expect((await ask("/metrics")).status).toBe(403);
      const reply = await ask("/v1/shop/rates", { "x-api-key": KEYS.tier0 });
      expect(reply.headers["server-timing"]).toBeUndefined();
    });

    it("carry no rate limit of another caller", async () => {
      await ask("/v1/shop/rates.ndjson");
      const kept = await ask("/v1/shop/rates.ndjson");
      expect(kept.headers["x-ratelimit-remaining"]).toBeUndefined();
      const { headers } = await ask("/v1/shop/rates", { "x-api-key": KEYS.tier0 });
      expect(headers["x-ratelimit-remaining"]).toBeDefined();
    });
  });
}
