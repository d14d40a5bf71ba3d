import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { MemoryStore } from "../../runtime/rate-limit/memory-store.js";
import { rateLimitStoreContract } from "./store-contract.js";

rateLimitStoreContract("the store in memory", (clock) => Promise.resolve(new MemoryStore(() => clock.now)));

describe("the store in memory", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("forgets windows that have ended, so that it holds the callers of one window only", () => {
    const store = new MemoryStore();
    for (let i = 0; i < 1000; i++) store.hit(`ip:${String(i)}`);
    vi.advanceTimersByTime(59_000);
    store.hit("ip:late");
    expect(store.size).toBe(1001);
    vi.advanceTimersByTime(1000);
    expect(store.size).toBe(1);
    vi.advanceTimersByTime(60_000);
    expect(store.size).toBe(0);
    store.close();
  });

  it("keeps a window that was opened again after it had ended", () => {
    const store = new MemoryStore();
    vi.advanceTimersByTime(30_000);
    store.hit("a");
    store.hit("b");
    vi.advanceTimersByTime(30_000);
    vi.advanceTimersByTime(30_000);
    expect(store.hit("a").count).toBe(1);
    vi.advanceTimersByTime(30_000);
    expect(store.size).toBe(1);
    expect(store.hit("a").count).toBe(2);
    store.close();
  });
});
