/** A query that needs more of the database than it may have: its caller gets an error that says what to ask instead, in every form. */
import { buffer } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { loggedFailure, serve } from "../../support/command.js";
import { clickhouseUrl } from "../../support/clickhouse.js";
import { ownRole } from "../../support/database-roles.js";
import { byEngine, engineUrl, ownTables, readers } from "../../support/engines.js";
import {
  begin,
  type RequestOptions,
  sendRequest,
  statusAndBody,
  tooLarge,
} from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, ownInstallation } from "../../support/service.js";

const schema = await ownTables({
  postgres: `CREATE TABLE @.facts AS SELECT i, md5(i::text) AS text FROM generate_series(1, 200000) i;
    CREATE VIEW @.sorted AS SELECT * FROM @.facts ORDER BY text;
    CREATE VIEW @.late AS SELECT * FROM @.facts UNION ALL SELECT * FROM @.sorted;
    CREATE VIEW @.slow AS SELECT 1 AS i, pg_sleep(120)::text AS text;
    CREATE TABLE @.small AS SELECT 1 AS i, 'x' AS text`,
  clickhouse: [
    "CREATE TABLE @.facts ORDER BY i AS SELECT toInt32(number) AS i, hex(MD5(toString(number))) AS text FROM numbers(1000000)",
    "CREATE VIEW @.sorted AS SELECT * FROM @.facts ORDER BY text",
    "CREATE VIEW @.late AS SELECT i, concat(text, toString(length(range(if(i = 150000, 5000000, 1))))) AS text FROM @.facts SETTINGS max_block_size = 1000, max_threads = 1",
    "CREATE VIEW @.slow AS SELECT toInt32(1) AS i, toString(sleepEachRow(0.1)) AS text FROM numbers(600) SETTINGS max_block_size = 1",
    "CREATE TABLE @.small ORDER BY i AS SELECT toInt32(1) AS i, 'x' AS text",
  ],
});

const columns = byEngine({
  postgres: { i: "integer", text: "text" },
  clickhouse: { i: "Int32", text: "String" },
});
const model = (name: string, more = {}) => ({
  ...{ name, schema, columns, tags: ["production", "large", `api:${name}`], ...more },
  api: { methods: ["GET", "POST"], allow_unfiltered: true },
});
const sums = { aggregate: { group_by: ["text"], measures: { n: { agg: "count" } } } };
const manifest = manifestOf([
  ...["sorted", "late", "slow", "small"].map((name) => model(name)),
  model("sums", { alias: "facts", routewright: sums }),
]);

/** A role that may use little memory; on PostgreSQL, which bounds none, little disk space for what does not fit into it. */
const limitedRole = byEngine({
  postgres: async () => (await ownRole(schema, { work_mem: "64kB", temp_file_limit: "64kB" })).url,
  clickhouse: () => Promise.resolve(clickhouseUrl("small_memory")),
});
const resource = byEngine({ postgres: "disk space", clickhouse: "memory" });

const serveTo = (url: string, variables = {}) =>
  serve(ownInstallation(manifest), [], {
    ...{ DATABASE_URL: url, USAGE_ENABLED: "false", METRICS_PUBLIC: "true", ...variables },
    API_KEYS: JSON.stringify({ [KEYS.tier3]: { tier: "tier3", user: "user", org: "test" } }),
  });

const parquet = { headers: { accept: "application/vnd.apache.parquet" } };
const FORMS: readonly (readonly [target: string, question: RequestOptions])[] = [
  ["/v1/large/sorted", {}],
  ["/v1/large/sorted.csv", {}],
  ["/v1/large/sorted.ndjson", {}],
  ["/v1/large/sorted", parquet],
  ["/v1/large/sorted", { method: "POST", body: {} }],
  ["/v1/large/sums?group_by=text", {}],
  ["/v1/large/sums.csv?group_by=text", {}],
  ["/v1/system/values?path=/v1/large/sorted&column=text", {}],
  ["/v1/system/chart?path=/v1/large/sorted&x=text&y=i", {}],
];

describe("a query that needs more than the database gives it", async () => {
  const limited = await serveTo(await limitedRole());
  const ask = (target: string, question: RequestOptions = {}) =>
    sendRequest(limited.url, target, { key: KEYS.tier3, ...question });

  it.each(FORMS)("is refused: %s %j", async (target, question) => {
    const reply = await ask(target, question);
    expect(statusAndBody(reply)).toEqual(tooLarge(resource));
    expect(reply.headers["retry-after"]).toBeUndefined();
    expect(statusAndBody(await ask("/v1/large/small"))).toEqual([200, [{ i: 1, text: "x" }]]);
  });

  it("is refused in OData's form, and in a batch", async () => {
    const reply = await ask("/odata/large__sorted");
    const [, detail] = tooLarge(resource);
    expect(reply.status).toBe(400);
    const { error } = JSON.parse(reply.text) as { error: object };
    expect(error).toEqual({ code: "queryTooLarge", message: (detail as { detail: string }).detail });
    const requests = ["large__sorted", "large__small"].map((url, id) => ({
      ...{ id: String(id), method: "GET", url },
    }));
    const headers = { prefer: "odata.continue-on-error" };
    const { text } = await ask("/odata/$batch", { method: "POST", headers, body: { requests } });
    const { responses } = JSON.parse(text) as { responses: { status: number }[] };
    expect(responses.map(({ status }) => status)).toEqual([400, 200]);
  });

  it("is in the log and counted where a part of its rows has been sent", async () => {
    const route = "/v1/large/late";
    const response = await begin(limited.url + route, KEYS.tier3);
    expect(response.statusCode).toBe(200);
    await expect(buffer(response)).rejects.toThrow();
    const line = await loggedFailure(limited, String(response.headers["x-request-id"]), "query too large");
    expect(line).toMatchObject({ level: 40, route, need: resource });
    const { text } = await ask("/metrics");
    expect(text).toContain(`routewright_queries_too_large_total{route="${route}"} 1`);
  });

  it("is refused to language models", async () => {
    const { text } = await ask("/mcp", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: {
        ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
        params: { name: "query_endpoint", arguments: { path: "/v1/large/sorted" } },
      },
    });
    expect(text).toContain(`needs more ${resource} of the database`);
    expect(text).toContain(`"isError":true`);
  });

  it("is in the log with the reason, is counted, and names an endpoint that answers nothing else", async () => {
    const reply = await ask("/v1/large/sorted");
    const line = await loggedFailure(limited, String(reply.headers["x-request-id"]), "query too large");
    expect(line).toMatchObject({ level: 40, route: "/v1/large/sorted", need: resource });
    expect(line.err.stack).toMatch(byEngine({ postgres: /temp_file_limit/, clickhouse: /MEMORY_LIMIT/ }));
    const { text } = await ask("/metrics");
    const [, counted] =
      /routewright_queries_too_large_total\{route="\/v1\/large\/sorted"\} (\d+)/.exec(text) ?? [];
    expect(Number(counted)).toBeGreaterThan(0);
    expect(text).toContain(`routewright_failing_endpoints{route="/v1/large/sorted"} 1`);
    expect(text).not.toContain(`routewright_failing_endpoints{route="/v1/large/small"}`);
  });
});

it("a query that takes longer than it may is refused; one whose client has gone ends and is not counted", async () => {
  const slow = await serveTo(engineUrl(), { STATEMENT_TIMEOUT_MS: "2000" });
  const patient = await serveTo(engineUrl(), { STATEMENT_TIMEOUT_MS: "600000" });
  const key = KEYS.tier3;
  for (const form of ["", ".csv"])
    expect(statusAndBody(await sendRequest(slow.url, `/v1/large/slow${form}`, { key }))).toEqual(
      tooLarge("time"),
    );
  await expect.poll(() => readers(schema)).toBe(0);
  const leaving = new AbortController();
  const left = expect(
    fetch(`${patient.url}/v1/large/slow.ndjson`, { headers: { "x-api-key": key }, signal: leaving.signal }),
  ).rejects.toThrow();
  await expect.poll(() => readers(schema)).toBe(1);
  leaving.abort();
  await left;
  await expect.poll(() => readers(schema)).toBe(0);
  // The server has read by now how the query ended.
  expect((await sendRequest(patient.url, "/v1/large/small", { key })).status).toBe(200);
  const counted = async ({ url }: { readonly url: string }) =>
    /routewright_queries_too_large_total\{route="\/v1\/large\/slow"\} (\d+)/.exec(
      (await sendRequest(url, "/metrics", { key })).text,
    )?.[1] ?? "0";
  expect([await counted(slow), await counted(patient)]).toEqual(["2", "0"]);
});
