import { describe, expect, it } from "vitest";
import { sendRequest, askRaw, type RequestOptions } from "../../support/http-client.js";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { needs } from "../../support/needs.js";
import { startRedis } from "../../support/redis.js";
import { KEYS, serveManifest } from "../../support/service.js";

const hasRedis = needs("redis-server");

describe.skipIf(!hasRedis)("two services with one Redis", async () => {
  if (!hasRedis) return;
  const schema = await ownSchema("CREATE TABLE @.one AS SELECT 1 AS id");
  const manifest = manifestOf([{ name: "one", schema, tags: ["production", "shop", "api:one"] }]);
  const redis = await startRedis();
  const variables = { REDIS_URL: redis.url, TRUST_PROXY: "1" };
  const services = [await serveManifest(manifest, variables), await serveManifest(manifest, variables)];

  let addresses = 0;
  const anonymousCaller = (): RequestOptions => ({
    headers: { "x-forwarded-for": `203.0.113.${String(++addresses)}` },
  });

  /** The headers of the window, from one service after the other. */
  async function windows(question: RequestOptions, targets: readonly string[]) {
    const replies = [];
    for (const [i, target] of targets.entries())
      replies.push(await sendRequest(services[i % 2]!, target, question));
    return replies.map(({ status, headers }) => ({
      status,
      limit: headers["x-ratelimit-limit"],
      remaining: headers["x-ratelimit-remaining"],
      reset: Number(headers["x-ratelimit-reset"]),
    }));
  }

  it("share the window of an address", async () => {
    const caller = anonymousCaller();
    const before = Math.floor(Date.now() / 1000);
    const seen = await windows(caller, Array<string>(4).fill("/v1/shop/one"));
    expect(seen).toMatchObject(
      ["99", "98", "97", "96"].map((remaining) => ({ status: 200, limit: "100", remaining })),
    );
    for (const { reset } of seen) {
      expect(reset).toBeGreaterThanOrEqual(before + 60);
      expect(reset).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000) + 60);
      expect(Math.abs(reset - seen[0]!.reset)).toBeLessThanOrEqual(1);
    }
  });

  it("share the window of a key, and report its limit", async () => {
    const caller = { ...anonymousCaller(), key: KEYS.tier2 };
    expect(await windows(caller, ["/v1/shop/one", "/v1/none", "/v1/shop/one"])).toMatchObject([
      { status: 200, limit: "1000", remaining: "999" },
      { status: 404, limit: "1000", remaining: "998" },
      { status: 200, limit: "1000", remaining: "997" },
    ]);
  });

  it("count an IPv6 caller by its /64", async () => {
    const from = (address: string): RequestOptions => ({ headers: { "x-forwarded-for": address } });
    const [first] = await windows(from("2001:db8:1:2::1"), ["/v1/none"]);
    const [second] = await windows(from("2001:db8:1:2:ffff::9"), ["/v1/none"]);
    const [other] = await windows(from("2001:db8:1:3::1"), ["/v1/none"]);
    expect([first, second, other].map((window) => window?.remaining)).toEqual(["99", "98", "99"]);
  });

  it("report the window to a caller who sends invalid HTTP", async () => {
    const reply = await askRaw(services[0]!, "nonsense\r\n\r\n");
    expect(reply).toMatch(/^HTTP\/1\.1 400 .*\r\nX-RateLimit-Limit: 100\r\nX-RateLimit-Remaining: \d+\r\n/);
  });
});
