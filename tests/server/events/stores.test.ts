import { describe, expect, it } from "vitest";
import type { EventStore, Sighting } from "../../../runtime/server/events/event.js";
import { EventTables } from "../../../runtime/server/events/event-tables.js";
import { MemoryEvents } from "../../../runtime/server/events/memory-events.js";
import { atEnd } from "../../support/at-end.js";
import { ownDatabase } from "../../support/database.js";

const PATH = "/v1/shop/orders";

const day = (n: number): string => `2026-11-${String(n).padStart(2, "0")}T06:00:00.000Z`;
const rebuilt = (n: number, path = PATH): Sighting => ({
  type: "data.rebuilt",
  path,
  asOf: day(n),
  data: { path, as_of: day(n) },
});
const late = (asOf: number, due: number): Sighting => ({
  type: "data.late",
  path: PATH,
  asOf: day(asOf),
  due: day(due),
  data: { path: PATH, due: day(due) },
});
const contract = (columns: string, before: string | null): Sighting => ({
  type: "contract.changed",
  path: PATH,
  contract: { columns, access: "a" },
  before: before === null ? null : { columns: before, access: "a" },
  data: { path: PATH },
});
const deprecated = (n: number): Sighting => ({
  type: "endpoint.deprecated",
  path: PATH,
  deprecationDate: day(n),
  data: { path: PATH },
});

async function tables(url: string): Promise<EventTables> {
  const store = await EventTables.open(url, true);
  if (store === null) throw new Error("no tables");
  atEnd(() => store.close());
  return store;
}

/** What two servers publish through it, as `type: what`. */
async function published(store: EventStore): Promise<readonly string[]> {
  const events = await store.after(0, 100);
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, i) => i + 1));
  expect(await store.last()).toBe(events.length);
  expect((await store.newest(100)).map(({ id }) => id).reverse()).toEqual(events.map(({ id }) => id));
  return events.map(
    ({ type, data }) => `${type} ${String(data["as_of"] ?? data["due"] ?? data["changed"] ?? "")}`,
  );
}

describe.each([
  ["in memory", () => Promise.resolve(new MemoryEvents())],
  ["in PostgreSQL", async () => tables(await ownDatabase())],
])("events %s", (_name, open: () => Promise<EventStore>) => {
  it("are of each build once, and of none that is older than one that was told", async () => {
    const store = await open();
    for (const n of [3, 3, 2, 4]) await store.publish([rebuilt(n), rebuilt(n, "/v1/shop/items")]);
    expect(await published(store)).toEqual([3, 3, 4, 4].map((n) => `data.rebuilt ${day(n)}`));
  });

  it("are of each delay once, and of none where newer rows were told", async () => {
    const store = await open();
    await store.publish([rebuilt(3)]);
    for (const sighting of [late(3, 4), late(3, 4), late(2, 3), late(3, 5)]) await store.publish([sighting]);
    expect(await published(store)).toEqual([
      `data.rebuilt ${day(3)}`,
      `data.late ${day(4)}`,
      `data.late ${day(5)}`,
    ]);
  });

  it("name what changed of a contract, and say nothing at the first sight", async () => {
    const store = await open();
    for (const sighting of [
      contract("a", null),
      contract("a", null),
      contract("b", "a"),
      contract("b", null),
    ])
      await store.publish([sighting]);
    expect(await published(store)).toEqual(["contract.changed columns"]);
  });

  it("are of each date of a deprecation once", async () => {
    const store = await open();
    for (const n of [10, 10, 11]) await store.publish([deprecated(n)]);
    expect(await published(store)).toHaveLength(2);
  });

  it("are of a date that comes back another one", async () => {
    const store = await open();
    for (const n of [10, 11, 10, 10]) {
      await store.publish([deprecated(n)]);
      // Ids have the time in milliseconds.
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const events = await store.after(0, 100);
    expect(new Set(events.map(({ id }) => id)).size).toBe(3);
  });
});

describe("events in PostgreSQL", () => {
  it("are told of a contract by the first of two servers that refresh, and by none that has an older release", async () => {
    const url = await ownDatabase();
    const [first, second] = [await tables(url), await tables(url)];
    await first.publish([contract("a", null)]);
    await first.publish([contract("b", "a")]);
    await second.publish([contract("b", "a")]);
    await second.publish([contract("c", "a")]);
    expect(await published(second)).toEqual(["contract.changed columns"]);
  });

  it("get numbers without gaps in the order of their commits, from many servers at once", async () => {
    const url = await ownDatabase();
    const stores = await Promise.all([tables(url), tables(url), tables(url)]);
    const paths = Array.from({ length: 20 }, (_, i) => `/v1/shop/p${String(i)}`);
    const each = stores.map(async (store, i) => {
      for (const n of [1, 2, 3, 4, 5]) await store.publish(paths.slice(i).map((path) => rebuilt(n, path)));
    });
    const seen: number[] = [];
    const reader = await tables(url);
    const writing = { isOver: false };
    const reading = (async () => {
      for (let at = 0; !writing.isOver || at < (await reader.last());) {
        const events = await reader.after(at, 7);
        seen.push(...events.map(({ sequence }) => sequence));
        at = events.at(-1)?.sequence ?? at;
      }
    })();
    await Promise.all(each);
    writing.isOver = true;
    await reading;
    expect(seen).toEqual(seen.map((_, i) => i + 1));
    expect(await published(reader)).toHaveLength(seen.length);
  });

  it("have those that a change of a key recorded", async () => {
    const store = await tables(await ownDatabase());
    await store.transaction((run) =>
      run(`SELECT routewright_events.record('key.created 1', 'key.created', 'acme', '{"key": "1"}')`),
    );
    expect(await store.last()).toBe(1);
    expect(await store.after(0, 10)).toMatchObject([
      { id: "key.created 1", path: null, organization: "acme" },
    ]);
  });

  it("are kept for seven days, and their numbers go on", async () => {
    const url = await ownDatabase();
    const store = await tables(url);
    await store.publish([rebuilt(1)]);
    await store.query("UPDATE routewright_events.events SET at = now() - interval '8 days'");
    const next = await tables(url);
    expect(await next.last()).toBe(1);
    expect(await next.after(0, 10)).toEqual([]);
    await next.publish([rebuilt(1), rebuilt(2, "/v1/shop/items")]);
    expect(await next.after(0, 10)).toMatchObject([{ sequence: 2, path: "/v1/shop/items" }]);
  });
});
