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
    },
  ]) as { nodes: Record<string, { config: Record<string, unknown> }> };
  for (const node of Object.values(manifest.nodes)) node.config["materialized"] = "table";
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

const NODE = "model.test.numbers";
const PATH = "/v1/changing/numbers";
const at = (iso: string) => [{ node: NODE, completedAt: Date.parse(iso) }];

describe("an answer's ETag", () => {
  it("brings 304 without a body until the rows change", async () => {
    const { manifest, change } = await changing();
    const url = await serveManifest(manifest);
    const first = await sendRequest(url, PATH, { key });
    const tag = first.headers["etag"] ?? "";
    expect(tag).toMatch(/^W\/"[\w-]{27}"$/);
    const again = await sendRequest(url, PATH, { key, headers: { "if-none-match": tag } });
    expect([again.status, again.text, again.headers["etag"]]).toEqual([304, "", tag]);
    expect(again.headers).toMatchObject({
      "cache-control": "private, no-cache",
      vary: "Accept, Accept-Encoding",
    });
    expect(again.headers["x-ratelimit-remaining"]).toBe("9998");
    expect(again.headers["content-type"]).toBeUndefined();
    await change();
    const changed = await sendRequest(url, PATH, { key, headers: { "if-none-match": tag } });
    expect([changed.status, changed.text]).toEqual([200, '[{"id":2}]']);
    expect(changed.headers["etag"]).not.toBe(tag);
  });

  it.each([
    ["several tags", (tag: string) => `"a", ${tag}, W/"b"`, 304],
    ["the tag as a strong one", (tag: string) => tag.slice(2), 304],
    ["any", () => "*", 304],
    ["another tag", () => 'W/"other"', 200],
    ["what is no tag", () => "nonsense", 200],
  ])("is matched by %s as RFC 9110 says", async (_, header, status) => {
    const { manifest } = await changing();
    const url = await serveManifest(manifest);
    const tag = (await sendRequest(url, PATH, { key })).headers["etag"] ?? "";
    expect((await sendRequest(url, PATH, { key, headers: { "if-none-match": header(tag) } })).status).toBe(
      status,
    );
  });

  it.each(["0", "60"])(
    "changes when dbt has replaced the table and has not reported the build, CACHE_TTL_SECONDS=%s",
    async (CACHE_TTL_SECONDS) => {
      const { manifest, schema } = await changing();
      const service = await startManifest(manifest, { CACHE_TTL_SECONDS });
      service.recordBuilds(at("2026-01-01T00:00:00Z"));
      const first = await sendRequest(service.url, PATH, { key });
      const tag = first.headers["etag"] ?? "";
      const again = () => sendRequest(service.url, PATH, { key, headers: { "if-none-match": tag } });
      expect((await again()).status).toBe(304);
      await renameAway(schema);
      await ownerQuery(
        byEngine({
          postgres: `CREATE TABLE "${schema}".numbers AS SELECT 7 AS id`,
          clickhouse: `CREATE TABLE "${schema}".numbers ORDER BY tuple() AS SELECT toInt32(7) AS id`,
        }),
      );
      await expect.poll(async () => (await again()).text, { timeout: 10_000 }).toBe('[{"id":7}]');
      expect((await sendRequest(service.url, PATH, { key })).text).toBe('[{"id":7}]');
    },
  );

  it("differs from question to question and from format to format", async () => {
    const { manifest } = await changing();
    const service = await startManifest(manifest);
    service.recordBuilds(at("2026-01-01T00:00:00Z"));
    const tags = await Promise.all([
      sendRequest(service.url, PATH, { key }),
      sendRequest(service.url, `${PATH}?id=1`, { key }),
      sendRequest(service.url, `${PATH}?id=2`, { key }),
      sendRequest(service.url, PATH, { key, headers: { accept: "text/csv" } }),
    ]);
    expect(new Set(tags.map(({ headers }) => headers["etag"])).size).toBe(4);
  });

  it("is on HEAD and POST too, and only reading is answered with 304", async () => {
    const { manifest } = await changing();
    const url = await serveManifest(manifest);
    const { etag = "" } = (await sendRequest(url, PATH, { key })).headers;
    const headers = { "if-none-match": etag };
    expect((await sendRequest(url, PATH, { key, method: "HEAD", headers })).status).toBe(304);
    const posted = await post(url, PATH, {}, { key, headers });
    expect([posted.status, posted.headers["etag"]]).toEqual([200, etag]);
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

  it("is not on refusals", async () => {
    const { manifest } = await changing();
    const url = await serveManifest(manifest);
    const refused = await sendRequest(url, `${PATH}?x=1`, { key, headers: { "if-none-match": "*" } });
    expect([refused.status, refused.headers["etag"]]).toEqual([400, undefined]);
  });
});

describe("an endpoint whose builds are known", () => {
  it("has the build time in a header once it is known", async () => {
    const { manifest } = await changing();
    const service = await startManifest(manifest);
    expect((await sendRequest(service.url, PATH, { key })).headers["x-data-as-of"]).toBeUndefined();
    service.recordBuilds(at("2026-03-01T04:05:06.789Z"));
    const { headers } = await sendRequest(service.url, PATH, { key });
    expect(headers["x-data-as-of"]).toBe("2026-03-01T04:05:06.789Z");
  });

  it("is the same in every process, and answers 304 without a query", async () => {
    const { manifest, schema } = await changing();
    const service = await startManifest(manifest);
    service.recordBuilds(at("2026-03-01T00:00:00Z"));
    const other = await startManifest(manifest);
    other.recordBuilds(at("2026-03-01T00:00:00Z"));
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
    const { manifest, schema } = await changing();
    const service = await startManifest(manifest);
    service.recordBuilds(at("2026-03-01T00:00:00Z"));
    const before = await sendRequest(service.url, PATH, { key });
    await ownerQuery(`ALTER TABLE "${schema}".numbers ADD COLUMN added Int DEFAULT 7`);
    service.recordBuilds(at("2026-03-02T00:00:00Z"));
    const headers = { "if-none-match": before.headers["etag"] };
    const after = await sendRequest(service.url, PATH, { key, headers });
    expect(after.status).toBe(200);
    expect(after.headers["etag"]).not.toBe(before.headers["etag"]);
    expect(after.text).toContain('"added":7');
  });

  it("has a new version with each build, and never an older one", async () => {
    const { manifest } = await changing();
    const service = await startManifest(manifest);
    const tagNow = async () => (await sendRequest(service.url, PATH, { key })).headers["etag"];
    service.recordBuilds(at("2026-03-01T00:00:00Z"));
    const first = await tagNow();
    service.recordBuilds(at("2026-03-02T00:00:00Z"));
    const second = await tagNow();
    service.recordBuilds(at("2026-03-01T00:00:00Z"));
    expect(second).not.toBe(first);
    expect(await tagNow()).toBe(second);
  });

  it("still checks key, limit, tier and parameters first", async () => {
    const { manifest } = await changing();
    const service = await startManifest(manifest);
    service.recordBuilds(at("2026-03-01T00:00:00Z"));
    const headers = { "if-none-match": "*" };
    expect((await sendRequest(service.url, PATH, { key: "sk_live_nobody", headers })).status).toBe(403);
    expect((await sendRequest(service.url, `${PATH}?x=1`, { key, headers })).status).toBe(400);
  });
});

describe("the answer cache", () => {
  // ClickHouse's storage shows changes within a table too (tests/clickhouse/storage.test.ts).
  const isSeen = engine === "clickhouse";
  const rowsOf = async (url: string) => (await sendRequest(url, PATH, { key })).text;

  it("is off by default", async () => {
    const { manifest, change } = await changing();
    const url = await serveManifest(manifest);
    expect(await rowsOf(url)).toBe('[{"id":1}]');
    await change();
    expect(await rowsOf(url)).toBe('[{"id":2}]');
  });

  it.skipIf(isSeen)("keeps an answer for its time", async () => {
    const { manifest, change } = await changing();
    const url = await serveManifest(manifest, { CACHE_TTL_SECONDS: "1" });
    const first = await sendRequest(url, PATH, { key });
    await change();
    expect(await rowsOf(url)).toBe('[{"id":1}]');
    expect((await sendRequest(url, PATH, { key })).headers["etag"]).toBe(first.headers["etag"]);
    await sleep(1100);
    expect(await rowsOf(url)).toBe('[{"id":2}]');
  });

  it.skipIf(isSeen)("keeps an answer until the next build where builds are known", async () => {
    const { manifest, change } = await changing();
    const service = await startManifest(manifest, { CACHE_TTL_SECONDS: "1" });
    service.recordBuilds(at("2026-03-01T00:00:00Z"));
    expect(await rowsOf(service.url)).toBe('[{"id":1}]');
    await change();
    await sleep(1200);
    expect(await rowsOf(service.url)).toBe('[{"id":1}]');
    service.recordBuilds(at("2026-03-02T00:00:00Z"));
    expect(await rowsOf(service.url)).toBe('[{"id":2}]');
  });

  it("distinguishes queries and formats", async () => {
    const { manifest } = await changing();
    const url = await serveManifest(manifest, { CACHE_TTL_SECONDS: "60" });
    for (let round = 0; round < 2; round++) {
      expect((await sendRequest(url, `${PATH}?id=1`, { key })).text).toBe('[{"id":1}]');
      expect((await sendRequest(url, `${PATH}?id=2`, { key })).text).toBe("[]");
      expect((await sendRequest(url, PATH, { key, headers: { accept: "text/csv" } })).text).toBe(
        "id\r\n1\r\n",
      );
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
