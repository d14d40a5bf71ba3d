import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Tier } from "../../runtime/model/tier.js";
import { FairQueue, type Lease } from "../../runtime/warehouse/fair-queue.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/** Lets so much time pass, by the clock of the queue. */
const pass = (milliseconds: number): void => void vi.advanceTimersByTime(milliseconds);

interface Running {
  readonly name: string;
  readonly lease: Lease;
}

interface Options {
  readonly table?: string;
  readonly tier?: Tier;
  readonly isStillNeeded?: () => boolean;
  readonly isAdmitted?: boolean;
}

/** A queue of so many connections, and what runs on them. */
function queueOf(capacity: number, options: { maxWaiting?: number; perCaller?: number } = {}) {
  const queue = new FairQueue({ capacity, maxWaiting: 1000, ...options });
  const running: Running[] = [];
  const add = (
    name: string,
    callerId: string,
    { table = "a", tier = "tier0", isStillNeeded = () => true, isAdmitted = false }: Options = {},
  ): boolean => {
    const start = (lease: Lease): void => void running.push({ name, lease });
    const fail = (): void => undefined;
    return queue.add({ callerId, tier, relation: ["s", table], isStillNeeded, start, fail }, isAdmitted);
  };
  /** Starts what may run on free connections. */
  const serve = (): string[] => {
    for (let next; running.length < capacity && (next = queue.next());) next.waiter.start(next.lease);
    return running.map(({ name }) => name);
  };
  const end = (name: string, timedOut = false): void => {
    const index = running.findIndex((each) => each.name === name);
    running.splice(index, 1)[0]?.lease.release(timedOut);
  };
  return { add, serve, end, queue };
}

const many = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

describe("shares of connections", () => {
  it("leave half of them to other callers", () => {
    const { add, serve } = queueOf(8);
    for (const i of many(20)) add(`flood ${String(i)}`, "key:flood", { tier: "tier3", table: String(i) });
    expect(serve()).toHaveLength(4);
    add("other", "key:other");
    expect(serve()).toContain("other");
  });

  it("leave a quarter of them to other tables", () => {
    const { add, serve } = queueOf(8);
    for (const i of many(20)) add(`locked ${String(i)}`, `key:${String(i)}`, { tier: "tier3" });
    expect(serve()).toHaveLength(6);
    add("other", "key:0", { table: "b" });
    expect(serve()).toContain("other");
  });

  it("leave a quarter of a caller's own to its other tables", () => {
    const { add, serve } = queueOf(8);
    for (const i of many(20)) add(`locked ${String(i)}`, "key:one", { tier: "tier3" });
    expect(serve()).toHaveLength(3);
    add("other", "key:one", { tier: "tier3", table: "b" });
    expect(serve()).toContain("other");
  });

  it("leave some of them to each higher tier", () => {
    const anonymous = queueOf(8);
    for (const i of many(20)) anonymous.add("anonymous", `ip:${String(i)}`, { table: String(i) });
    expect(anonymous.serve()).toHaveLength(5);
    anonymous.add("internal", "key:1", { tier: "tier3", table: "b" });
    expect(anonymous.serve()).toContain("internal");
  });

  it("apply to places in the queue too: a flood is refused, other callers are not", () => {
    const { add } = queueOf(1, { maxWaiting: 100 });
    const taken = many(200).filter((i) => add(String(i), "ip:flood", { table: String(i) }));
    expect(taken).toHaveLength(50);
    expect(add("moved to another connection", "ip:flood", { isAdmitted: true })).toBe(true);
    expect(add("other", "key:other", { tier: "tier3", table: "b" })).toBe(true);
  });
});

describe("long queries", () => {
  /** A caller whose query of so many milliseconds has just ended. */
  function queueAfter(milliseconds: number, tier: Tier = "tier0") {
    const queue = queueOf(16);
    queue.add("first", "long", { tier });
    queue.serve();
    pass(milliseconds);
    queue.end("first");
    for (const i of many(10)) queue.add(`long ${String(i)}`, "long", { tier, table: String(i) });
    return queue;
  }

  it.each([
    ["tier0", 250, 8],
    ["tier0", 251, 2],
    ["tier1", 251, 4],
    ["tier2", 251, 6],
    ["tier3", 251, 8],
  ] as const)("of a %s caller that ran one for %d ms run on %d of 16 connections", (tier, ms, count) => {
    expect(queueAfter(ms, tier).serve()).toHaveLength(count);
  });

  it("leave connections to callers of short ones in their tier, and to long ones of higher tiers", () => {
    const { add, serve } = queueAfter(300);
    serve();
    pass(300);
    add("short", "ip:other");
    expect(serve()).toHaveLength(3);
    expect(serve()).toContain("short");
  });

  it("count while they run, before they have ended", () => {
    const { add, serve } = queueOf(16);
    for (const i of many(2)) add(`first ${String(i)}`, "long", { table: String(i) });
    serve();
    pass(300);
    add("third", "long", { table: "c" });
    expect(serve()).toEqual(["first 0", "first 1"]);
  });

  it("are forgotten after 10 seconds without one", () => {
    const { serve, end } = queueAfter(300);
    for (const name of serve()) end(name);
    pass(10_001);
    expect(serve()).toHaveLength(8);
  });
});

describe("the next query", () => {
  it("is one of the highest tier at equal need", () => {
    const { add, serve } = queueOf(1);
    for (const tier of ["tier0", "tier2", "tier3", "tier1"] as const) add(tier, tier, { tier });
    expect(serve()).toEqual(["tier3"]);
  });

  it("is of the caller that has used the least connection time, not the first in the queue", () => {
    const { add, serve, end } = queueOf(1);
    for (const i of many(10)) add(`busy ${String(i)}`, "key:busy");
    serve();
    pass(20);
    add("new", "key:new");
    end("busy 0");
    expect(serve()).toEqual(["new"]);
  });

  it("is one that has waited long, whatever its tier", () => {
    const { add, serve } = queueOf(1);
    add("anonymous", "ip:1");
    pass(800);
    add("internal", "key:1", { tier: "tier3" });
    expect(serve()).toEqual(["anonymous"]);
  });

  it("is not delayed by connection time used long ago", () => {
    const { add, serve, end } = queueOf(1);
    add("first", "key:known");
    serve();
    pass(10);
    end("first");
    pass(200);
    add("again", "key:known");
    pass(2);
    add("new", "key:new");
    expect(serve()).toEqual(["again"]);
  });

  it.each([
    ["twice the time that its caller used lately", 100, 160, 170],
    ["5 seconds, whatever its caller used", 60_000, 4999, 5001],
  ])("is held back by %s", (_, usedMs, before, after) => {
    for (const [later, first] of [
      [before, "new"],
      [after, "again"],
    ] as const) {
      const { add, serve, end } = queueOf(1);
      add("first", "key:known");
      serve();
      pass(usedMs);
      end("first");
      add("again", "key:known");
      pass(later);
      add("new", "key:new");
      expect(serve()).toEqual([first]);
    }
  });

  it("is in order of arrival for one caller", () => {
    const { add, serve, end } = queueOf(1);
    for (const i of many(3)) {
      add(String(i), "key:one");
      pass(1);
    }
    expect(serve()).toEqual(["0"]);
    end("0");
    expect(serve()).toEqual(["1"]);
  });

  it("is not one whose client has disconnected", () => {
    const { add, serve } = queueOf(1);
    add("gone", "key:gone", { isStillNeeded: () => false });
    add("here", "key:here");
    expect(serve()).toEqual(["here"]);
  });

  it("is not of a caller whose last query timed out, until its penalty has ended", () => {
    const { add, serve, end } = queueOf(8);
    add("costly", "key:costly");
    serve();
    end("costly", true);
    add("again", "key:costly");
    add("other", "key:other", { table: "b" });
    expect(serve()).toEqual(["other"]);
    pass(999);
    expect(serve()).toEqual(["other"]);
    pass(1);
    expect(serve()).toEqual(["other", "again"]);
  });
});

it("a lease without its connection still counts against its caller", () => {
  const queue = new FairQueue({ capacity: 4, maxWaiting: 10, perCaller: 1 });
  const leases: Lease[] = [];
  const add = (): boolean =>
    queue.add({
      callerId: "key:one",
      tier: "tier0",
      relation: ["s", "a"],
      isStillNeeded: () => true,
      start: (lease) => void leases.push(lease),
      fail: () => undefined,
    });
  add();
  add();
  const first = queue.next();
  first?.lease.releaseConnection();
  expect(queue.next()).toBeNull();
  first?.lease.release();
  expect(queue.next()).not.toBeNull();
});
