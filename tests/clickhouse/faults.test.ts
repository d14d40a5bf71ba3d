import { once } from "node:events";
import { createServer as createTlsServer } from "node:tls";
import { describe, expect, it } from "vitest";
import { atEnd } from "../support/at-end.js";
import { hasClickhouse, ownClickhouse } from "../support/clickhouse.js";
import { proxyOf, proxyThatCloses } from "../support/database-proxy.js";
import { freePort } from "../support/port.js";
import { manifestOf } from "../support/manifest.js";
import { selfSigned } from "../manifest/self-signed.js";
import { KEYS, serveManifest } from "../support/service.js";
import { begin, refusal, sendRequest, statusAndBody } from "../support/http-client.js";

const key = KEYS.tier3;
const UNREACHABLE = refusal(503, "The database cannot be reached. Try again in 1 seconds.");
const SOURCE = refusal(502, "A source from which the database reads cannot answer.");
const manifest = manifestOf(
  ["t", "both", "long", "endless", "spread"].map((name) => ({
    name,
    schema: "shop",
    tags: ["production", "f", `api:${name}`],
  })),
  { adapter_type: "clickhouse" },
);
const serve = (url: string, variables: Readonly<Record<string, string>> = {}) =>
  serveManifest(manifest, { DATABASE_URL: url, ...variables });
const ask = (url: string, name = "t", key: string = KEYS.tier3) => sendRequest(url, `/v1/f/${name}`, { key });

/** Two servers of one cluster, whose tables `t` hold different rows. */
async function cluster() {
  const tcp = [await freePort(), await freePort()];
  const servers = await Promise.all(tcp.map((tcpPort) => ownClickhouse({ tcpPort, shards: tcp })));
  for (const [i, server] of servers.entries()) {
    await server.query("CREATE DATABASE shop");
    await server.query(
      `CREATE TABLE shop.t ENGINE = MergeTree ORDER BY i AS SELECT toInt32(${String(i)}) AS i`,
    );
    await server.query("CREATE TABLE shop.both AS shop.t ENGINE = Distributed(shards, shop, t)");
    await server.query("CREATE TABLE shop.memory (i UInt64) ENGINE = Memory");
    await server.query(`INSERT INTO shop.memory SELECT number FROM numbers(${String(i * 3_000_000)})`);
    await server.query("CREATE TABLE shop.spread AS shop.memory ENGINE = Distributed(shards, shop, memory)");
    await server.query("CREATE VIEW shop.endless AS SELECT number AS i FROM numbers(100000000000)");
    await server.query("CREATE TABLE shop.long ORDER BY i AS SELECT number AS i FROM numbers(1000000)");
  }
  const [first, second] = servers;
  if (!first || !second) throw new Error("There are no two servers.");
  return { first, second };
}

/** Passes bytes on until it has passed this many, then ends both connections. */
const cutAfter = (database: string, bytes: number) =>
  proxyOf(database, (client, open) => {
    const server = open();
    let passed = 0;
    client.pipe(server);
    server.on("data", (chunk: Buffer) => {
      passed += chunk.length;
      client.write(chunk);
      if (passed > bytes) for (const socket of [client, server]) socket.destroy();
    });
  });

const servers = hasClickhouse ? await cluster() : null;

describe.skipIf(servers === null)("a cluster of two ClickHouse servers", () => {
  if (servers === null) return;
  const { first, second } = servers;

  it("gives the rows of all shards", async () => {
    const url = await serve(first.url("shop", "api:secret"));
    const { text } = await ask(url, "both");
    expect((JSON.parse(text) as { i: number }[]).map(({ i }) => i).sort()).toEqual([0, 1]);
  });

  it("runs a query again whose connection ends without a response: behind one address another server may answer", async () => {
    const { url } = await proxyThatCloses(second.url("shop", "api:secret"), `"shop"."t"`);
    expect(statusAndBody(await ask(await serve(url)))).toEqual([200, [{ i: 1 }]]);
  });

  it("limits the rows that another server reads of a table without parts, by what it reports each millisecond", async () => {
    const url = await serve(first.url("shop", "api:secret"), { MAX_ROWS_READ: "tier0=100000" });
    expect((await ask(url, "spread", KEYS.tier0)).status).toBe(400);
    await first.query("SYSTEM FLUSH LOGS");
    const sent = await first.query(
      `SELECT DISTINCT Settings['interactive_delay'] FROM system.query_log WHERE is_initial_query AND query LIKE '%"spread"%' AND exception_code = 158`,
    );
    expect(sent.trim()).toBe("1000");
  });

  it("resets the client's connection when the network is cut in the middle", async () => {
    const { url: cut } = await cutAfter(first.url("shop", "api:secret"), 5_000_000);
    const url = await serve(cut);
    await expect(ask(url, "long")).rejects.toThrow();
  });

  it("answers 503 while a server is frozen, whatever the time limit, and rows again afterwards", async () => {
    const url = await serve(first.url("shop", "api:secret"));
    const inTime = await serve(first.url("shop", "api:secret"), { STATEMENT_TIMEOUT_MS: "2000" });
    expect([(await ask(url)).status, (await ask(inTime)).status]).toEqual([200, 200]);
    await first.freeze();
    const refused: number[] = [];
    // The signal takes a moment.
    await expect
      .poll(async () => refused.push((await ask(inTime, "long")).status) && refused.at(-1))
      .not.toBe(200);
    expect(refused.at(-1)).toBe(503);
    const [reply, health] = await Promise.all([ask(url), sendRequest(url, "/health")]);
    expect(statusAndBody(reply)).toEqual(UNREACHABLE);
    expect(reply.headers["retry-after"]).toBe("1");
    expect(health.status).toBe(503);
    expect(statusAndBody(await ask(inTime))).toEqual(UNREACHABLE);
    first.thaw();
    await expect.poll(async () => (await ask(url)).status).toBe(200);
  });

  it("resets a stream whose server freezes in the middle", async () => {
    const url = await serve(first.url("shop", "api:secret"));
    const response = await begin(`${url}/v1/f/endless`, key);
    response.once("data", () => void first.freeze());
    await expect(async () => {
      for await (const chunk of response as AsyncIterable<Buffer>) expect(chunk.length).toBeGreaterThan(0);
    }).rejects.toThrow();
    first.thaw();
    await expect.poll(async () => (await ask(url)).status).toBe(200);
  });

  it("never gives half of the rows where a server of the cluster is dead", async () => {
    const url = await serve(first.url("shop", "api:secret"));
    // It may be dead already: the engine of the tests ends itself (SIGABRT) on a busy machine when another server cancels its query,
    // and so does the first one after one in eight of the queries below.
    await second.kill();
    expect((await ask(url)).status).toBe(200);
    expect(statusAndBody(await ask(url, "both"))).toEqual(SOURCE);
  });

  it("answers 503 where the server itself is dead, and its health too", async () => {
    const url = await serve(first.url("shop", "api:secret"));
    await first.kill();
    const reply = await ask(url);
    expect(statusAndBody(reply)).toEqual(UNREACHABLE);
    expect(reply.headers["retry-after"]).toBe("1");
    expect((await sendRequest(url, "/health")).status).toBe(503);
  });
});

it("a ClickHouse behind TLS with a certificate that nobody has signed gets no query", async () => {
  let queries = 0;
  const server = createTlsServer(selfSigned(), (socket) => {
    socket.on("data", () => queries++).on("error", () => undefined);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(() => void server.close());
  const { port } = server.address() as { port: number };
  const url = await serve(`clickhouses://api:secret@127.0.0.1:${String(port)}/shop`);
  expect(statusAndBody(await sendRequest(url, "/v1/f/t", { key }))).toEqual(UNREACHABLE);
  expect(queries).toBe(0);
});
