import { hash, randomBytes } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { BoundedCache, cacheBytes } from "../../../runtime/core/http/bounded-cache.js";

const sizeOf = (value: string): number => value.length;
const cacheOf = (maxBytes: number) => new BoundedCache<string>("values", { sizeOf, maxBytes });

it("counts long keys as 32 bytes, and an entry without a value", () => {
  const cache = cacheOf(1_000_000);
  cache.set("a".repeat(1_000_000), "");
  const one = cache.bytes;
  cache.set("b", "");
  expect(one).toBeGreaterThan(150);
  expect(one).toBeLessThan(350);
  expect(cache.bytes).toBe(2 * one);
});

it("holds less memory than its limit, however many and long the texts are", () => {
  const fill = (): BoundedCache<string> => {
    const cache = cacheOf(4_000_000);
    for (let i = 0; i < 40_000; i++) cache.set(`${String(i)}${"x".repeat(15_000)}`, "");
    return cache;
  };
  // The first time, code is compiled too.
  fill();
  collect();
  const before = process.memoryUsage().heapUsed;
  const cache = fill();
  expect(cache.bytes).toBeLessThanOrEqual(4_000_000);
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(4_000_000);
  expect(cache.size).toBeGreaterThan(4_000_000 / 300);
});

it("keeps no long text by a short part of it", () => {
  collect();
  const before = process.memoryUsage().heapUsed;
  const cache = cacheOf(4_000_000);
  for (let i = 0; i < 1_000; i++) {
    const text = `${randomBytes(10).toString("hex")}${"x".repeat(15_000)}`;
    cache.set(text.slice(0, 12), "");
    cache.set(text.slice(0, 16), "");
  }
  collect();
  expect(cache.size).toBe(2_000);
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(2_000_000);
});

it("tells texts apart, also one that is the digest of another", () => {
  const cache = cacheOf(100_000);
  const texts = ["", "a", "a".repeat(12), "a".repeat(13), "a".repeat(32), "ä", "\u4e2d".repeat(20)];
  const digest = hash("sha256", "a".repeat(32), "binary");
  for (const text of [...texts, digest]) cache.set(text, text);
  for (const text of [...texts, digest]) expect(cache.get(text)).toBe(text);
});

it("evicts what was used least recently, and nothing that is too large for it replaces anything", () => {
  const entry = bytesOfOne();
  const cache = new BoundedCache<string>("values", { sizeOf, maxBytes: 3 * entry, maxShare: 1 / 2 });
  for (const name of ["a", "b", "c"]) cache.set(name, "");
  cache.get("a");
  cache.set("d", "");
  expect(["a", "b", "c", "d"].map((name) => cache.get(name))).toEqual(["", undefined, "", ""]);
  cache.set("e", "x".repeat(2 * entry));
  expect(cache.get("e")).toBeUndefined();
  expect(cache.size).toBe(3);
});

it("weighs a value that has grown when it is used", () => {
  const entry = bytesOfOne();
  const cache = new BoundedCache<{ bytes: number }>("values", {
    sizeOf: ({ bytes }) => bytes,
    maxBytes: 3 * entry,
  });
  const value = { bytes: 0 };
  cache.set("a", value);
  cache.set("b", { bytes: 0 });
  value.bytes = 2 * entry;
  expect(cache.get("a")).toBe(value);
  expect(cache.bytes).toBe(3 * entry);
  expect(cache.get("b")).toBeUndefined();
});

it("frees what has expired, and what is of no use, without being asked for it", async () => {
  const removed: string[] = [];
  const current = new Set(["kept", "short"]);
  const cache = new BoundedCache<string>("values", {
    sizeOf,
    isCurrent: (value) => current.has(value),
    onRemove: (value) => void removed.push(value),
  });
  cache.set("a", "kept");
  cache.set("b", "short", 1);
  cache.set("c", "old");
  await new Promise((resolve) => setTimeout(resolve, 5));
  cache.sweep();
  expect(removed.sort()).toEqual(["old", "short"]);
  expect(cache.size).toBe(1);
});

it("is a metric by its name, of all caches of this name that are in use", () => {
  const bytes = (): number => new Map(cacheBytes("data")).get("values") ?? 0;
  const before = bytes();
  const [one, other] = [cacheOf(100_000), cacheOf(100_000)];
  one.set("a", "x".repeat(100));
  other.set("a", "x".repeat(200));
  expect(bytes() - before).toBe(one.bytes + other.bytes);
  expect(new Map(cacheBytes("ramp")).has("values")).toBe(false);
});

function bytesOfOne(): number {
  const cache = cacheOf(100_000);
  cache.set("a", "");
  return cache.bytes;
}

function collect(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}
