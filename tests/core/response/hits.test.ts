import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { byEngine, ownerQuery, ownTables } from "../../support/engines.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, startManifest } from "../../support/service.js";

const PATH = "/v1/kept/numbers";

/** Serves numbers as texts, which change with builds only. */
async function start() {
  const schema = await ownTables({
    postgres: "CREATE TABLE @.numbers AS SELECT i::text AS id, i AS amount FROM generate_series(1, 20) AS i",
    clickhouse: [
      "CREATE TABLE @.numbers ORDER BY tuple() AS SELECT toString(number + 1) AS id, toInt32(number + 1) AS amount FROM numbers(20)",
    ],
  });
  const manifest = manifestOf([
    {
      name: "numbers",
      schema,
      tags: ["production", "kept", "api:numbers"],
      columns: byEngine({
        postgres: { id: "text", amount: "integer" },
        clickhouse: { id: "String", amount: "Int32" },
      }),
      api: {
        allow_unfiltered: true,
        parameters: [{ name: "amount", column: "amount", operator: "=", type: "string" }],
        pagination: { enabled: true, default_limit: 5, max_limit: 10 },
        sort: [{ column: "amount", direction: "ASC" }],
      },
      materialized: "table",
      routewright: {
        changes: "on_build",
        fields: true,
        filters: ["id"],
        former_paths: [{ path: "/v1/kept/old" }],
      },
    },
  ]);
  const { url, recordBuilds } = await startManifest(manifest);
  const build = (iso: string) => recordBuilds([{ node: "model.test.numbers", completedAt: Date.parse(iso) }]);
  build("2026-03-01T00:00:00Z");
  return { url, build, table: `"${schema}".numbers` };
}

/** Headers that each response has of its own. */
const OWN =
  /^(date|server-timing|x-request-id|x-ratelimit-(remaining|reset)|ratelimit|keep-alive|connection)$/;

async function said(url: string, path: string, key: string | undefined, headers: Record<string, string>) {
  const response = await sendRequest(url, path, { ...(key !== undefined && { key }), headers });
  const shared = Object.entries(response.headers).filter(([name]) => !OWN.test(name));
  return { status: response.status, text: response.text, headers: Object.fromEntries(shared) };
}

it("a hit says what the first response said, to each caller and in each form", async () => {
  const { url } = await start();
  const paths = [
    PATH,
    `${PATH}?limit=2&offset=3`,
    `${PATH}?amount=7`,
    `${PATH}?amount=seven`,
    `${PATH}?id[in]=3,4&fields=id`,
    `${PATH}?limit=0`,
    `${PATH}.csv?limit=1`,
    "/v1/kept/old?limit=1",
    `${PATH}?limit=1&limit=2`,
  ];
  const forms: Record<string, string>[] = [{}, { accept: "text/csv" }, { range: "bytes=0-9" }];
  for (const path of paths)
    for (const key of [KEYS.tier3, KEYS.tier1, undefined])
      // Without a key, 100 requests a minute.
      for (const headers of key === undefined ? [{}] : forms) {
        // What a request with a preference asks is read anew each time.
        const first = await said(url, path, key, { ...headers, prefer: "nothing" });
        const hits = [1, 2, 3].map(() => said(url, path, key, headers));
        expect({ path, headers, hits: await Promise.all(hits) }).toEqual({
          path,
          headers,
          hits: [first, first, first],
        });
        const tag = first.headers["etag"];
        if (first.status !== 200 || typeof tag !== "string") continue;
        const again = await said(url, path, key, { ...headers, "if-none-match": tag });
        expect([path, again.status, again.text, again.headers["etag"]]).toEqual([path, 304, "", tag]);
      }
});

it("a kept request is checked against the columns of the latest build, and has its rows", async () => {
  const { url, build, table } = await start();
  const ask = (search: string) => sendRequest(url, `${PATH}${search}`, { key: KEYS.tier3 });
  for (let round = 0; round < 3; round++) {
    expect((await ask("?amount=seven")).status).toBe(400);
    expect((await ask("?amount=7")).text).toContain('"7"');
  }
  const statements = byEngine({
    postgres: [
      `ALTER TABLE ${table} ALTER amount TYPE text USING CASE amount WHEN 7 THEN 'seven' ELSE amount::text END`,
    ],
    clickhouse: [
      `ALTER TABLE ${table} MODIFY COLUMN amount String SETTINGS mutations_sync = 2`,
      `ALTER TABLE ${table} UPDATE amount = 'seven' WHERE amount = '7' SETTINGS mutations_sync = 2`,
    ],
  });
  for (const statement of statements) await ownerQuery(statement);
  build("2026-03-02T00:00:00Z");
  for (let round = 0; round < 3; round++) {
    const seven = await ask("?amount=seven");
    expect([seven.status, seven.text]).toEqual([200, expect.stringContaining('"seven"')]);
    expect((await ask("?amount=7")).text).not.toContain('"7"');
  }
});

it("a kept request holds no memory of a result that gave way to others", async () => {
  const [requests, kept, letters] = [90, 16, 100_000];
  const schema = await ownTables({
    postgres: `CREATE TABLE @.wide AS SELECT i AS id, repeat('x', ${String(letters)}) AS filling FROM generate_series(1, 100) AS i`,
    clickhouse: [
      `CREATE TABLE @.wide ORDER BY id AS SELECT toInt32(number + 1) AS id, repeat('x', ${String(letters)}) AS filling FROM numbers(100)`,
    ],
  });
  const model = {
    name: "wide",
    schema,
    tags: ["production", "kept", "api:wide"],
    columns: byEngine({
      postgres: { id: "integer", filling: "text" },
      clickhouse: { id: "Int32", filling: "String" },
    }),
    api: {
      allow_unfiltered: true,
      pagination: { enabled: true, default_limit: 4, max_limit: 4 },
      sort: [{ column: "id", direction: "ASC" }],
    },
    materialized: "table",
    routewright: { changes: "on_build" },
  };
  const { url, recordBuilds } = await startManifest(manifestOf([model]), {
    CACHE_MAX_MEGABYTES: String(kept),
  });
  recordBuilds([{ node: "model.test.wide", completedAt: Date.parse("2026-03-01T00:00:00Z") }]);
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const bytes = (): number => {
    collect();
    return process.memoryUsage().arrayBuffers / 1024 / 1024;
  };
  const before = bytes();
  for (let offset = 0; offset < requests; offset++)
    for (let round = 0; round < 2; round++) {
      const path = `/v1/kept/wide?offset=${String(offset)}`;
      expect((await sendRequest(url, path, { key: KEYS.tier3 })).status).toBe(200);
    }
  // What a connection has sent is freed a little later.
  await expect.poll(() => bytes() - before).toBeLessThan(kept);
});
