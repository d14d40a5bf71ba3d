import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { atEnd } from "../../../support/at-end.js";
import { openRateLimitStore } from "../../../../runtime/core/request/rate-limit/open-store.js";
import type { RateWindow } from "../../../../runtime/core/model/caller.js";
import type { RateLimitStore } from "../../../../runtime/core/request/rate-limit/memory-store.js";
import { needs } from "../../../support/needs.js";
import { startRedis, type RedisProcess } from "../../../support/redis.js";

/** Longer than a Redis that is well needs on a busy machine. */
const LIMITS = { commandMs: 6_000, connectionMs: 12_000 };
const UNREACHABLE = "Redis is unreachable: rate limits are counted per process.";

/** Counts of many hits at a time, in order. */
async function hits(store: RateLimitStore, caller: string, count: number): Promise<readonly number[]> {
  const windows = await Promise.all(Array.from({ length: count }, async () => store.hit(caller)));
  return windows.map((window) => window.count).toSorted((a, b) => a - b);
}

/** What many hits count in a window of their own. */
const fromOne = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i + 1);

function reconnected(store: RateLimitStore): Promise<void> {
  return expect.poll(() => store.degraded).toBeNull();
}

describe.skipIf(!needs("redis-server"))("a Redis", () => {
  async function open(redis: Pick<RedisProcess, "url">) {
    const lines: string[] = [];
    const log = pino({ base: null }, { write: (line) => void lines.push(line) });
    const store = await openRateLimitStore(redis.url, log, LIMITS);
    atEnd(() => store.close());
    await store.peek("ip:opened");
    const logged = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    return { store, lines, logged };
  }

  /** Stops Redis during many requests, then restarts it. */
  async function outage(
    redis: RedisProcess,
    stop: () => void | Promise<void>,
    restart: () => void | Promise<void>,
  ): Promise<RateWindow> {
    const { store, logged } = await open(redis);
    expect(await hits(store, "ip:a", 60)).toEqual(fromOne(60));
    await stop();
    expect(await hits(store, "ip:a", 150)).toEqual(fromOne(150));
    expect((await store.peek("ip:a")).count).toBe(150);
    expect(store.degraded).toBe(UNREACHABLE);
    // Requests do not wait for an unreachable Redis.
    expect(store.hit("ip:a")).toMatchObject({ count: 151 });
    expect(store.peek("ip:b")).toMatchObject({ count: 0 });

    await restart();
    await reconnected(store);
    expect(logged()).toMatchObject([
      { level: 40, msg: expect.stringMatching(/^Redis is unreachable/), reason: expect.stringMatching(/./) },
      { level: 30, msg: expect.stringMatching(/^Redis is connected/) },
    ]);
    return store.hit("ip:a");
  }

  it("that is killed and restarted is replaced by local counting in between", async () => {
    const redis = await startRedis();
    const after = await outage(redis, redis.kill, redis.start);
    expect(after.count).toBe(1);
  });

  it("that hangs and resumes is replaced by local counting in between", async () => {
    const redis = await startRedis();
    const after = await outage(redis, redis.hang, redis.goOn);
    expect(after.count).toBeGreaterThan(60);
  });

  it("that is out of memory is replaced by local counting in between", async () => {
    const redis = await startRedis();
    const client = redis.client();
    const setMemory = async (bytes: string): Promise<void> => {
      await client.config("SET", "maxmemory", bytes);
    };
    const after = await outage(
      redis,
      () => setMemory("1"),
      () => setMemory("0"),
    );
    expect(after.count).toBe(61);
  });

  it("that closes connections is reconnected", async () => {
    const redis = await startRedis();
    const { store } = await open(redis);
    const client = redis.client();
    expect((await store.hit("ip:a")).count).toBe(1);
    await client.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    await hits(store, "ip:other", 10);
    await reconnected(store);
    expect((await store.hit("ip:a")).count).toBe(2);
  });

  it("that fails while requests are pending fails none of them", async () => {
    const redis = await startRedis();
    const { store } = await open(redis);
    redis.hang();
    const waiting = hits(store, "ip:a", 100);
    const looking = Promise.all(Array.from({ length: 100 }, async () => store.peek("ip:b")));
    await redis.kill();
    expect(await waiting).toEqual(fromOne(100));
    expect((await looking).map(({ count }) => count)).toEqual(Array(100).fill(0));
  });

  it("that starts later is used once it is up", async () => {
    const redis = await startRedis();
    await redis.kill();
    const { store, logged } = await open(redis);
    expect([await hits(store, "ip:a", 3), store.degraded]).toEqual([[1, 2, 3], UNREACHABLE]);
    await redis.start();
    await reconnected(store);
    expect((await store.hit("ip:a")).count).toBe(1);
    expect(logged().map(({ level }) => level)).toEqual([40, 30]);
  });

  it("that is down is not reconnected after the store is closed", async () => {
    const redis = await startRedis();
    const { store, logged } = await open(redis);
    await redis.kill();
    await hits(store, "ip:a", 3);
    store.close();
    await redis.start();
    const client = redis.client();
    await new Promise((resolve) => setTimeout(resolve, 2500));
    expect(await client.client("LIST")).toMatch(/^[^\n]*\n$/);
    expect(logged().map(({ level }) => level)).toEqual([40]);
  });

  it("that requires a password gets it, and a wrong one is not logged", async () => {
    const redis = await startRedis("p@ss/w:rd#?%");
    const { store } = await open(redis);
    expect([(await store.hit("ip:a")).count, store.degraded]).toEqual([1, null]);

    const wrong = await open({ url: redis.url.replace(/:[^:@]*@/, ":hush%2Fhush@") });
    expect([(await wrong.store.hit("ip:a")).count, wrong.store.degraded]).toEqual([1, UNREACHABLE]);
    expect(wrong.lines).toHaveLength(1);
    expect(wrong.lines[0]).toContain("WRONGPASS");
    expect(wrong.lines[0]).not.toMatch(/hush|p@ss/);
  });
});
