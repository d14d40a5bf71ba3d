import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RateLimitStore } from "../../../../runtime/core/request/rate-limit/memory-store.js";

const WINDOW_MS = 60_000;

/** A store whose windows do not wait for the real time to pass. */
export interface StoreOnClock {
  readonly store: RateLimitStore;
  /** Now, by the clock of the store. */
  readonly now: () => number;
  /** Lets time go by. */
  readonly pass: (milliseconds: number) => void | Promise<void>;
  /** False where real time goes by as well. */
  readonly isExact: boolean;
}

/** What every store of windows must do; `open` makes an empty one. */
export function rateLimitStoreContract(name: string, open: () => Promise<StoreOnClock>): void {
  describe(`${name} counts windows`, () => {
    let clock: StoreOnClock;

    beforeEach(async () => {
      clock = await open();
    });
    afterEach(() => clock.store.close());

    const hit = async (caller: string): Promise<number> => (await clock.store.hit(caller)).count;
    const peek = async (caller: string): Promise<number> => (await clock.store.peek(caller)).count;

    /** What is left of a caller's window, in milliseconds; to the next ten seconds where real time goes by as well. */
    async function left(question: "hit" | "peek", caller: string): Promise<number> {
      const milliseconds = (await clock.store[question](caller)).resetAt - clock.now();
      return clock.isExact ? milliseconds : Math.ceil(milliseconds / 10_000) * 10_000;
    }

    it("of 60 seconds that start at the first request", async () => {
      expect(await left("hit", "a")).toBe(WINDOW_MS);
      await clock.pass(30_000);
      expect(await left("hit", "a")).toBe(30_000);
      await clock.pass(20_000);
      expect(await left("hit", "a")).toBe(10_000);
      expect(await hit("a")).toBe(4);
    });

    it("that reset fully when they end", async () => {
      for (let i = 0; i < 5; i++) await hit("a");
      await clock.pass(WINDOW_MS);
      expect([await peek("a"), await left("peek", "a")]).toEqual([0, WINDOW_MS]);
      expect(await hit("a")).toBe(1);
      expect(await left("peek", "a")).toBe(WINDOW_MS);
    });

    it("that start at the first request after a pause, not at the end of the previous window", async () => {
      await hit("a");
      await clock.pass(WINDOW_MS + 12_000);
      expect(await left("hit", "a")).toBe(WINDOW_MS);
      expect(await peek("a")).toBe(1);
    });

    it("without counting a peek, which opens no window", async () => {
      expect([await peek("a"), await left("peek", "a")]).toEqual([0, WINDOW_MS]);
      await clock.pass(20_000);
      expect(await left("hit", "a")).toBe(WINDOW_MS);
      expect([await peek("a"), await peek("a"), await left("peek", "a")]).toEqual([1, 1, WINDOW_MS]);
      expect(await hit("a")).toBe(2);
    });

    it("for each caller separately, whatever its name", async () => {
      const callers = ["key:a", "ip:a", "ip:2001:db8:1:2::/64", "", "__proto__", "ip:x y\n", "ip:é😀"];
      for (const caller of callers) expect([await peek(caller), await hit(caller)]).toEqual([0, 1]);
      for (const caller of callers) expect([await peek(caller), await hit(caller)]).toEqual([1, 2]);
    });

    it("beyond any limit", async () => {
      for (let i = 1; i <= 150; i++) expect(await hit("a")).toBe(i);
    });

    it("without losing one of many simultaneous requests", async () => {
      const counts = await Promise.all(Array.from({ length: 200 }, () => hit("a")));
      expect(counts.toSorted((a, b) => a - b)).toEqual(counts.map((_, i) => i + 1));
      expect(await peek("a")).toBe(200);
    });

    it("and is not degraded", () => {
      expect(clock.store.degraded).toBeNull();
    });
  });
}
