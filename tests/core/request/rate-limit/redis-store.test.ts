import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { atEnd } from "../../../support/at-end.js";
import { openRateLimitStore } from "../../../../runtime/core/request/rate-limit/open-store.js";
import type { RateLimitStore } from "../../../../runtime/core/request/rate-limit/memory-store.js";
import { needs } from "../../../support/needs.js";
import { startRedis } from "../../../support/redis.js";
import { rateLimitStoreContract, type StoreOnClock } from "./store-contract.js";

const PREFIX = "routewright:rate:";
const log = pino({ level: "silent" });
/** What a Redis on a busy machine needs. */
const PATIENT = { commandMs: 60_000, connectionMs: 60_000 };

const hasRedis = needs("redis-server");

describe.skipIf(!hasRedis)("with a Redis,", async () => {
  if (!hasRedis) return;
  const redis = await startRedis();
  const client = redis.client();

  /** Time goes by in Redis when all that is kept there has less time left. */
  async function pass(milliseconds: number): Promise<void> {
    for (const key of await client.keys(`${PREFIX}*`))
      await client.pexpire(key, (await client.pttl(key)) - milliseconds);
  }

  async function onClock(store: RateLimitStore): Promise<StoreOnClock> {
    await client.flushall();
    return { store, now: Date.now, pass, isExact: false };
  }

  /** A store that is connected. */
  async function openStore(): Promise<RateLimitStore> {
    const store = await openRateLimitStore(redis.url, log, PATIENT);
    atEnd(() => store.close());
    await store.peek("ip:opened");
    return store;
  }

  rateLimitStoreContract("the store in Redis", async () => onClock(await openStore()));

  it("two stores count the same windows, also simultaneously", async () => {
    const stores = [await openStore(), await openStore()];
    const windows = await Promise.all(
      Array.from({ length: 1000 }, async (_, i) => stores[i % 2]!.hit("ip:both")),
    );
    expect(windows.map(({ count }) => count).toSorted((a, b) => a - b)).toEqual(windows.map((_, i) => i + 1));
    for (const store of stores) expect((await store.peek("ip:both")).count).toBe(1000);
  });

  it("windows expire and leave no keys behind", async () => {
    const store = await openStore();
    await client.flushall();
    await store.peek("ip:looked");
    await store.hit("ip:hit");
    expect(await client.keys("*")).toEqual([`${PREFIX}ip:hit`]);
    const left = await client.pttl(`${PREFIX}ip:hit`);
    expect([left > 0, left <= 60_000]).toEqual([true, true]);
  });

  it("counting continues after SCRIPT FLUSH", async () => {
    const store = await openStore();
    await store.hit("ip:scripted");
    await store.hit("ip:scripted");
    await client.script("FLUSH");
    expect((await store.hit("ip:scripted")).count).toBe(3);
  });

  it("the first request is counted in Redis, before the connection is established", async () => {
    const first = await openRateLimitStore(redis.url, log, PATIENT);
    const second = await openRateLimitStore(redis.url, log, PATIENT);
    atEnd(() => [first, second].forEach((store) => store.close()));
    const [a, b] = await Promise.all([first.hit("ip:first"), second.hit("ip:first")]);
    expect([a.count, b.count].toSorted()).toEqual([1, 2]);
  });
});
