import { once } from "node:events";
import type { RequestListener } from "node:http";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { openPostgres } from "../../../runtime/postgres/engine.js";
import type { ResolvedQuery } from "../../../runtime/core/model/query.js";
import type { RowStream } from "../../../runtime/core/warehouse/warehouse.js";
import { Cursors } from "../../../runtime/core/response/cursors.js";
import { ResultCache } from "../../../runtime/core/response/result-cache.js";
import { ResultService } from "../../../runtime/core/response/result-service.js";
import { sendStream, StreamAborted } from "../../../runtime/core/response/respond.js";
import { begin, sendRequest } from "../../support/http-client.js";
import { serveWith, SHORT_LINGER } from "../http/client.js";
import { serve } from "../../support/command.js";
import { databaseUrl, ownSchema, query } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { callerNamed, queryContext } from "../../support/query-context.js";
import { mostMemory } from "../../support/processes.js";
import { KEYS, serveManifest, ownInstallation } from "../../support/service.js";

const NO_CACHE = new ResultCache({ ttlSeconds: 0, maxBytes: 1024 });

/** Much more together than one piece, or the memory that an answer may take. */
const HEAVY = { rows: 250, characters: 640_000 };

const schema = await ownSchema(`
  CREATE TABLE @.heavy AS SELECT i AS id, repeat('x', ${String(HEAVY.characters)}) AS filling FROM generate_series(1, ${String(HEAVY.rows)}) i;
  CREATE TABLE @.many AS SELECT i AS id, repeat('x', 500) AS filling FROM generate_series(1, 50000) i;
  CREATE VIEW @.failing AS SELECT id, filling, 1 / (id - 40000) AS v FROM @.many;
  CREATE TABLE @.small AS SELECT 1 AS id`);

const paged = {
  allow_unfiltered: true,
  sort: [{ column: "id", direction: "ASC" }],
  pagination: { enabled: true, default_limit: 10, max_limit: 50_000 },
};
const model = (name: string, columns: Record<string, string>, api?: unknown) => ({
  name,
  schema,
  columns,
  ...(api !== undefined && { api }),
});
const manifest = manifestOf([
  model("heavy", { id: "integer", filling: "text" }),
  model("many", { id: "integer", filling: "text" }, paged),
  model("failing", { id: "integer", filling: "text", v: "integer" }),
  model("small", { id: "integer" }),
]);

it("few rows that are large are streamed, in bounded memory", async () => {
  const folder = ownInstallation(manifest);
  const { url, child } = await serve(folder, ["--only", "data"], {
    DATABASE_URL: databaseUrl,
    API_KEYS: JSON.stringify({ [KEYS.tier3]: "tier3" }),
  });
  await sendRequest(url, "/health");
  let bytes = 0;
  const { above } = await mostMemory(child.pid ?? 0, async () => {
    const response = await begin(`${url}/v1/shop/heavy`, KEYS.tier3);
    for await (const chunk of response as AsyncIterable<Buffer>) bytes += chunk.length;
  });
  expect(bytes).toBeGreaterThan(HEAVY.rows * HEAVY.characters);
  expect(above / 1024 / 1024).toBeLessThan(150);
});

it("a page keeps its length and entity tag whatever other pages of its endpoint contain", async () => {
  const url = await serveManifest(manifest);
  const small = await sendRequest(url, "/v1/shop/many?limit=20&offset=5");
  for (const limit of [50_000, 20_000, 5000])
    expect((await sendRequest(url, `/v1/shop/many?limit=${String(limit)}`)).headers.etag).toBeUndefined();
  for (let i = 0; i < 25; i++) {
    const { headers } = await sendRequest(url, "/v1/shop/many?limit=20&offset=5");
    expect([headers.etag, headers["content-length"]]).toEqual([
      small.headers.etag,
      small.headers["content-length"],
    ]);
  }
  expect(small.headers.etag).toMatch(/^W\//);
});

describe("requests are counted", () => {
  /** Value of a counter of an endpoint; null while it has none. */
  const counter = async (url: string, name: string, endpoint: string): Promise<number | null> => {
    const { text } = await sendRequest(url, "/metrics", { key: KEYS.tier3 });
    const lines = text.split("\n").filter((line) => line.startsWith(name) && line.includes(`/${endpoint}"`));
    return lines.length === 0 ? null : lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  };
  const failures = async (url: string): Promise<string[]> => {
    const { text } = await sendRequest(url, "/metrics", { key: KEYS.tier3 });
    return text.split("\n").filter((line) => line.includes('/failing"') && line.includes('"5'));
  };

  it("as failed when their stream was aborted, with the bytes that were sent", async () => {
    const url = await serveManifest(manifest);
    await expect(sendRequest(url, "/v1/shop/failing")).rejects.toThrow();
    await expect.poll(() => failures(url)).not.toHaveLength(0);
    expect(await counter(url, "routewright_response_bytes_total", "failing")).toBeGreaterThan(0);
  });

  it("without the body that HEAD does not have", async () => {
    const url = await serveManifest(manifest);
    expect((await sendRequest(url, "/v1/shop/small", { method: "HEAD" })).headers["content-length"]).toBe(
      "10",
    );
    await expect.poll(() => counter(url, "routewright_response_bytes_total", "small")).toBe(0);
    expect((await sendRequest(url, "/v1/shop/small")).text).toBe('[{"id":1}]');
    await expect.poll(() => counter(url, "routewright_response_bytes_total", "small")).toBe(10);
  });
});

it("a caller that joins a shared query late does not share its elapsed time limit", async () => {
  await query(`CREATE SEQUENCE "${schema}".turns;
    CREATE FUNCTION "${schema}".first_is_slow() RETURNS int LANGUAGE plpgsql AS
      'BEGIN IF (SELECT count(*) FROM "${schema}".turn) = 0 THEN PERFORM pg_sleep(60); END IF; RETURN 1; END';
    CREATE TABLE "${schema}".turn (id int);
    CREATE VIEW "${schema}".turning AS SELECT "${schema}".first_is_slow() AS v`);
  const warehouse = openPostgres({ url: databaseUrl, statementTimeoutMs: 30_000, warn: () => undefined });
  atEnd(() => warehouse.close());
  const results = new ResultService(warehouse, NO_CACHE, new Cursors(Buffer.alloc(32)));
  const selection = { conditions: [], sort: [], page: null };
  const slow: ResolvedQuery = { relation: [schema, "turning"], selection, format: "json", timeoutMs: 4000 };
  const first = results.get("key", slow, queryContext({ caller: callerNamed("key:first") }));
  first.catch(() => undefined);
  await pause(2000);
  const second = results.get("key", slow, queryContext({ caller: callerNamed("key:second") }));
  await query(`INSERT INTO "${schema}".turn VALUES (1)`);
  await expect(first).rejects.toThrow("needs more time");
  expect(await second).toMatchObject({ hasRunQuery: true });
});

it("callers share a query that starts after their requests, or any of the build that their rows change with", async () => {
  let asked = 0;
  const warehouse = openPostgres({ url: databaseUrl, statementTimeoutMs: 30_000, warn: () => undefined });
  atEnd(() => warehouse.close());
  const counted = new Proxy(warehouse, {
    get: (target, name) => {
      if (name === "rows") asked++;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const results = new ResultService(counted, NO_CACHE, new Cursors(Buffer.alloc(32)));
  const selection = { conditions: [], sort: [], page: null };
  const small: ResolvedQuery = { relation: [schema, "small"], selection, format: "json", timeoutMs: 0 };
  const get = (build: string | null) => results.get("key", small, queryContext(), build);
  await Promise.all(["1", "1", "2"].map(get));
  expect(asked).toBe(2);
  await Promise.all(Array.from({ length: 20 }, () => get(null)));
  expect(asked).toBe(4);
});

/** A stream of so many pieces, sent to a client over a socket. */
async function sendTo(pieces: number, windowMs: number) {
  let outcome: Promise<unknown> = Promise.resolve();
  const value = Buffer.alloc(64 * 1024, "x");
  let left = pieces;
  const end = { returned: pieces, hasMore: false, milliseconds: 0 };
  const stream: RowStream = {
    kind: "stream",
    columns: [],
    chunks: {
      next: () => Promise.resolve(left-- > 0 ? { done: false, value } : { done: true, value: end }),
      return: () => Promise.resolve({ done: true, value: end }),
    },
  };
  const listener: RequestListener = (_, response) => {
    const options = { compressor: null, timeLimitMs: 0 };
    outcome = sendStream(response, { head: "", tail: () => "" }, stream, options).catch(
      (error: unknown) => error,
    );
  };
  const url = await serveWith(listener, { ...SHORT_LINGER, minimumRate: { bytes: 1024 * 1024, windowMs } });
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write("GET / HTTP/1.1\r\nHost: any\r\nConnection: close\r\n\r\n");
  return { socket, outcome: () => outcome };
}

describe("a client", () => {
  it("that stops reading is disconnected, and the stream reports why", async () => {
    const { socket, outcome } = await sendTo(4000, 500);
    socket.pause();
    await once(socket, "readable");
    const aborted = new StreamAborted(new Error("The client reads too slowly."), expect.anything() as never);
    expect(await outcome()).toEqual(aborted);
  });
});
