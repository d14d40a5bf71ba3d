import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { entityTag } from "../../../runtime/core/response/entity-tag.js";
import { letPass } from "../../support/clock.js";
import { databaseUrl, ownSchema, query } from "../../support/database.js";
import { byEngine, engine, ownerQuery, ownTables } from "../../support/engines.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest, startManifest } from "../../support/service.js";
import { sendRequest, post } from "../../support/http-client.js";

const key = KEYS.tier3;

/** The promise that rows change only when dbt builds. */
const ON_BUILD = { changes: "on_build" };

/** A schema whose one table the test may change, and a manifest with an endpoint for it that dbt builds as a table. */
async function changing(routewright = {}) {
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
      routewright,
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

interface StartOptions {
  /** When its build ended that has been reported. */
  readonly built?: string;
  readonly routewright?: object;
  readonly variables?: Readonly<Record<string, string>>;
}

/** Serves such a table. */
async function start({ built, routewright, variables }: StartOptions = {}) {
  const { manifest, ...own } = await changing(routewright);
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

  it("changes when dbt has replaced the table and has not reported the build", async () => {
    const { schema, ask, tag } = await start({ built: "2026-01-01T00:00:00Z" });
    const headers = { "if-none-match": await tag() };
    expect((await ask(headers)).status).toBe(304);
    await renameAway(schema);
    await ownerQuery(
      byEngine({
        postgres: `CREATE TABLE "${schema}".numbers AS SELECT 7 AS id`,
        clickhouse: `CREATE TABLE "${schema}".numbers ORDER BY tuple() AS SELECT toInt32(7) AS id`,
      }),
    );
    expect((await ask(headers)).text).toBe('[{"id":7}]');
  });

  it("differs from question to question and from format to format, also where the build determines it", async () => {
    const { ask } = await start({ built: "2026-01-01T00:00:00Z", routewright: ON_BUILD });
    const tags = await Promise.all([ask(), ask({}, "?id=1"), ask({}, "?id=2"), ask({ accept: "text/csv" })]);
    expect(new Set(tags.map(({ headers }) => headers["etag"])).size).toBe(4);
  });

  it("of a long body differs with each of its bytes and with its length", () => {
    const body = Buffer.alloc(20_000, "a");
    const changed = Array.from({ length: 2000 }, (_, i) => {
      const other = Buffer.from(body);
      other[i * 10] = 0x62;
      return entityTag([other]);
    });
    const shorter = Array.from({ length: 2000 }, (_, i) => entityTag([body.subarray(0, 20_000 - i)]));
    expect(new Set([...changed, ...shorter]).size).toBe(4000);
  });

  it("is not on refusals, which come first", async () => {
    const { url, ask } = await start({ built: "2026-03-01T00:00:00Z", routewright: ON_BUILD });
    const headers = { "if-none-match": "*" };
    for (const search of ["?x=1", "?id=many"]) {
      const refused = await ask(headers, search);
      expect([refused.status, refused.headers["etag"]]).toEqual([400, undefined]);
    }
    expect((await ask(headers)).status).toBe(304);
    expect((await sendRequest(url, PATH, { key: "sk_live_nobody", headers })).status).toBe(403);
  });
});

it("a result of another build is the same without the promise: its tag is the digest of the body", async () => {
  const { tag, build, ask } = await start({ built: "2026-03-01T00:00:00Z" });
  const first = await tag();
  build("2026-03-02T00:00:00Z");
  const again = await ask({ "if-none-match": first });
  expect([again.status, again.headers["x-data-as-of"]]).toEqual([304, "2026-03-02T00:00:00.000Z"]);
});

describe("an endpoint with `changes: on_build`", () => {
  it("has the digest as its tag while a build is unknown, and caches nothing", async () => {
    const { ask, tag, change, rows } = await start({ routewright: ON_BUILD });
    const first = await tag();
    expect(first).toBe(entityTag([Buffer.from('[{"id":1}]')]));
    await change();
    expect((await ask({ "if-none-match": first })).text).toBe('[{"id":2}]');
    expect(await rows()).toBe('[{"id":2}]');
  });

  it("has the digest as its tag after a build that failed: the relation may have the earlier rows or new ones", async () => {
    const { manifest } = await changing(ON_BUILD);
    const { url, recordBuilds } = await startManifest(manifest);
    const tagAt = async (completedAt: number, more = {}) => {
      recordBuilds([{ node: "model.test.numbers", completedAt, ...more }]);
      return (await sendRequest(url, PATH, { key })).headers["etag"];
    };
    const digest = entityTag([Buffer.from('[{"id":1}]')]);
    const tags = [await tagAt(1), await tagAt(2, { failed: true }), await tagAt(3)];
    expect(tags.map((tag) => tag === digest)).toEqual([false, true, false]);
  });

  it("has the build time in a header once it is known", async () => {
    const { ask, build } = await start({ routewright: ON_BUILD });
    expect((await ask()).headers["x-data-as-of"]).toBeUndefined();
    build("2026-03-01T04:05:06.789Z");
    expect((await ask()).headers["x-data-as-of"]).toBe("2026-03-01T04:05:06.789Z");
  });

  it("is the same in every process, and answers 304 without a query", async () => {
    const { manifest, schema } = await changing(ON_BUILD);
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
    expect((await sendRequest(service.url, `${PATH}?id=1`, { key })).status).toBe(500);
  });

  it("changes with the columns that a build adds, and no response mixes two versions", async () => {
    const { schema, ask, tag, build } = await start({ built: "2026-03-01T00:00:00Z", routewright: ON_BUILD });
    const before = await tag();
    await ownerQuery(`ALTER TABLE "${schema}".numbers ADD COLUMN added Int DEFAULT 7`);
    build("2026-03-02T00:00:00Z");
    const after = await ask({ "if-none-match": before });
    expect(after.status).toBe(200);
    expect(after.headers["etag"]).not.toBe(before);
    expect(after.text).toContain('"added":7');
  });

  it("has a new version with each build, and never an older one", async () => {
    const { tag, build } = await start({ built: "2026-03-01T00:00:00Z", routewright: ON_BUILD });
    const first = await tag();
    build("2026-03-02T00:00:00Z");
    const second = await tag();
    build("2026-03-01T00:00:00Z");
    expect(second).not.toBe(first);
    expect(await tag()).toBe(second);
  });
});

describe("the answer cache", () => {
  it("is off by default", async () => {
    const { rows, change } = await start();
    expect(await rows()).toBe('[{"id":1}]');
    await change();
    expect(await rows()).toBe('[{"id":2}]');
  });

  it("keeps an answer for its time, whatever dbt builds meanwhile", async () => {
    const variables = { CACHE_TTL_SECONDS: "600" };
    const { rows, tag, change, build } = await start({ built: "2026-03-01T00:00:00Z", variables });
    const first = await tag();
    await change();
    build("2026-03-02T00:00:00Z");
    expect([await rows(), await tag()]).toEqual(['[{"id":1}]', first]);
    letPass(601_000);
    expect(await rows()).toBe('[{"id":2}]');
  });

  it.each(["0", "1"])(
    "keeps an answer until the next build with `changes: on_build`, CACHE_TTL_SECONDS=%s",
    async (ttl) => {
      const variables = { CACHE_TTL_SECONDS: ttl };
      const options = { built: "2026-03-01T00:00:00Z", routewright: ON_BUILD, variables };
      const { rows, build, change } = await start(options);
      expect(await rows()).toBe('[{"id":1}]');
      await change();
      await sleep(1200);
      expect(await rows()).toBe('[{"id":1}]');
      build("2026-03-02T00:00:00Z");
      expect(await rows()).toBe('[{"id":2}]');
    },
  );

  it("distinguishes queries and formats", async () => {
    const { ask } = await start({ variables: { CACHE_TTL_SECONDS: "60" } });
    for (let round = 0; round < 2; round++) {
      expect((await ask({}, "?id=1")).text).toBe('[{"id":1}]');
      expect((await ask({}, "?id=2")).text).toBe("[]");
      expect((await ask({ accept: "text/csv" })).text).toBe("id\r\n1\r\n");
    }
  });
});

describe.skipIf(engine === "clickhouse")("the same question by many at once, which is seen by locks", () => {
  it("is sent to the database once at a time", async () => {
    const schema = await ownSchema("CREATE TABLE @.locked AS SELECT 1 AS id");
    const url = await serveManifest(
      manifestOf([{ name: "locked", schema, tags: ["production", "changing", "api:locked"] }]),
      { STATEMENT_TIMEOUT_MS: "600000" },
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
