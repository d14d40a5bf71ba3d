import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { RATE_LIMITS } from "../../../../runtime/core/model/tier.js";
import { MAX_WINDOWS, MemoryStore } from "../../../../runtime/core/request/rate-limit/memory-store.js";
import { rateLimitStoreContract } from "./store-contract.js";

rateLimitStoreContract("the store in memory", () => {
  let now = 1_700_000_000_000;
  return Promise.resolve({
    store: new MemoryStore(() => now),
    now: () => now,
    pass: (milliseconds) => void (now += milliseconds),
    isExact: true,
  });
});

/** A anonymousCaller for each number. */
const anonymousCaller = (i: number): string =>
  `ip:10.${String(i >> 16)}.${String((i >> 8) & 255)}.${String(i & 255)}`;

let now: number;
let store: MemoryStore;
beforeEach(() => {
  now = 1_700_000_000_000;
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  store = new MemoryStore(() => now);
});
afterEach(() => {
  store.close();
  vi.useRealTimers();
});

/** Lets time go by, and with it the sweeps. */
function pass(milliseconds: number): void {
  now += milliseconds;
  vi.advanceTimersByTime(milliseconds);
}

function flood(from: number, count: number): void {
  for (let i = from; i < from + count; i++) store.hit(anonymousCaller(i));
}

function hits(name: string, count: number): readonly number[] {
  return Array.from({ length: count }, () => store.hit(name).count);
}

describe("the store in memory", () => {
  it("deletes windows that have ended", () => {
    flood(0, 1000);
    pass(59_000);
    store.hit("ip:late");
    expect(store.size).toBe(1001);
    pass(1000);
    expect(store.size).toBe(1);
    pass(60_000);
    expect(store.size).toBe(0);
  });

  it("keeps a window that was reopened after it had ended", () => {
    store.hit("a");
    store.hit("b");
    now += 60_000;
    expect(store.hit("a").count).toBe(1);
    pass(30_000);
    expect(store.size).toBe(1);
    expect(store.hit("a").count).toBe(2);
  });

  it("resets a window when the clock was set back", () => {
    hits("ip:a", 200);
    now -= 3_600_000;
    pass(1000);
    expect(store.hit("ip:a")).toEqual({ count: 1, resetAt: now + 60_000 });
  });
});

describe("the store in memory, in a flood of addresses,", () => {
  it("holds a fixed number of windows, and does not limit later regular callers", () => {
    flood(0, 500_000);
    expect(store.size).toBeLessThanOrEqual(MAX_WINDOWS + 2 ** 16);
    const counts = Array.from({ length: 1000 }, (_, i) => store.hit(`ip:honest-${String(i)}`).count);
    // Half a million put some eight addresses into each shared window.
    expect(Math.max(...counts)).toBeLessThan(RATE_LIMITS.tier0 / 4);
  });

  it("keeps every open window: limited callers stay limited", () => {
    hits("ip:early", 100);
    flood(0, MAX_WINDOWS + 1000);
    expect(store.hit("ip:early").count).toBe(101);
    expect(store.hit(anonymousCaller(5)).count).toBe(2);
  });

  it("gives callers in shared windows no more than their limit", () => {
    flood(0, MAX_WINDOWS);
    expect(hits("ip:late", 101)).toEqual(Array.from({ length: 101 }, (_, i) => i + 1));
    expect(store.peek("ip:late")).toEqual({ count: 101, resetAt: now + 60_000 });
  });

  it("keeps a caller in its shared window until that ends, also when there is room again", () => {
    store.hit("ip:first");
    pass(30_000);
    flood(1, MAX_WINDOWS - 1);
    hits("ip:late", 100);
    const { resetAt } = store.peek("ip:late");
    pass(30_000);
    // All but the first, and the shared one.
    expect(store.size).toBe(MAX_WINDOWS);
    expect(store.hit("ip:late")).toEqual({ count: 101, resetAt });
    now = resetAt;
    expect(store.peek("ip:late")).toEqual({ count: 0, resetAt: now + 60_000 });
    expect(store.hit("ip:late")).toEqual({ count: 1, resetAt: now + 60_000 });
  });

  it("counts keys and projects exactly, each in its own window", () => {
    flood(0, MAX_WINDOWS + 1000);
    const { size } = store;
    for (const name of ["key:a", "key:b", "project:a"]) {
      expect(store.peek(name).count).toBe(0);
      expect(hits(name, 200)).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
      expect(store.peek(name).count).toBe(200);
    }
    expect(store.size).toBe(size + 3);
  });

  it("is exact again afterwards", () => {
    flood(0, MAX_WINDOWS + 10_000);
    pass(61_000);
    expect(store.size).toBe(0);
    for (let i = 0; i < 50; i++) flood(MAX_WINDOWS, 2_000);
    expect(store.size).toBe(2_000);
    expect(store.peek(anonymousCaller(MAX_WINDOWS + 1_999)).count).toBe(50);
  });
});
