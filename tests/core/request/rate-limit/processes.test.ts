import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { describe, expect, it, onTestFinished } from "vitest";
import { askRaw, sendRequest, statusAndBody } from "../../../support/http-client.js";
import { run, serve, type Served } from "../../../support/command.js";
import { described } from "../../../support/described.js";
import { databaseUrl, ownSchema } from "../../../support/database.js";
import { manifestOf } from "../../../support/manifest.js";
import { needs } from "../../../support/needs.js";
import { startRedis } from "../../../support/redis.js";
import { ownInstallation } from "../../../support/service.js";

const PASSWORD = "hush-hush";

describe.skipIf(!needs("redis-server"))("processes of their own with one Redis", async () => {
  const schema = await ownSchema("CREATE TABLE @.one AS SELECT 1 AS id");
  const manifest = manifestOf([{ name: "one", schema }]);
  const folder = ownInstallation(manifest);

  const variables = (redisUrl: string) => ({
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    API_KEYS: '{"sk_live_shared": "tier2"}',
  });

  /** How many of many requests at a time are let in. */
  async function admitted(served: readonly Served[], count: number): Promise<number> {
    const replies = await Promise.all(
      Array.from({ length: count }, (_, i) => sendRequest(served[i % served.length]!.url, "/v1/shop/one")),
    );
    for (const { status } of replies) expect([200, 429]).toContain(status);
    return replies.filter(({ status }) => status === 200).length;
  }

  /** Levels of the log lines about Redis. */
  const levelsOf = (log: string): readonly number[] =>
    log
      .split("\n")
      .filter((line) => line.includes("Redis"))
      .map((line) => (JSON.parse(line) as { level: number }).level);

  const HEALTHY = [200, { status: "ok", database_connected: true }];
  const DEGRADED = {
    status: "degraded",
    database_connected: true,
    detail: "Redis is unreachable: rate limits are counted per process.",
  };
  const health = async ({ url }: Served) => statusAndBody(await sendRequest(url, "/health"));

  it("admit the limit of an address or key together, each its own limit while Redis is unreachable, and log each change once", async () => {
    const redis = await startRedis(PASSWORD);
    const served = await Promise.all([1, 2].map(() => serve(folder, [], variables(redis.url))));
    expect(await admitted(served, 160)).toBe(100);
    const windows = await Promise.all(
      served.map(({ url }) => sendRequest(url, "/v1/shop/one", { key: "sk_live_shared" })),
    );
    expect(windows.map(({ headers }) => headers["x-ratelimit-remaining"]).sort()).toEqual(["998", "999"]);
    expect(await askRaw(served[0]!.url, "nonsense\r\n\r\n")).toMatch(
      /^HTTP\/1\.1 400 .*\r\nX-RateLimit-Limit: 100\r\nX-RateLimit-Remaining: 0\r\n/,
    );

    await redis.kill();
    expect(await admitted(served, 300)).toBe(200);
    for (const { url } of served) expect(await described(url, "GET", "/health")).toEqual(DEGRADED);

    await redis.start();
    for (const each of served) await expect.poll(() => health(each)).toEqual(HEALTHY);
    expect(await admitted(served, 160)).toBe(100);

    await redis.kill();
    await admitted(served, 10);
    for (const each of served) {
      const { code, stdout, stderr } = await each.stop();
      expect([code, stderr]).toEqual([0, ""]);
      expect(levelsOf(stdout)).toEqual([40, 30, 40]);
      expect(stdout).not.toContain(PASSWORD);
    }
  });

  it("exit with the usual message when they cannot start, with and without Redis", async () => {
    const redis = await startRedis();
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    onTestFinished(() => void taken.close());
    const port = String((taken.address() as AddressInfo).port);
    for (const url of [redis.url, "redis://127.0.0.1:1"]) {
      const { code, stderr } = await run(folder, ["serve"], { ...variables(url), PORT: port });
      expect([code, stderr]).toEqual([
        2,
        expect.stringMatching(/^error: Port \d+ of 127\.0\.0\.1 is in use/),
      ]);
    }
  });
});
