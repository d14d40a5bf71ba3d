import { get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { byEngine, engine, engineUrl, ownerQuery, ownTables, readers } from "../../support/engines.js";
import { serve } from "../../support/command.js";
import { manifestOf } from "../../support/manifest.js";
import { mostMemory } from "../../support/processes.js";
import { KEYS, serveManifest, ownInstallation } from "../../support/service.js";
import { begin, sendRequest } from "../../support/http-client.js";
import { bigTables, LONG } from "./big-table.js";

const { schema, manifest } = await bigTables();
const url = await serveManifest(manifest);
const key = KEYS.tier3;

/** A manifest of a view of its own. */
const viewed = (name: string, schema: string) =>
  manifestOf([{ name, schema, tags: ["production", "big", `api:${name}`] }]);

describe("an answer of any length", () => {
  it("is complete, without a Content-Length", async () => {
    const { status, headers, text } = await sendRequest(url, `/v1/big/long?limit=${String(LONG)}`, { key });
    expect([status, headers["content-length"], headers["transfer-encoding"]]).toEqual([
      200,
      undefined,
      "chunked",
    ]);
    const { items, pagination } = JSON.parse(text) as { items: { id: number }[]; pagination: unknown };
    expect(items.map(({ id }) => id)).toEqual(Array.from({ length: LONG }, (_, i) => i + 1));
    expect(pagination).toEqual({ limit: LONG, offset: 0, returned: LONG, has_more: false });
  });

  it("is one write with its length where it is short", async () => {
    const { headers, text } = await sendRequest(url, "/v1/big/middle", { key });
    expect(headers["content-length"]).toBe(String(Buffer.byteLength(text)));
    expect(JSON.parse(text)).toHaveLength(900);
  });

  // The last bytes may be those that exceed the buffer: the query is cancelled as its response ends.
  it("is complete where it is a little longer than a buffer", async () => {
    const own = await ownTables({
      postgres:
        "CREATE VIEW @.steps AS SELECT i AS id, repeat('x', 4060) AS filling FROM generate_series(1, 600) i",
      clickhouse: [
        "CREATE VIEW @.steps AS SELECT number + 1 AS id, repeat('x', 4060) AS filling FROM numbers(600)",
      ],
    });
    const pagination = { enabled: true, default_limit: 10, max_limit: 600 };
    const api = { allow_unfiltered: true, sort: [{ column: "id", direction: "ASC" }], pagination };
    const tags = ["production", "big", "api:steps"];
    const columns = { id: null, filling: null };
    const url = await serveManifest(manifestOf([{ name: "steps", schema: own, tags, columns, api }]));
    for (let limit = 510; limit <= 530; limit++) {
      const { status, text } = await sendRequest(url, `/v1/big/steps?limit=${String(limit)}`);
      expect([status, JSON.parse(text)]).toEqual([200, expect.objectContaining({ length: limit })]);
    }
  });

  it("has no body for HEAD, and holds nothing", async () => {
    for (let i = 0; i < 15; i++) {
      const { status, text } = await sendRequest(url, "/v1/big/long?limit=50000", { key, method: "HEAD" });
      expect([status, text]).toEqual([200, ""]);
    }
    await expect.poll(() => readers(schema)).toBe(0);
  });

  it("whose query fails in the middle ends with its connection, never as if it were complete", async () => {
    const response = await begin(`${url}/v1/big/late`, key);
    expect(response.statusCode).toBe(200);
    let text = "";
    await expect(async () => {
      for await (const chunk of response) text += String(chunk);
    }).rejects.toThrow();
    expect(() => JSON.parse(text) as unknown).toThrow();
    expect((await sendRequest(url, "/v1/big/short", { key })).status).toBe(200);
  });

  // Of a paused stream the engine keeps nothing: the long pause is the server's, and tried once.
  const pauseMs = byEngine({ postgres: 35_000, clickhouse: 1_000 });

  it(`survives a client that pauses for ${String(pauseMs / 1000)} s, which keeps no place of others`, async () => {
    const own = await ownTables({
      postgres: `CREATE VIEW @.paused AS SELECT i, repeat('x', 1000) AS filling FROM generate_series(1, 30000) i`,
      clickhouse: [
        "CREATE VIEW @.paused AS SELECT number AS i, repeat('x', 1000) AS filling FROM numbers(30000)",
      ],
    });
    // One place for streams of this table and tier.
    const url = await serveManifest(viewed("paused", own), { DATABASE_STREAM_POOL_SIZE: "1" });
    const slow = await begin(`${url}/v1/big/paused`, key);
    await expect.poll(() => readers(own)).toBe(0);
    const other = await sendRequest(url, "/v1/big/paused", { key: KEYS.tier1 });
    expect([other.status, (JSON.parse(other.text) as unknown[]).length]).toEqual([200, 30_000]);
    await sleep(pauseMs);
    let text = "";
    for await (const chunk of slow) text += String(chunk);
    expect(JSON.parse(text)).toHaveLength(30_000);
  });

  it("makes the database wait for a client that does not read, and gives way when it goes", async () => {
    const wide = await ownTables({
      postgres: `CREATE VIEW @.wide AS SELECT i, repeat('x', 10000) AS filling FROM generate_series(1, 100000) i`,
      clickhouse: [
        "CREATE VIEW @.wide AS SELECT number AS i, repeat('x', 10000) AS filling FROM numbers(100000)",
      ],
    });
    const url = await serveManifest(viewed("wide", wide));
    const response = await begin(`${url}/v1/big/wide`, key);
    await sleep(500);
    const waits = async (): Promise<boolean> =>
      engine === "clickhouse"
        ? (await readers(wide)) === 1
        : JSON.stringify(
            await ownerQuery(
              `SELECT 1 FROM pg_stat_activity WHERE wait_event IN ('ClientRead', 'ClientWrite') AND query LIKE '%${wide}%wide%' AND state = 'active'`,
            ),
          ) !== "[]";
    await expect.poll(waits).toBe(true);
    response.destroy();
    await expect.poll(() => readers(wide)).toBe(0);
  });

  it("is cancelled in the database when its client goes before the first row", async () => {
    const slow = await ownTables({
      postgres: `CREATE VIEW @.slow AS SELECT 1 AS i FROM pg_sleep(60)`,
      clickhouse: [
        "CREATE VIEW @.slow AS SELECT toInt32(sleepEachRow(0.1)) AS i FROM numbers(600) SETTINGS max_block_size = 1",
      ],
    });
    const url = await serveManifest(viewed("slow", slow));
    const request = get(`${url}/v1/big/slow`, { headers: { "X-API-Key": key }, agent: false });
    request.on("error", () => undefined);
    await expect.poll(() => readers(slow)).toBe(1);
    request.destroy();
    await expect.poll(() => readers(slow)).toBe(0);
  });

  it("vanishing clients leave no connection behind", async () => {
    for (let round = 0; round < 40; round++) {
      const response = await begin(
        `${url}/v1/big/long?limit=${String(LONG)}`,
        key,
        round % 2 ? { "accept-encoding": "gzip" } : {},
      );
      if (round % 3 === 0) response.resume();
      await sleep((round * 7) % 20);
      response.destroy();
    }
    await expect.poll(() => readers(schema)).toBe(0);
    expect((await sendRequest(url, "/v1/big/long?limit=2000", { key })).status).toBe(200);
  });
});

describe.skipIf(process.platform !== "linux")("a million rows", () => {
  // ClickHouse sends a megabyte at a time, which Node frees later than it reads.
  const bound = byEngine({ postgres: 32, clickhouse: 128 });

  it(`take no more than ${String(bound)} MB above an idle server, read fast or slowly`, async () => {
    const huge = await ownTables({
      postgres: `CREATE TABLE @.huge AS
        SELECT i AS id, md5(i::text) AS label, timestamptz '2025-01-01 00:00:00Z' + i * interval '1 minute' AS at, i * 1.5 AS value
        FROM generate_series(1, 1000000) i`,
      clickhouse: [
        `CREATE TABLE @.huge ORDER BY id AS SELECT toInt32(number) AS id, lower(hex(MD5(toString(number)))) AS label,
          toDateTime('2025-01-01 00:00:00', 'UTC') + number * 60 AS at, number * 1.5 AS value FROM numbers(1000000)`,
      ],
    });
    const folder = ownInstallation(viewed("huge", huge));
    const server = await serve(folder, ["--only", "data"], {
      DATABASE_URL: engineUrl(),
      API_KEYS: JSON.stringify({ [key]: "tier3" }),
    });
    const pid = server.child.pid ?? 0;
    await sendRequest(server.url, "/health");
    // What it does after its start takes memory too.
    await sleep(2000);
    let [bytes, rows] = [0, 0];
    const { idle, above } = await mostMemory(pid, async () => {
      const response = await begin(`${server.url}/v1/big/huge`, key);
      for await (const chunk of response as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        for (let at = chunk.indexOf('"id":'); at !== -1; at = chunk.indexOf('"id":', at + 1)) rows++;
        if (rows < 100_000) await sleep(1);
      }
    });
    console.log(
      `a million rows: ${(bytes / 1e6).toFixed(0)} MB, at most ${(above / 1e6).toFixed(1)} MB above ${(idle / 1e6).toFixed(0)} MB idle`,
    );
    // A row's mark may lie across two chunks.
    expect(rows).toBeGreaterThan(990_000);
    expect(above).toBeLessThan(bound * 1024 * 1024);
  });
});
