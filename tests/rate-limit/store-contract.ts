import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RateLimitStore } from "../../runtime/rate-limit/store.js";

const WINDOW_MS = 60_000;

/** A clock that stands until it is told to go on. */
export interface Clock {
  now: number;
}

/** What every store of windows must do (data-api.md §8); `open` makes one that goes by the clock. */
export function rateLimitStoreContract(name: string, open: (clock: Clock) => Promise<RateLimitStore>): void {
  describe(`${name} counts windows`, () => {
    let clock: Clock;
    let store: RateLimitStore;

    beforeEach(async () => {
      clock = { now: 1_700_000_000_000 };
      store = await open(clock);
    });
    afterEach(() => store.close());

    const hit = async (key: string): Promise<[count: number, resetAt: number]> => {
      const { count, resetAt } = await store.hit(key);
      return [count, resetAt];
    };
    const look = async (key: string): Promise<[count: number, resetAt: number]> => {
      const { count, resetAt } = await store.look(key);
      return [count, resetAt];
    };

    it("of 60 seconds that start at the first request", async () => {
      const start = clock.now;
      expect(await hit("a")).toEqual([1, start + WINDOW_MS]);
      clock.now += 30_000;
      expect(await hit("a")).toEqual([2, start + WINDOW_MS]);
      clock.now = start + WINDOW_MS - 1;
      expect(await hit("a")).toEqual([3, start + WINDOW_MS]);
    });

    it("that reset fully when they end", async () => {
      const start = clock.now;
      for (let i = 0; i < 5; i++) await hit("a");
      clock.now = start + WINDOW_MS;
      expect(await look("a")).toEqual([0, clock.now + WINDOW_MS]);
      expect(await hit("a")).toEqual([1, start + 2 * WINDOW_MS]);
    });

    it("that start anew at the first request after a pause, not at the end of the last one", async () => {
      const start = clock.now;
      await hit("a");
      clock.now = start + WINDOW_MS + 12_345;
      expect(await hit("a")).toEqual([1, clock.now + WINDOW_MS]);
    });

    it("without counting a look, which opens none", async () => {
      const start = clock.now;
      expect(await look("a")).toEqual([0, start + WINDOW_MS]);
      clock.now += 20_000;
      expect(await hit("a")).toEqual([1, clock.now + WINDOW_MS]);
      expect(await look("a")).toEqual([1, clock.now + WINDOW_MS]);
      expect(await look("a")).toEqual([1, clock.now + WINDOW_MS]);
      expect(await hit("a")).toEqual([2, clock.now + WINDOW_MS]);
    });

    it("for each caller alone, whatever its name", async () => {
      const keys = ["key:a", "ip:a", "ip:::1", "", "__proto__", "ip:x y\n"];
      for (const key of keys) expect((await hit(key))[0]).toBe(1);
      for (const key of keys) expect((await hit(key))[0]).toBe(2);
    });

    it("on past any limit, for the limit is not its business", async () => {
      for (let i = 1; i <= 150; i++) expect((await hit("a"))[0]).toBe(i);
    });

    it("without losing one of many at a time", async () => {
      const counts = await Promise.all(Array.from({ length: 200 }, () => hit("a").then(([count]) => count)));
      expect(Math.max(...counts)).toBe(200);
      expect((await look("a"))[0]).toBe(200);
    });
  });
}
