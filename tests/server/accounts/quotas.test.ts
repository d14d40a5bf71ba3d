import { setTimeout } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import type { OwnFigures } from "../../../runtime/core/model/organization-plan.js";
import { ownSchema, query } from "../../support/database.js";
import { letPass, setClockBack } from "../../support/clock.js";
import { manifestOf } from "../../support/manifest.js";
import { PLANS, serveOnPlan, UPGRADE } from "./quota-servers.js";

const SOON = { timeout: 90_000, interval: 20 };
const schema = await ownSchema(`
  CREATE TABLE @.sales AS SELECT generate_series(1, 10) AS id;
  CREATE TABLE @.large AS SELECT generate_series(1, 300) AS id;
  CREATE VIEW @.long AS SELECT i AS id, repeat('ü', 15000) AS text FROM generate_series(1, 100) i;
  CREATE TABLE @.size AS SELECT 0 AS n;
  CREATE VIEW @.sized AS SELECT i AS id, repeat('x', CASE i WHEN 100 THEN n ELSE 40000 END) AS text FROM generate_series(1, 100) i, @.size;
  CREATE VIEW @.failing AS SELECT i AS id, repeat('x', 30000) AS text, 1 / (150 - i) AS part FROM generate_series(1, 200) i;
  CREATE TABLE @.noted AS SELECT 1 AS id, null::text AS note;
  CREATE VIEW @.late AS SELECT 1 AS id, null::text AS note FROM pg_sleep(0.3);
  CREATE VIEW @.wide AS SELECT 1 AS id, repeat('x', 3000000) AS note FROM pg_sleep(0.3);
  CREATE VIEW @.slow AS SELECT 1 AS id FROM pg_sleep(2)`);
const COLUMNS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  sales: { id: "int" },
  large: { id: "int" },
  slow: { id: "int" },
  long: { id: "int", text: "text" },
  sized: { id: "int", text: "text" },
  failing: { id: "int", text: "text", part: "int" },
  noted: { id: "int", note: "text" },
  late: { id: "int", note: "text" },
  wide: { id: "int", note: "text" },
};
const MANIFEST = manifestOf(
  Object.entries(COLUMNS).map(([name, columns]) => ({
    ...{ name, schema, columns, key: "id" },
    tags: ["production", "shop", `api:${name}`, "tier1"],
    api: {
      allow_unfiltered: true,
      pagination: { enabled: true, default_limit: 1000, max_limit: 1000 },
      ...("note" in columns && { sort: [{ column: "id", direction: "ASC" }] }),
    },
    ...("note" in columns && { routewright: { cursor: true, filters: ["id"] } }),
  })),
);
const NO_FIGURES: OwnFigures = {
  requestsPerMinute: null,
  requests: null,
  rows: null,
  bytes: null,
  keys: null,
  members: null,
};

const serve = (plan: string, servers = 1, variables: Readonly<Record<string, string>> = {}) =>
  serveOnPlan(MANIFEST, plan, servers, variables);

describe("an organization with a quota of requests", () => {
  it("gets exactly so many, then 429 until the next month, with where to upgrade", async () => {
    const { ask, used } = await serve("small");
    for (let i = 0; i < 5; i++) expect([i, (await ask()).status]).toEqual([i, 200]);
    // While the last response is not counted yet, `Retry-After` is a second.
    await expect.poll(async () => (await used())[0], SOON).toBe(5);
    const before = new Date();
    const { status, headers, text } = await ask();
    expect(status).toBe(429);
    const end = Date.UTC(before.getUTCFullYear(), before.getUTCMonth() + 1);
    const wait = Number(headers["retry-after"]);
    expect(wait).toBeGreaterThan((end - Date.now()) / 1000 - 5);
    expect(wait).toBeLessThan((end - before.getTime()) / 1000 + 5);
    expect(JSON.parse(text)).toEqual({
      detail: `The quota of 5 requests a month is used up. Try again in ${String(headers["retry-after"])} seconds. Upgrade: ${UPGRADE}`,
    });
    expect(headers["ratelimit"]).toMatch(/^"minute";r=\d+;t=\d+, "month";r=0;t=\d+$/);
    expect(headers["ratelimit-policy"]).toMatch(/^"minute";q=500;w=60, "month";q=5;w=2(419|505|592|678)\d+$/);
    const problem = await ask("/v1/shop/sales", { accept: "application/problem+json" });
    expect(JSON.parse(problem.text)).toMatchObject({
      type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
      "violated-policies": ["month"],
    });
    expect((await used())[0]).toBe(5);
  });

  it("counts requests for rows by OData and parts of a batch, which are refused then", async () => {
    const { ask, used } = await serve("small");
    const paths = ["shop__sales", "shop__sales/$count", "shop__noted(1)/note"];
    const statuses: number[] = [];
    for (const path of paths) statuses.push((await ask(`/odata/${path}`)).status);
    // Null is no content.
    expect(statuses).toEqual([200, 200, 204]);
    const batch = await ask("/odata/$batch", {}, 0, {
      requests: ["a", "b", "c"].map((id) => ({
        id,
        method: "GET",
        url: `shop__sales?$top=${String(id.length)}`,
      })),
    });
    const { responses } = JSON.parse(batch.text) as { responses: readonly { readonly status: number }[] };
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect((await ask("/odata/shop__sales")).status).toBe(429);
    await expect.poll(async () => (await used())[0], SOON).toBe(5);
  });

  it("counts values and charts, which are refused then", async () => {
    const { ask, used } = await serve("small");
    const values = "/v1/system/values?path=/v1/shop/sales";
    const chart = "/v1/system/chart?path=/v1/shop/sales&x=id&y=id";
    const statuses: number[] = [];
    for (const path of [`${values}&column=id`, `${values}&columns=id`, chart, chart, chart, chart])
      statuses.push((await ask(path)).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
    expect((await ask(`${values}&column=id`)).status).toBe(429);
    await expect.poll(async () => (await used())[0], SOON).toBe(5);
    expect((await used())[1]).toBe(50);
  });

  it("gets what is free again, though the clock of the machine is set back", async () => {
    const { ask, used, query } = await serve("small");
    for (let i = 0; i < 5; i++) expect((await ask()).status).toBe(200);
    await expect.poll(async () => (await used())[0], SOON).toBe(5);
    expect((await ask()).status).toBe(429);
    setClockBack(3_600_000);
    await query("UPDATE routewright_keys.month_use SET requests = 0");
    await expect.poll(async () => (await ask()).status, SOON).toBe(200);
  });

  it("has a server that is not taken for dead, though its clock is set back", async () => {
    const { ask, query } = await serve("small");
    expect((await ask()).status).toBe(200);
    const isQuiet = "SELECT FROM routewright_keys.processes WHERE seen_at < now() - interval '3 seconds'";
    await expect.poll(() => query(isQuiet), SOON).toHaveLength(1);
    await query("UPDATE routewright_keys.processes SET seen_at = '2020-01-01'");
    setClockBack(3_600_000);
    letPass(5000);
    await expect
      .poll(() => query("SELECT FROM routewright_keys.processes WHERE seen_at > '2021-01-01'"), SOON)
      .toHaveLength(1);
  });

  it("counts no part of a batch that fails while it is read, which is an error of its own", async () => {
    const { ask, used } = await serve("small");
    const batch = async (set: string): Promise<readonly number[]> => {
      const requests = [{ id: "a", method: "GET", url: `shop__${set}?$top=1000` }];
      const { status, text } = await ask("/odata/$batch", {}, 0, { requests });
      expect(status).toBe(200);
      return (JSON.parse(text) as { responses: { status: number }[] }).responses.map((each) => each.status);
    };
    for (let i = 0; i < 6; i++) expect(await batch("failing")).toEqual([500]);
    expect(await batch("long")).toEqual([200]);
    await expect.poll(async () => (await used()).slice(0, 2), SOON).toEqual([1, 100]);
    expect((await used())[2]).toBeGreaterThan(100 * 30_000);
    for (let i = 0; i < 4; i++) expect((await ask()).status).toBe(200);
    expect((await ask()).status).toBe(429);
  });

  it.each([
    ["of bytes, not of characters", "long", 3],
    ["by the end of its last chunk", "sized", 2],
  ])("counts no part of a batch that is too long %s", async (_, set, n) => {
    const { ask, used } = await serve("large");
    if (set === "sized") {
      // Two are some bytes longer than 8 MiB.
      const { text } = await ask("/odata/shop__sized");
      const size = 4 * 1024 * 1024 + 500 - Buffer.byteLength(text);
      await query(`UPDATE "${schema}".size SET n = ${String(size)}`);
    }
    const before = set === "sized" ? 1 : 0;
    const requests = Array.from({ length: n }, (_, i) => ({
      ...{ id: String(i), method: "GET", url: `shop__${set}` },
    }));
    const { text } = await ask("/odata/$batch", {}, 0, { requests });
    const { responses } = JSON.parse(text) as { responses: readonly { readonly status: number }[] };
    const expected = Array.from({ length: n }, (_, i) => (i < n - 1 ? 200 : 501));
    expect(responses.map(({ status }) => status)).toEqual(expected);
    const counted = n - 1 + before;
    await ask();
    await expect
      .poll(async () => (await used()).slice(0, 2), SOON)
      .toEqual([counted + 1, counted * 100 + 10]);
  });

  it("counts the time of each query that a request by OData ran itself", async () => {
    const { ask, used, query } = await serve("large", 1, { CACHE_TTL_SECONDS: "60" });
    const taken: number[] = [];
    // Null, from the database and from the cache; a number; no rows; a row that is a stream.
    const paths = ["late(1)/note", "late(1)/note", "late/$count", "wide?$top=0", "wide(1)"];
    for (const [i, path] of paths.entries()) {
      expect((await ask(`/odata/shop__${path}`)).status).toBe(i < 2 ? 204 : 200);
      await expect.poll(async () => (await used())[0], SOON).toBe(i + 1);
      const [row] = await query("SELECT sum(database_ms) AS ms FROM routewright_keys.metered");
      taken.push(Number(row?.["ms"]));
    }
    const ran = taken.map((ms, i) => ms - (taken[i - 1] ?? 0) >= 250);
    expect(ran, String(taken)).toEqual([true, false, true, true, true]);
  });

  it("does not count errors and refusals, nor 304", async () => {
    const { ask, used } = await serve("small");
    const { headers } = await ask();
    for (let i = 0; i < 6; i++) {
      expect((await ask("/v1/shop/sales?none=1")).status).toBe(400);
      expect((await ask("/v1/none")).status).toBe(404);
      expect((await ask("/v1/shop/sales", { "if-none-match": headers["etag"] ?? "" })).status).toBe(304);
    }
    for (let i = 0; i < 4; i++) expect((await ask()).status).toBe(200);
    expect((await ask()).status).toBe(429);
    await expect.poll(async () => (await used())[0], SOON).toBe(5);
  });

  it("gets as many of two servers together, however many it sends at once", async () => {
    const { ask, used, store, served } = await serve("small", 2);
    await store.organizations.setFigures("acme", {
      ...NO_FIGURES,
      requests: 60,
      requestsPerMinute: 100_000,
    });
    await expect.poll(async () => (await ask()).headers["ratelimit-policy"], SOON).toContain("q=60");
    await expect
      .poll(async () => (await ask("/v1/shop/sales", {}, 1)).headers["ratelimit-policy"], SOON)
      .toContain("q=60");
    const round = async (): Promise<number | undefined> => {
      const asked = Array.from({ length: 20 }, (_, i) => ask(undefined, {}, i % 2));
      await Promise.all(asked);
      return (await used())[0];
    };
    // What one server holds and does not need comes back within seconds.
    await expect.poll(round, SOON).toBe(60);
    expect(await round()).toBe(60);
    expect(served()).toBe(60);
  });

  it("gets exactly so many of five times as many at once, of two servers, also after they start again", async () => {
    const { ask, used, store, served, restart } = await serve("small", 2);
    const figures = { ...NO_FIGURES, requests: 40, requestsPerMinute: 100_000 };
    await store.organizations.setFigures("acme", figures);
    for (const server of [0, 1])
      await expect
        .poll(async () => (await ask("/v1/shop/sales", {}, server)).headers["ratelimit-policy"], SOON)
        .toContain("q=40");
    const crowd = async (): Promise<ReadonlySet<number>> =>
      new Set(
        (await Promise.all(Array.from({ length: 200 }, (_, i) => ask(undefined, {}, i % 2)))).map(
          ({ status }) => status,
        ),
      );
    expect([200, 429]).toEqual(expect.arrayContaining([...(await crowd())]));
    await restart();
    await crowd();
    await expect.poll(async () => (await crowd()).size === 1 && served(), SOON).toBe(40);
    await restart();
    expect(await crowd()).toEqual(new Set([429]));
    expect([served(), (await used())[0]]).toEqual([40, 40]);
  });

  it("keeps what it used when its plan changes, which counts at once", async () => {
    const { ask, used, store, query } = await serve("small");
    while ((await ask()).status === 200);
    const events = () =>
      query("SELECT unit, percent, quota::int, used::int FROM routewright_keys.quota_events ORDER BY id");
    await expect.poll(events, SOON).toHaveLength(2);
    await store.organizations.setPlan("acme", "large");
    await expect.poll(async () => (await ask()).status, SOON).toBe(200);
    expect((await ask()).headers["ratelimit"]).toMatch(/"month";r=9999\d;/);
    await store.organizations.setPlan("acme", "small");
    await expect.poll(async () => (await ask()).status, SOON).toBe(429);
    await expect.poll(async () => (await used())[0], SOON).toBeGreaterThanOrEqual(7);
    // What is reported at once counts at once: four of them, or all.
    expect(await events()).toEqual([
      { unit: "requests", percent: 80, quota: 5, used: expect.toBeOneOf([4, 5]) as unknown },
      { unit: "requests", percent: 100, quota: 5, used: 5 },
    ]);
  });
});

describe("an organization with a quota of", () => {
  it("rows gets the whole response that crosses it", async () => {
    const { ask, used } = await serve("rows");
    const statuses = [await ask(), await ask(), await ask(), await ask()].map(({ status }) => status);
    expect(statuses).toEqual([200, 200, 200, 429]);
    await expect.poll(used, SOON).toEqual([3, 30, expect.any(Number)]);
  });

  it.each(["rows", "bytes"] as const)(
    "%s is crossed by one response of each server at most, however many it sends at once that are no larger than those before and a hundredth",
    async (unit) => {
      const { ask, used, served } = await serve(`more ${unit}`, 2);
      for (let i = 0; i < 3; i++) expect((await ask("/v1/shop/large")).status).toBe(200);
      const { headers, text } = await ask();
      expect((await ask("/v1/shop/sales?limit=1")).status).toBe(200);
      expect((await ask(undefined, { "if-none-match": headers["etag"] ?? "" })).status).toBe(304);
      const before = served();
      await Promise.all(Array.from({ length: 100 }, (_, i) => ask(undefined, {}, i % 2)));
      expect(served()).toBeGreaterThan(before);
      // With the 304.
      await expect.poll(async () => (await used())[0], SOON).toBe(served() + 1);
      const [, rows = 0, bytes = 0] = await used();
      const [sum, size] = unit === "rows" ? [rows, 10] : [bytes, text.length];
      expect(sum).toBeLessThan((PLANS[`more ${unit}`]?.quota?.[unit] ?? 0) + 2 * size);
    },
  );

  it("rows is open to many slow requests at once after a large response", async () => {
    const { ask } = await serve("more rows");
    expect((await ask("/v1/shop/large")).status).toBe(200);
    const slow = Array.from({ length: 30 }, () => ask("/v1/shop/slow"));
    expect(new Set((await Promise.all(slow)).map(({ status }) => status))).toEqual(new Set([200]));
  });

  it("rows gets answers though a report that is due waits for a slow one, and the clock does not say so", async () => {
    const { ask, query } = await serve("more rows");
    await query(`CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_sleep(0.05); RETURN NEW; END'`);
    await query(`CREATE TRIGGER slow BEFORE INSERT OR UPDATE ON routewright_keys.processes
      FOR EACH ROW EXECUTE FUNCTION slow()`);
    for (let round = 0; round < 3; round++) {
      const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now());
      const asked = [0, 20, 40].map(async (ms) => {
        await setTimeout(ms);
        return (await ask("/v1/shop/sales?limit=1")).status;
      });
      await setTimeout(200);
      clock.mockRestore();
      expect(await Promise.all(asked)).toEqual([200, 200, 200]);
    }
  });

  it("bytes sees it in RateLimit", async () => {
    const { ask, used, served } = await serve("bytes");
    const { headers, text } = await ask();
    expect(headers["ratelimit-policy"]).toMatch(/, "month";q=1000;w=\d+;qu="content-bytes"$/);
    while ((await ask()).status === 200);
    await expect.poll(async () => (await used())[0], SOON).toBe(served());
    const [requests = 0, , bytes = 0] = await used();
    expect(bytes).toBeGreaterThanOrEqual(1000);
    expect(bytes).toBeLessThan(1000 + text.length);
    expect(bytes).toBe(requests * text.length);
  });
});

it("a server that stops gives its share back, and has counted everything by key, endpoint and hour", async () => {
  const { ask, services, query, store } = await serve("large");
  await store.organizations.setFigures("acme", { ...NO_FIGURES, requestsPerMinute: 100_000 });
  for (let i = 0; i < 30; i++) expect((await ask()).status).toBe(200);
  await Promise.all(services.map((service) => service.stop()));
  expect(await query("SELECT FROM routewright_keys.shares")).toEqual([]);
  expect(
    // Of the hour, or of two where one ends meanwhile.
    await query(`SELECT endpoint, sum(requests)::int AS requests, sum("rows")::int AS "rows", length(key),
      count(*) = count(DISTINCT hour) AS "byHour" FROM routewright_keys.metered GROUP BY endpoint, key`),
  ).toEqual([{ endpoint: "/v1/shop/sales", requests: 30, rows: 300, length: 12, byHour: true }]);
});
