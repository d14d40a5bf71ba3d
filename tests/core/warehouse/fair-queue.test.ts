import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Caller } from "../../../runtime/core/model/caller.js";
import type { Tier } from "../../../runtime/core/model/tier.js";
import { FairQueue, type Lease, type QueuedQuery } from "../../../runtime/core/warehouse/fair-queue.js";
import { SharedResource, tableName } from "../../../runtime/core/warehouse/caller-shares.js";

// The clock of the queue stands still unless a test moves it.
beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/** Callers of one kind and how they load a server. */
interface Load {
  readonly callers: number;
  readonly tier: Tier;
  /** Requests that each has open at a time: the next one follows as soon as one ends. */
  readonly open: number;
  /** Time of each query in the database. */
  readonly ms: number;
  /** Tables that they ask by turns. */
  readonly tables: number;
  /** When they come, and the time between them. */
  readonly from?: number;
  readonly between?: number;
}

const CONNECTIONS = 10;
const TIMEOUT_MS = 3000;

interface Outcome {
  /** The longest wait for a connection, in milliseconds. */
  waited: number;
  refused: number;
  served: number;
}

const callerOf = (id: string, tier: Tier): Caller => ({ id, tier, org: null, allowed: null, key: null });

/** So many connections and loads for 6 seconds, in steps of a millisecond; the outcome of each load. */
function simulate<Name extends string>(loads: Readonly<Record<Name, Load>>, capacity = CONNECTIONS) {
  const queue = new FairQueue({ capacity, maxWaiting: 100 });
  const outcomes = Object.fromEntries(
    Object.keys(loads).map((name) => [name, { waited: 0, refused: 0, served: 0 }]),
  ) as Record<Name, Outcome>;
  const ends: { readonly at: number; readonly end: () => void }[] = [];
  const later = (at: number, end: () => void): void => void ends.push({ at, end });
  let turn = 0;
  const ask = (name: Name, id: string): void => {
    const { tier, ms, tables } = loads[name];
    const since = performance.now();
    const outcome = outcomes[name];
    const again = (): void => later(performance.now() + 1, () => ask(name, id));
    const start = (lease: Lease): void => {
      outcome.served++;
      outcome.waited = Math.max(outcome.waited, performance.now() - since);
      later(performance.now() + ms, () => {
        lease.release();
        again();
      });
    };
    const refuse = (): void => {
      outcome.refused++;
      later(performance.now() + 100, () => ask(name, id));
    };
    const relation = ["s", `${name} ${String(turn++ % tables)}`] as const;
    queue.add({ caller: callerOf(id, tier), relation, isStillNeeded: () => true, start, fail: refuse });
  };
  for (const name of Object.keys(loads) as Name[]) {
    const { callers, open, from = 0, between = 0 } = loads[name];
    for (let i = 0; i < callers * open; i++)
      later(from + i * between + performance.now(), () => ask(name, `${name} ${String(i % callers)}`));
  }
  for (let time = 0; time < 6000; time++) {
    const due = ends.filter(({ at }) => at <= performance.now());
    if (due.length > 0) ends.splice(0, ends.length, ...ends.filter((each) => !due.includes(each)));
    for (const { end } of due) end();
    queue.check(TIMEOUT_MS);
    vi.advanceTimersByTime(1);
  }
  return outcomes;
}

/** One request at a time, of 5 ms each, on a table of its own. */
const light = (tier: Tier): Load => ({ callers: 1, tier, open: 1, ms: 5, tables: 1, from: 1000 });

/** Requests of the light caller without other load. */
const ALONE = 834;

/** Each attack keeps it waiting, or has it refused, without the share that is named: then it got the number in brackets. */
it.each<readonly [string, Load, Tier, number]>([
  [
    "120 open requests of one key: the caller's share (0)",
    { callers: 1, tier: "tier3", open: 120, ms: 200, tables: 20 },
    "tier3",
    ALONE,
  ],
  [
    "120 anonymous addresses: the tier's share (0)",
    { callers: 120, tier: "tier0", open: 1, ms: 200, tables: 20 },
    "tier3",
    ALONE,
  ],
  [
    "12 tier3 keys on one slow view: the table's share (1)",
    { callers: 12, tier: "tier3", open: 10, ms: 5000, tables: 1 },
    "tier3",
    ALONE,
  ],
  [
    "costly queries of three anonymous addresses: the share of long queries (2)",
    { callers: 3, tier: "tier0", open: 10, ms: 2500, tables: 20 },
    "tier0",
    500,
  ],
  [
    "costly queries of two keys that come one after another: running ones become long (106)",
    { callers: 2, tier: "tier3", open: 10, ms: 5000, tables: 20, between: 150 },
    "tier3",
    ALONE,
  ],
  [
    "four busy keys on all connections: callers take turns (2)",
    { callers: 4, tier: "tier3", open: 25, ms: 200, tables: 20 },
    "tier3",
    20,
  ],
])("a light caller is served beside %s", (_, attack, tier, least) => {
  const { light: outcome } = simulate({ attack, light: light(tier) });
  expect(outcome.refused).toBe(0);
  expect(outcome.served).toBeGreaterThanOrEqual(least);
});

const KEY_ONE = callerOf("key:one", "tier0");
const QUERY = { caller: KEY_ONE, relation: ["s", "a"], isStillNeeded: () => true } as const;

/** The leases that a queue has given to queries of `KEY_ONE`, or of another caller, in order. */
function leasesOf(queue: FairQueue) {
  const leases: (Lease & { readonly callerId?: string })[] = [];
  const add = (given: Partial<QueuedQuery> = {}): Lease | undefined => {
    const queued = { ...QUERY, ...given };
    const start = (lease: Lease): void =>
      void leases.push(Object.assign(lease, { callerId: queued.caller.id }));
    queue.add({ ...queued, start, fail: () => undefined });
    return leases.at(-1);
  };
  return { leases, add };
}

it("a query whose client has disconnected is not run", () => {
  const queue = new FairQueue({ capacity: 1, maxWaiting: 10 });
  expect(leasesOf(queue).add({ isStillNeeded: () => false })).toBeUndefined();
  expect(queue.load).toMatchObject({ running: 0, waiting: 0 });
});

it("a caller of long queries is one of short ones again after 10 seconds without one", () => {
  const queue = new FairQueue({ capacity: 16, maxWaiting: 10 });
  const { add } = leasesOf(queue);
  const first = add();
  vi.advanceTimersByTime(251);
  first?.release();
  const long = add();
  vi.advanceTimersByTime(10_001);
  expect([long?.isExpectedLong, queue.load.running]).toEqual([true, 1]);
  long?.release();
  vi.advanceTimersByTime(10_001);
  expect(add()?.isExpectedLong).toBe(false);
});

it("a lease without its connection still counts against its caller", () => {
  const { add, leases } = leasesOf(new FairQueue({ capacity: 4, maxWaiting: 10, perCaller: 1 }));
  const first = add();
  add();
  first?.releaseConnection();
  expect(leases).toHaveLength(1);
  first?.release();
  expect(leases).toHaveLength(2);
});

it("a caller whose responses take its share of the memory gets no connection, others do", () => {
  const memory = new SharedResource(100);
  const queue = new FairQueue({ capacity: 4, maxWaiting: 10, memory });
  memory.take(KEY_ONE, 60, tableName(QUERY.relation));
  const { add, leases } = leasesOf(queue);
  expect(add()).toBeUndefined();
  add({ caller: callerOf("key:other", "tier3") });
  memory.take(KEY_ONE, -60, tableName(QUERY.relation));
  queue.check();
  expect(leases.map(({ callerId }) => callerId)).toEqual(["key:other", "key:one"]);
});

it("costly queries of anonymous addresses leave a tier3 key its share of long ones", () => {
  const costly = { open: 10, ms: 2500, tables: 20 };
  const { key } = simulate({
    addresses: { callers: 8, tier: "tier0", ...costly },
    key: { callers: 1, tier: "tier3", open: 4, ms: 1000, tables: 4, from: 1000 },
  });
  // With one share for all tiers 6, without the limit of what lower tiers have taken 12.
  expect(key).toMatchObject({ served: 20, refused: 0, waited: 0 });
});

it("what lower tiers have taken beyond their share is not taken from higher ones", () => {
  const memory = new SharedResource(80);
  for (const id of ["ip:1", "ip:2"]) memory.take({ id, tier: "tier0" }, 60);
  const hasRoom = (["tier0", "tier1"] as const).map((tier) => memory.hasRoom({ id: "key:1", tier }));
  expect(hasRoom).toEqual([false, true]);
});
