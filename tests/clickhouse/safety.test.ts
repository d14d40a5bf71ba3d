import { get, type IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { clickhouse, clickhouseUrl, hasClickhouse, ownDatabase } from "../support/clickhouse.js";
import { proxyOf } from "../support/database-proxy.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest, startManifest } from "../support/service.js";
import { begin, refusal, sendRequest, statusAndBody, tooLarge } from "../support/http-client.js";

const key = KEYS.tier3;
const FAILED = refusal(500, "Database query failed.");
const NAMES = ["numbers", "slow", "late", "failing", "memory", "secret", "writing"];

const database = await ownDatabase([
  "CREATE TABLE @.numbers ORDER BY i AS SELECT toInt32(number) AS i, repeat('x', 100) AS filling FROM numbers(200000)",
  "CREATE VIEW @.slow AS SELECT toInt32(sleepEachRow(0.1)) AS i FROM numbers(600) SETTINGS max_block_size = 1",
  "CREATE VIEW @.late AS SELECT i, throwIf(i = 150000) AS v, filling FROM @.numbers SETTINGS max_block_size = 1000",
  "CREATE VIEW @.failing AS SELECT throwIf(i >= 0) AS v FROM @.numbers",
  "CREATE VIEW @.memory AS SELECT arrayStringConcat(groupArray(repeat(filling, 100))) AS v FROM @.numbers",
  "CREATE TABLE @.secret ORDER BY i AS SELECT 1 AS i",
]);
const model = (name: string) => ({ name, schema: database, tags: ["production", "safe", `api:${name}`] });
const manifest = manifestOf(NAMES.map(model), { adapter_type: "clickhouse" });
const serve = (variables: Readonly<Record<string, string>> = {}) =>
  serveManifest(manifest, { DATABASE_URL: clickhouseUrl(), ...variables });
const ask = (url: string, name: string) => sendRequest(url, `/v1/safe/${name}`, { key });

/** Queries of this file's database that run. */
async function running(): Promise<number> {
  return Number(
    await clickhouse(
      `SELECT count() FROM system.processes WHERE query LIKE '%${database}%' AND query NOT LIKE '%system.processes%'`,
    ),
  );
}

/** What reached the client before its connection ended. */
async function readUntilCut(response: IncomingMessage): Promise<{ text: string; isComplete: boolean }> {
  let text = "";
  try {
    for await (const chunk of response) text += String(chunk);
    return { text, isComplete: true };
  } catch {
    return { text, isComplete: false };
  }
}

const LEAKS = /__exception__|DB::Exception|version \d|throwIf|Code: \d/;

describe.skipIf(!hasClickhouse)("a query of ClickHouse that fails", () => {
  it("before its first row answers 500 without SQL or version", async () => {
    const reply = await ask(await serve(), "failing");
    expect(statusAndBody(reply)).toEqual(FAILED);
    expect(JSON.stringify(reply.headers)).not.toMatch(/clickhouse/i);
  });

  it.each(["", ".csv", ".ndjson"])(
    "in the middle of a stream resets the connection: late%s",
    async (suffix) => {
      const url = await serve();
      const response = await begin(`${url}/v1/safe/late${suffix}`, key);
      expect(response.statusCode).toBe(200);
      const { text, isComplete } = await readUntilCut(response);
      expect(isComplete).toBe(false);
      expect(text.length).toBeGreaterThan(1000);
      expect(text).not.toMatch(LEAKS);
      expect((await ask(url, "secret")).status).toBe(200);
    },
  );

  it.each([
    ["as it is", "jürgen_日本:pä:ss 日本@"],
    ["in percent-encoding", `${encodeURIComponent("jürgen_日本")}:${encodeURIComponent("pä:ss 日本")}@`],
  ])("does not because of a name and password beyond ASCII: %s", async (_, credentials) => {
    const url = await serve({ DATABASE_URL: clickhouseUrl().replace("api:secret@", credentials) });
    expect((await ask(url, "secret")).status).toBe(200);
  });

  it("because it needs more memory than the role may use answers 400", async () => {
    const url = await serve({ DATABASE_URL: clickhouseUrl("small_memory") });
    expect(statusAndBody(await ask(url, "memory"))).toEqual(tooLarge("memory"));
    expect((await ask(url, "secret")).status).toBe(200);
  });

  it("because the queries of its user need more memory together answers 503", async () => {
    const url = await serve({ DATABASE_URL: clickhouseUrl("small_memory_together") });
    const reply = await ask(url, "memory");
    expect(reply.status).toBe(503);
    expect(reply.headers["retry-after"]).toBe("1");
    expect((await ask(url, "secret")).status).toBe(200);
  });

  it("because the role may not read its table answers 500", async () => {
    const url = await serve({ DATABASE_URL: clickhouseUrl("no_rights") });
    expect(statusAndBody(await ask(url, "secret"))).toEqual(FAILED);
  });

  it("because the quota of the role is used up answers 503", async () => {
    const url = await serve({ DATABASE_URL: clickhouseUrl("few_queries") });
    const statuses = [];
    // The server looks up its relations at the start: that counts too.
    for (let i = 0; i < 45; i++) statuses.push((await ask(url, "secret")).status);
    expect(statuses[0]).toBe(200);
    expect(statuses.at(-1)).toBe(503);
  });

  it("because it takes too long is killed", async () => {
    const url = await serve({ STATEMENT_TIMEOUT_MS: "2000" });
    expect(statusAndBody(await ask(url, "slow"))).toEqual(tooLarge("time"));
    await expect.poll(running).toBe(0);
  });
});

it.skipIf(!hasClickhouse)("a query of ClickHouse is killed when the service stops", async () => {
  const service = await startManifest(manifest, { DATABASE_URL: clickhouseUrl() });
  const request = get(`${service.url}/v1/safe/slow`, { headers: { "X-API-Key": key }, agent: false });
  request.on("error", () => undefined);
  await expect.poll(running).toBe(1);
  request.destroy();
  await service.stop();
  await expect.poll(running, { interval: 20 }).toBe(0);
});

describe.skipIf(!hasClickhouse)("settings", () => {
  /** Settings of the last query of a relation. */
  async function settingsOf(name: string): Promise<Readonly<Record<string, string>>> {
    await clickhouse("SYSTEM FLUSH LOGS");
    const text = await clickhouse(
      `SELECT Settings FROM system.query_log WHERE type = 'QueryFinish' AND user = 'api' AND query LIKE '%"${database}"."${name}"%'
       ORDER BY event_time_microseconds DESC LIMIT 1 FORMAT JSONCompactEachRow`,
    );
    return (JSON.parse(text) as [Record<string, string>])[0];
  }

  it("are sent with every query, by the tier of the caller", async () => {
    const url = await serve({ STREAM_TIMEOUT_MS: "tier0=5000,tier3=60000" });
    // ClickHouse logs a query after its last byte; a busy server still compares the relation with its model, by its own limits.
    const settingsFor = async (key: string) => {
      await sendRequest(url, "/v1/safe/secret", { key });
      return settingsOf("secret");
    };
    await expect
      .poll(() => settingsFor(KEYS.tier3))
      .toMatchObject({ readonly: "2", max_execution_time: "60", max_threads: "4" });
    await expect
      .poll(() => settingsFor(KEYS.tier0))
      .toMatchObject({ max_execution_time: "5", max_threads: "1" });
  });

  it("of formats are sent with rows in them, and not with others", async () => {
    const url = await serve({});
    const groupsOf = (settings: Readonly<Record<string, string>>): readonly string[] =>
      ["csv", "parquet", "json"].filter((group) =>
        Object.keys(settings).some((name) => name.startsWith(`output_format_${group}_`)),
      );
    const sentFor = async (suffix: string): Promise<readonly string[]> => {
      await sendRequest(url, `/v1/safe/secret${suffix}`, { key: KEYS.tier3 });
      return groupsOf(await settingsOf("secret"));
    };
    await expect.poll(() => sentFor(".csv")).toEqual(["csv", "json"]);
    await expect.poll(() => sentFor(".parquet")).toEqual(["parquet", "json"]);
    await expect.poll(() => sentFor(".json")).toEqual(["json"]);
  });

  it("that the role may not send make the database unreachable", async () => {
    const url = await serve({ DATABASE_URL: clickhouseUrl("no_settings") });
    expect((await sendRequest(url, "/health")).status).toBe(503);
  });

  it("that the role may not change hold where they are as strict as the server's", async () => {
    const url = await serve({ DATABASE_URL: clickhouseUrl("own_limits"), MAX_ROWS_READ: "100000" });
    expect((await sendRequest(url, "/health")).status).toBe(200);
    expect((await ask(url, "secret")).status).toBe(200);
  });

  it("that the role may not change and that limit less make the database unreachable", async () => {
    const url = await serve({ DATABASE_URL: clickhouseUrl("no_limits") });
    expect((await sendRequest(url, "/health")).status).toBe(503);
  });

  it.each([
    ["own_csv", "csv"],
    ["own_parquet", "parquet"],
  ])("of a format that the role may not change make the database unreachable: %s", async (user, format) => {
    const url = await serve({ DATABASE_URL: clickhouseUrl(user) });
    const refused = await sendRequest(url, `/v1/safe/secret.${format}`, { key: KEYS.tier3 });
    expect(refused.status).toBe(500);
    expect((await sendRequest(url, "/health")).status).toBe(503);
  });
});

/** A server that answers each query with recorded bytes. */
const recorded = (body: string, head: string) =>
  proxyOf("clickhouse://api@127.0.0.1/x", (socket) => {
    socket.on("data", (bytes: Buffer) => {
      const text = bytes.toString();
      if (!text.includes("POST /")) return;
      const answer = text.includes("ORDER BY position")
        ? '{"name":"i","type":"Int32"}\n{"name":"s","type":"String"}\n'
        : /system\.(tables|settings|functions|table_functions)/.test(text)
          ? "\n"
          : body;
      const chunks = answer === "" ? "" : `${Buffer.byteLength(answer).toString(16)}\r\n${answer}\r\n`;
      socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n${head}\r\n${chunks}0\r\n\r\n`);
    });
  });

const TAG = "abcdefghijklmnop";
const ERROR = `\r\n__exception__\r\n${TAG}\r\nCode: 395. DB::Exception: Value passed to 'throwIf' function is non-zero: while executing. (version 26.7.2.1 (official build))\n`;
const LONG_JSON = Array.from({ length: 200_000 }, (_, i) => `{"i":${String(i)},"s":"text"}`).join(",\n");

describe("the bytes of a response", () => {
  const t = { name: "t", schema: "x", tags: ["production", "old", "api:t"] };
  const named = manifestOf([t], { adapter_type: "clickhouse" });
  const serveRecorded = async (body: string, head = `X-ClickHouse-Exception-Tag: ${TAG}\r\n`) =>
    serveManifest(named, { DATABASE_URL: (await recorded(body, head)).url });

  it("are an answer where they are complete", async () => {
    const url = await serveRecorded('[\n{"i":1,"s":"Code: 1"},\n{"i":2,"s":"]"}\n]\n');
    expect(statusAndBody(await sendRequest(url, "/v1/old/t"))).toEqual([
      200,
      [
        { i: 1, s: "Code: 1" },
        { i: 2, s: "]" },
      ],
    ]);
  });

  it.each([
    ["", `[\n{"i":1,"s":"a"},\n${ERROR}`],
    ["", ERROR],
    ["", '[\n{"i":1,"s":"a"}'],
    ["", ""],
    [".csv", `1,"a"\r\n${ERROR}`],
    [".parquet", `PAR1${"\0".repeat(99)}${ERROR}`],
    [".arrows", ERROR],
  ])("answer 500 where they hold an error or no end: %s %j", async (suffix, body) => {
    expect(statusAndBody(await sendRequest(await serveRecorded(body), `/v1/old/t${suffix}`))).toEqual(FAILED);
  });

  it("answer 500 where the server does not mark errors, as before 25.11", async () => {
    const url = await serveRecorded('[\n{"i":1,"s":"a"}\n]\n', "");
    expect(statusAndBody(await sendRequest(url, "/v1/old/t"))).toEqual(FAILED);
  });

  it("may hold a text of the form of an error with another tag", async () => {
    const text = `"a${ERROR.replace(TAG, "another").replaceAll('"', '""')}"`;
    const url = await serveRecorded(`1,${text}\r\n`);
    expect((await sendRequest(url, "/v1/old/t.csv")).text).toBe(`i,s\r\n1,${text}\r\n`);
  });

  it.each([
    ["", `[\n${LONG_JSON},\n{"i":1,"s${ERROR}`],
    [".parquet", `PAR1${"\0".repeat(4_000_000)}${ERROR}`],
  ])("are cut before the error in the middle of a stream: %s", async (suffix, body) => {
    const response = await begin(`${await serveRecorded(body)}/v1/old/t${suffix}`, key);
    const { text, isComplete } = await readUntilCut(response);
    expect([response.statusCode, isComplete]).toEqual([200, false]);
    expect(text).not.toMatch(LEAKS);
  });
});
