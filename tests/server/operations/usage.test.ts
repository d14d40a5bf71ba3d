import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { Usage, UsageCounter } from "../../../runtime/server/operations/usage.js";
import { ownDatabase, query, queryAt } from "../../support/database.js";
import { proxyOf } from "../../support/database-proxy.js";
import { ANN, callerOf, observation } from "../../support/observation.js";
import { recorded, requestsRecorded } from "./recorded.js";

interface Kept {
  readonly usage: Usage;
  /** Lines of the log. */
  readonly log: Record<string, unknown>[];
}

/** Closed by the test itself, or at its end. */
async function keep(url: string, intervalMs = 60_000): Promise<Kept> {
  const log: Record<string, unknown>[] = [];
  const write = (line: string): void => void log.push(JSON.parse(line) as Record<string, unknown>);
  const usage = await Usage.open({ databaseUrl: url, log: pino({ level: "debug" }, { write }), intervalMs });
  return { usage, log };
}

function count({ usage }: Kept, times: number): void {
  for (let i = 0; i < times; i++) usage.counter.count(observation({ caller: callerOf(ANN) }));
}

describe("usage", () => {
  it("is written on close, into a table that it creates", async () => {
    const url = await ownDatabase();
    const kept = await keep(url);
    count(kept, 3);
    kept.usage.counter.count(observation({ status: 429, rows: null, bytes: 7 }));
    await kept.usage.close();
    expect(await recorded(url)).toEqual([
      { key: ANN.id, route: "/v1/shop/legacy", requests: 3, refused: 0, errors: 0, rows: 3, bytes: 300 },
      { key: "none", route: "/v1/shop/legacy", requests: 1, refused: 1, errors: 0, rows: 0, bytes: 7 },
    ]);
    expect(kept.log).toEqual([]);
  });

  it("is written in the background, and added to existing rows", async () => {
    const url = await ownDatabase();
    const kept = await keep(url, 20);
    count(kept, 3);
    await expect.poll(() => requestsRecorded(url)).toBe(3);
    count(kept, 4);
    await expect.poll(() => requestsRecorded(url)).toBe(7);
    await kept.usage.close();
    expect(await recorded(url)).toMatchObject([{ key: ANN.id, requests: 7, rows: 7 }]);
  });

  it("drops characters that PostgreSQL cannot store", async () => {
    const url = await ownDatabase();
    const { usage } = await keep(url);
    usage.counter.count(observation({ caller: callerOf({ ...ANN, user: "a\0b\ud800", org: "ö😀" }) }));
    await usage.close();
    expect(await queryAt(url, "SELECT user_name, org FROM routewright.usage WHERE key <> ''")).toEqual([
      { user_name: "ab\ufffd", org: "ö😀" },
    ]);
  });

  it("counts parameters and chosen columns by name, and adds them to existing rows", async () => {
    const url = await ownDatabase();
    for (const parameters of [["symbol", "fields", "fields=day"], ["symbol"], [], ["a\0\ud800"]]) {
      const { usage } = await keep(url);
      usage.counter.count(observation({ caller: callerOf(ANN), parameters }));
      await usage.close();
    }
    expect(
      await queryAt(
        url,
        "SELECT key, route, parameter, requests::int FROM routewright.usage_parameters ORDER BY parameter",
      ),
    ).toEqual(
      [
        ["a\ufffd", 1],
        ["fields", 1],
        ["fields=day", 1],
        ["symbol", 2],
      ].map(([parameter, requests]) => ({ key: ANN.id, route: "/v1/shop/legacy", parameter, requests })),
    );
  });

  it("says of each day that it is recorded, also without a request", async () => {
    const url = await ownDatabase();
    const { usage } = await keep(url, 10);
    const days = () =>
      queryAt(url, "SELECT day::text, requests::int FROM routewright.usage WHERE key = '' AND route = ''");
    const today = new Date().toISOString().slice(0, 10);
    await expect.poll(() => days().catch(() => [])).toEqual([{ day: today, requests: 0 }]);
    await usage.close();
    expect(await days()).toEqual([{ day: today, requests: 0 }]);
  });

  it("of several replicas that start together adds up", async () => {
    const url = await ownDatabase();
    const replicas = await Promise.all(Array.from({ length: 4 }, () => keep(url, 5)));
    const routes = Array.from({ length: 1000 }, (_, i) => `/v1/${String(i)}`);
    for (let round = 0; round < 5; round++) {
      for (const { usage } of replicas) {
        for (const route of routes) usage.counter.count(observation({ caller: callerOf(ANN), route }));
        // The next one has them in another order.
        routes.reverse();
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await Promise.all(replicas.map(({ usage }) => usage.close()));
    expect(await requestsRecorded(url)).toBe(4 * 5 * 1000);
    // On a busy machine a write may be late and come again; none fails by the others.
    const failures = replicas.flatMap(({ log }) => log).filter(({ level }) => Number(level) > 30);
    expect(failures.filter(({ err }) => !/timeout/i.test((err as Error).message))).toEqual([]);
  });

  it("of many rows is complete", async () => {
    const url = await ownDatabase();
    const kept = await keep(url);
    for (let i = 0; i < 20_000; i++) kept.usage.counter.count(observation({ route: `/v1/${String(i)}` }));
    await kept.usage.close();
    expect(await recorded(url)).toHaveLength(20_000);
  });
});

describe("an unreachable database", () => {
  it("loses no count, delays no request, and is logged once", async () => {
    const url = await ownDatabase();
    const proxy = await brokenProxy(url);
    const kept = await keep(proxy.url, 10);
    count(kept, 5);
    await expect.poll(() => proxy.attempts()).toBeGreaterThan(3);
    count(kept, 5);
    proxy.repair();
    await expect.poll(() => requestsRecorded(url)).toBe(10);
    await kept.usage.close();
    expect(kept.log.map(({ level, msg }) => [level, msg])).toEqual([
      [40, expect.stringContaining("usage is not written")],
      [30, "usage is recorded"],
    ]);
  });

  it("that commits and does not say so counts nothing twice", async () => {
    const url = await ownDatabase();
    let answers = 0;
    // Of the first transactions the answer to COMMIT is lost.
    const proxy = await proxyOf(url, (client, open) => {
      const database = open();
      let isCommitting = false;
      client.on("data", (bytes: Buffer) => {
        isCommitting = bytes.includes("COMMIT");
        database.write(bytes);
      });
      database.on("data", (bytes: Buffer) => {
        if (isCommitting && answers++ < 3) client.destroy();
        else client.write(bytes);
      });
      client.on("close", () => database.destroy());
    });
    const kept = await keep(proxy.url, 10);
    for (let i = 1; i <= 6; i++) {
      count(kept, 5);
      await expect.poll(() => requestsRecorded(url).catch(() => 0)).toBe(i * 5);
    }
    await kept.usage.close();
    expect(answers).toBeGreaterThan(3);
    expect(await requestsRecorded(url)).toBe(30);
  });

  it("on close loses the counts, and the log has their number", async () => {
    const proxy = await brokenProxy(await ownDatabase());
    const kept = await keep(proxy.url);
    count(kept, 12);
    await kept.usage.close();
    expect(kept.log).toMatchObject([
      { msg: expect.stringContaining("usage is not written") },
      { msg: "usage of these requests was not written", requests: 12 },
    ]);
  });

  it("keeps the counts of 20,000 routes, and the log has the number of all that are lost", async () => {
    const url = await ownDatabase();
    const proxy = await brokenProxy(url);
    const kept = await keep(proxy.url, 10);
    for (let i = 0; i < 20_100; i++)
      kept.usage.counter.count(observation({ route: `/v1/shop/${String(i)}` }));
    await expect.poll(() => kept.log.length).toBe(1);
    proxy.repair();
    await kept.usage.close();
    expect(await requestsRecorded(url)).toBe(20_000);
    expect(
      await queryAt(url, "SELECT requests::int AS lost FROM routewright.usage WHERE key = '' AND route = ''"),
    ).toEqual([{ lost: 100 }]);
    expect(kept.log.at(-1)).toMatchObject({ msg: "usage of these requests was not written", requests: 100 });
  });
});

describe("a role that may not write", () => {
  async function ownRole(url: string): Promise<string> {
    const role = `usage_"${Math.random().toString(36).slice(2)}`;
    const quoted = `"${role.replaceAll('"', '""')}"`;
    await query(`CREATE ROLE ${quoted} LOGIN PASSWORD 'hush-Password'`);
    atEnd(async () => {
      await queryAt(url, `DROP OWNED BY ${quoted}`);
      await query(`DROP ROLE ${quoted}`);
    });
    const address = new URL(url);
    address.username = encodeURIComponent(role);
    address.password = "hush-Password";
    return address.href;
  }

  it("is logged once, with a sufficient grant", async () => {
    const url = await ownDatabase();
    const address = await ownRole(url);
    const kept = await keep(address, 10);
    count(kept, 3);
    await expect.poll(() => kept.log.length).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(kept.log).toHaveLength(1);
    const [{ msg, grant } = {}] = kept.log;
    expect(msg).toContain("USAGE_ENABLED=false");
    expect(JSON.stringify(kept.log)).not.toContain("hush-Password");
    await queryAt(url, grant as string);
    await expect.poll(() => requestsRecorded(url)).toBe(3);
    await kept.usage.close();
    expect(kept.log.at(-1)).toMatchObject({ msg: "usage is recorded" });
  });
});

const NOON = Date.UTC(2026, 0, 31, 12);

it("the counter counts requests, refusals and errors by key and route", () => {
  const counter = new UsageCounter();
  for (const status of [200, 200, 304, 401, 403, 429, 404, 400, 500, 503])
    counter.count(observation({ caller: callerOf(ANN), status, rows: 3, bytes: 10 }), NOON);
  counter.count(observation({ rows: null, bytes: 0 }), NOON);
  counter.count(observation({ route: null, status: 404 }), NOON + 5);
  expect(counter.take()).toEqual([
    {
      day: "2026-01-31",
      key: ANN.id,
      route: "/v1/shop/legacy",
      user: "ann",
      org: "Acme",
      tier: "tier1",
      requests: 10,
      refused: 3,
      errors: 4,
      rows: 30,
      bytes: 100,
      lastSeen: NOON,
      parameters: new Map(),
    },
    expect.objectContaining({ key: "none", route: "/v1/shop/legacy", user: "", requests: 1, rows: 0 }),
    expect.objectContaining({ key: "none", route: "none", errors: 1, lastSeen: NOON + 5 }),
  ]);
  expect(counter.take()).toEqual([]);
});

it("the counter counts the first 200 names of a row one by one, and the others together", () => {
  const counter = new UsageCounter();
  const names = Array.from({ length: 300 }, (_, i) => `fields=c${String(i)}`);
  for (const parameters of [names, names.toReversed(), ["fields=c299"]])
    counter.count(observation({ parameters }), NOON);
  const [{ parameters } = { parameters: new Map<string, number>() }] = counter.take();
  expect(parameters.size).toBe(201);
  expect([...parameters.values()].reduce((sum, requests) => sum + requests, 0)).toBe(601);
});

it("the counter counts requests to a former path there", () => {
  const counter = new UsageCounter();
  counter.count(observation({ path: "/v1/shop/former" }), NOON);
  expect(counter.take()).toMatchObject([{ route: "/v1/shop/former" }]);
});

it("the counter starts a new row with each UTC day", () => {
  const counter = new UsageCounter();
  const midnight = Date.UTC(2026, 1, 1);
  for (const now of [midnight - 1, midnight, midnight - 1]) counter.count(observation(), now);
  expect(counter.take().map(({ day, requests }) => [day, requests])).toEqual([
    ["2026-01-31", 2],
    ["2026-02-01", 1],
  ]);
});

/** Hangs up on everybody, until it is repaired. */
async function brokenProxy(url: string) {
  let attempts = 0;
  let isRepaired = false;
  const proxy = await proxyOf(url, (client, open) => {
    attempts++;
    if (isRepaired) client.pipe(open()).pipe(client);
    else client.destroy();
  });
  return { ...proxy, attempts: () => attempts, repair: () => (isRepaired = true) };
}
