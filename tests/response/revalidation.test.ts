import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { entityTag } from "../../runtime/response/buffered-result.js";
import { databaseUrl, ownSchema, query } from "../support/database.js";
import { byEngine, engine, ownerQuery, ownTables } from "../support/engines.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest, startManifest } from "../support/service.js";
import { sendRequest, post } from "../support/http-client.js";

const key = KEYS.tier3;

/** A schema whose one table the test may change, and a manifest with an endpoint for it that dbt builds as a table. */
async function changing() {
  const schema = await ownTables({
    postgres: "CREATE TABLE @.numbers AS SELECT 1 AS id",
    clickhouse: ["CREATE TABLE @.numbers ORDER BY tuple() AS SELECT toInt32(1) AS id"],
  });
  const api = {
    allow_unfiltered: true,
    methods: ["GET", "POST"],
    parameters: [{ name: "id", column: "id", operator: "=", type: "string" }],
  };
  const manifest = manifestOf([
    {
      name: "numbers",
      schema,
      tags: ["production", "changing", "api:numbers"],
      columns: byEngine({
        postgres: { id: "integer", added: "integer" },
        clickhouse: { id: "Int32", added: "Int32" },
      }),
      api,
      materialized: "table",
    },
  ]);
  const table = `"${schema}".numbers`;
  const change = byEngine({
    postgres: `UPDATE ${table} SET id = id + 1`,
    clickhouse: `ALTER TABLE ${table} UPDATE id = id + 1 WHERE true SETTINGS mutations_sync = 2`,
  });
  return { schema, manifest, change: () => ownerQuery(change) };
}

const renameAway = (schema: string): Promise<unknown> =>
  ownerQuery(
    byEngine({
      postgres: `ALTER TABLE "${schema}".numbers RENAME TO gone`,
      clickhouse: `RENAME TABLE "${schema}".numbers TO "${schema}".gone`,
    }),
  );

const PATH = "/v1/changing/numbers";

/** Serves such a table, of which a build may have been reported. */
async function start(built?: string, variables: Readonly<Record<string, string>> = {}) {
  const { manifest, ...own } = await changing();
  const { url, recordBuilds } = await startManifest(manifest, variables);
  const build = (iso: string) => recordBuilds([{ node: "model.test.numbers", completedAt: Date.parse(iso) }]);
  if (built !== undefined) build(built);
  const ask = (headers: Readonly<Record<string, string>> = {}, search = "") =>
    sendRequest(url, `${PATH}${search}`, { key, headers });
  const tag = async () => (await ask()).headers["etag"] ?? "";
  return { ...own, url, build, ask, tag, rows: async () => (await ask()).text };
}

describe("an answer's ETag", () => {
  it("brings 304 without a body until the rows change", async () => {
    const { ask, tag: tagNow, change } = await start();
    const tag = await tagNow();
    expect(tag).toMatch(/^W\/"[\w-]{27}"$/);
    const again = await ask({ "if-none-match": tag });
    expect([again.status, again.text, again.headers["etag"]]).toEqual([304, "", tag]);
    expect(again.headers).toMatchObject({
      "cache-control": "private, no-cache",
      vary: "Accept, Accept-Encoding",
    });
    expect(again.headers["x-ratelimit-remaining"]).toBe("9998");
    expect(again.headers["content-type"]).toBeUndefined();
    await change();
    const changed = await ask({ "if-none-match": tag });
    expect([changed.status, changed.text]).toEqual([200, '[{"id":2}]']);
    expect(changed.headers["etag"]).not.toBe(tag);
  });

  it("is matched as RFC 9110 says, on GET and HEAD, and is on POST too", async () => {
    const { url, ask, tag: tagNow } = await start();
    const tag = await tagNow();
    for (const [header, status] of [
      [`"a", ${tag}, W/"b"`, 304],
      [tag.slice(2), 304],
      ["*", 304],
      ['W/"other"', 200],
      ["nonsense", 200],
    ] as const)
      expect([header, (await ask({ "if-none-match": header })).status]).toEqual([header, status]);
    const headers = { "if-none-match": tag };
    expect((await sendRequest(url, PATH, { key, method: "HEAD", headers })).status).toBe(304);
    const posted = await post(url, PATH, {}, { key, headers });
    expect([posted.status, posted.headers["etag"]]).toEqual([200, tag]);
  });

  it.each(["0", "60"])(
    "changes when dbt has replaced the table and has not reported the build, CACHE_TTL_SECONDS=%s",
    async (CACHE_TTL_SECONDS) => {
      const { schema, ask, tag, rows } = await start("2026-01-01T00:00:00Z", { CACHE_TTL_SECONDS });
      const headers = { "if-none-match": await tag() };
      expect((await ask(headers)).status).toBe(304);
      await renameAway(schema);
      await ownerQuery(
        byEngine({
          postgres: `CREATE TABLE "${schema}".numbers AS SELECT 7 AS id`,
          clickhouse: `CREATE TABLE "${schema}".numbers ORDER BY tuple() AS SELECT toInt32(7) AS id`,
        }),
      );
      await expect.poll(async () => (await ask(headers)).text, { timeout: 10_000 }).toBe('[{"id":7}]');
      expect(await rows()).toBe('[{"id":7}]');
    },
  );

  it("differs from question to question and from format to format", async () => {
    const { ask } = await start("2026-01-01T00:00:00Z");
    const tags = await Promise.all([ask(), ask({}, "?id=1"), ask({}, "?id=2"), ask({ accept: "text/csv" })]);
    expect(new Set(tags.map(({ headers }) => headers["etag"])).size).toBe(4);
  });

  it("of a long body differs with each of its bytes and with its length", () => {
    const body = Buffer.alloc(20_000, "a");
    const changed = Array.from({ length: 2000 }, (_, i) => {
      const other = Buffer.from(body);
      other[i * 10] = 0x62;
      return entityTag(other);
    });
    const shorter = Array.from({ length: 2000 }, (_, i) => entityTag(body.subarray(0, 20_000 - i)));
    expect(new Set([...changed, ...shorter]).size).toBe(4000);
  });

  it("is not on refusals, which come first", async () => {
    const { url, ask } = await start("2026-03-01T00:00:00Z");
    const headers = { "if-none-match": "*" };
    const refused = await ask(headers, "?x=1");
    expect([refused.status, refused.headers["etag"]]).toEqual([400, undefined]);
    expect((await sendRequest(url, PATH, { key: "sk_live_nobody", headers })).status).toBe(403);
  });
});

describe("an endpoint whose builds are known", () => {
  it("has the build time in a header once it is known", async () => {
    const { ask, build } = await start();
    expect((await ask()).headers["x-data-as-of"]).toBeUndefined();
    build("2026-03-01T04:05:06.789Z");
    expect((await ask()).headers["x-data-as-of"]).toBe("2026-03-01T04:05:06.789Z");
  });

  it("is the same in every process, and answers 304 without a query", async () => {
    const { manifest, schema } = await changing();
    const [service, other] = [await startManifest(manifest), await startManifest(manifest)];
    for (const { recordBuilds } of [service, other])
      recordBuilds([{ node: "model.test.numbers", completedAt: Date.parse("2026-03-01T00:00:00Z") }]);
    const { etag = "" } = (await sendRequest(other.url, PATH, { key })).headers;
    expect((await sendRequest(service.url, PATH, { key })).headers["etag"]).toBe(etag);
    await renameAway(schema);
    const { status, headers } = await sendRequest(service.url, PATH, {
      key,
      headers: { "if-none-match": etag },
    });
    expect([status, headers["x-data-as-of"]]).toEqual([304, "2026-03-01T00:00:00.000Z"]);
    expect((await sendRequest(service.url, PATH, { key })).status).toBe(500);
  });

  it("changes with the columns that a build adds, and no response mixes two versions", async () => {
    const { schema, ask, tag, build } = await start("2026-03-01T00:00:00Z");
    const before = await tag();
    await ownerQuery(`ALTER TABLE "${schema}".numbers ADD COLUMN added Int DEFAULT 7`);
    build("2026-03-02T00:00:00Z");
    const after = await ask({ "if-none-match": before });
    expect(after.status).toBe(200);
    expect(after.headers["etag"]).not.toBe(before);
    expect(after.text).toContain('"added":7');
  });

  it("has a new version with each build, and never an older one", async () => {
    const { tag, build } = await start("2026-03-01T00:00:00Z");
    const first = await tag();
    build("2026-03-02T00:00:00Z");
    const second = await tag();
    build("2026-03-01T00:00:00Z");
    expect(second).not.toBe(first);
    expect(await tag()).toBe(second);
  });
});

describe("the answer cache", () => {
  // ClickHouse's storage shows changes within a table too (tests/clickhouse/storage.test.ts).
  const isSeen = engine === "clickhouse";

  it("is off by default", async () => {
    const { rows, change } = await start();
    expect(await rows()).toBe('[{"id":1}]');
    await change();
    expect(await rows()).toBe('[{"id":2}]');
  });

  it.skipIf(isSeen)("keeps an answer for its time", async () => {
    const { rows, tag, change } = await start(undefined, { CACHE_TTL_SECONDS: "1" });
    const first = await tag();
    await change();
    expect(await rows()).toBe('[{"id":1}]');
    expect(await tag()).toBe(first);
    await sleep(1100);
    expect(await rows()).toBe('[{"id":2}]');
  });

  it.skipIf(isSeen)("keeps an answer until the next build where builds are known", async () => {
    const { rows, build, change } = await start("2026-03-01T00:00:00Z", { CACHE_TTL_SECONDS: "1" });
    expect(await rows()).toBe('[{"id":1}]');
    await change();
    await sleep(1200);
    expect(await rows()).toBe('[{"id":1}]');
    build("2026-03-02T00:00:00Z");
    expect(await rows()).toBe('[{"id":2}]');
  });

  it("distinguishes queries and formats", async () => {
    const { ask } = await start(undefined, { CACHE_TTL_SECONDS: "60" });
    for (let round = 0; round < 2; round++) {
      expect((await ask({}, "?id=1")).text).toBe('[{"id":1}]');
      expect((await ask({}, "?id=2")).text).toBe("[]");
      expect((await ask({ accept: "text/csv" })).text).toBe("id\r\n1\r\n");
    }
  });
});

describe.skipIf(engine === "clickhouse")("the same question by many at once, which is seen by locks", () => {
  it("is sent to the database once", async () => {
    const schema = await ownSchema("CREATE TABLE @.locked AS SELECT 1 AS id");
    const url = await serveManifest(
      manifestOf([{ name: "locked", schema, tags: ["production", "changing", "api:locked"] }]),
    );
    await sendRequest(url, "/v1/changing/locked", { key });
    const waiting = async () => {
      const [row] = await query(
        "SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%'",
        [schema],
      );
      return Number(row?.["n"]);
    };
    const holder = new pg.Client({ connectionString: databaseUrl });
    await holder.connect();
    await holder.query(`BEGIN; LOCK TABLE "${schema}".locked`);
    const asked = Array.from({ length: 50 }, () => sendRequest(url, "/v1/changing/locked", { key }));
    // It waits for 50 ms at a time.
    let seen = 0;
    await expect.poll(async () => (seen = await waiting()), { interval: 20 }).toBeGreaterThan(0);
    expect(seen).toBe(1);
    await holder.end();
    const answers = await Promise.all(asked);
    expect(new Set(answers.map(({ status, text }) => `${String(status)} ${text}`))).toEqual(
      new Set(['200 [{"id":1}]']),
    );
    expect(new Set(answers.map(({ headers }) => headers["x-ratelimit-remaining"])).size).toBe(50);
  });

  it("continues for the others when the first caller disconnects", async () => {
    const schema = await ownSchema(`CREATE VIEW @.slow AS SELECT 1 AS id FROM pg_sleep(1)`);
    const url = await serveManifest(
      manifestOf([{ name: "slow", schema, tags: ["production", "changing", "api:slow"] }]),
    );
    const gone = new AbortController();
    const first = fetch(`${url}/v1/changing/slow`, { headers: { "X-API-Key": key }, signal: gone.signal });
    first.catch(() => undefined);
    await sleep(200);
    const second = sendRequest(url, "/v1/changing/slow", { key });
    await sleep(200);
    gone.abort();
    expect((await second).text).toBe('[{"id":1}]');
  });
});
