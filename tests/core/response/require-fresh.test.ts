import { describe, expect, it } from "vitest";
import { byEngine, ownerQuery, ownTables } from "../../support/engines.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, startManifest } from "../../support/service.js";
import { post, sendRequest } from "../../support/http-client.js";

const key = KEYS.tier3;
const schema = await ownTables({
  postgres: "CREATE TABLE @.numbers AS SELECT 1 AS id",
  clickhouse: ["CREATE TABLE @.numbers ORDER BY tuple() AS SELECT toInt32(1) AS id"],
});
const model = (name: string, routewright: object) => ({
  name,
  schema,
  alias: "numbers",
  columns: byEngine({ postgres: { id: "integer" }, clickhouse: { id: "Int32" } }),
  api: {
    allow_unfiltered: true,
    methods: ["GET", "POST"],
    pagination: { enabled: true, default_limit: 10, max_limit: 50 },
  },
  materialized: "table",
  routewright: { fresh_within: "1h", require_fresh: true, ...routewright },
});
const NAMES = ["plain", "built", "counted", "cached"] as const;
const manifest = manifestOf([
  model("plain", {}),
  model("built", { changes: "on_build" }),
  model("counted", { aggregate: { group_by: ["id"], measures: { rows: { agg: "count" } } } }),
  model("cached", {}),
  model("without", { require_fresh: false }),
]);

const { url, recordBuilds } = await startManifest(manifest, { CACHE_TTL_SECONDS: "600" });
const build = (secondsAgo: number): void =>
  recordBuilds(
    NAMES.map((name) => ({ node: `model.test.${name}`, completedAt: Date.now() - secondsAgo * 1000 })),
  );

const ask = (name: string, search = "", headers: Readonly<Record<string, string>> = {}) =>
  sendRequest(url, `/v1/shop/${name}?require_fresh=true${search}`, { key, headers });

const REFUSAL = {
  status: 503,
  text: '{"detail":"The rows are older than promised, or of no known build. Try again in 60 seconds, or without \'require_fresh\'."}',
};

async function tool(name: string, parameters: object): Promise<string> {
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      "x-api-key": key,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({
      ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
      params: { name: "query_endpoint", arguments: { path: `/v1/shop/${name}`, parameters } },
    }),
  });
  const { result } = (await response.json()) as { result: { content: readonly { text: string }[] } };
  return result.content[0]?.text ?? "";
}

describe("require_fresh", () => {
  it("refuses rows of no known build, and then those that are older than promised", async () => {
    expect(await ask("plain")).toMatchObject(REFUSAL);
    build(3700);
    const refused = await ask("plain");
    expect(refused).toMatchObject(REFUSAL);
    expect(refused.headers["retry-after"]).toBe("60");
    const served = await sendRequest(url, "/v1/shop/plain", { key });
    expect([served.status, served.headers["x-data-freshness"]?.slice(0, 5)]).toEqual([200, "error"]);
  });

  it("in every format, of groups, in a body, and to language models", async () => {
    for (const name of NAMES) {
      const tag = (await sendRequest(url, `/v1/shop/${name}`, { key })).headers["etag"] ?? "";
      expect(tag).not.toBe("");
      // A client that has the rows gets no 304 for them either, nor parts.
      const variants: Readonly<Record<string, string>>[] = [
        {},
        { "if-none-match": tag },
        { range: "bytes=0-1" },
        ...["text/csv", "application/x-ndjson"].map((accept) => ({ accept })),
        ...["application/vnd.apache.parquet", "application/vnd.apache.arrow.stream"].map((accept) => ({
          accept,
        })),
      ];
      for (const headers of variants)
        expect([name, headers, await ask(name, "", headers)]).toMatchObject([name, headers, { status: 503 }]);
      const body = await post(url, `/v1/shop/${name}`, { require_fresh: true }, { key });
      expect(body).toMatchObject(REFUSAL);
      expect(await tool(name, { require_fresh: true })).toContain("older than promised");
      const head = await sendRequest(url, `/v1/shop/${name}?require_fresh=true`, { key, method: "HEAD" });
      expect(head.status).toBe(503);
    }
    expect((await ask("counted", "&group_by=id")).status).toBe(503);
  });

  it("serves rows of a build that keeps the promise, and none that were kept from before it", async () => {
    const read = (search: string, headers = {}) =>
      sendRequest(url, `/v1/shop/cached${search}`, { key, headers });
    expect((await read("")).text).toContain('"id":1');
    // Also a part, which is kept for those that follow.
    expect((await read("", { range: "bytes=0-1" })).status).toBe(206);
    const table = `"${schema}".numbers`;
    await ownerQuery(
      byEngine({
        postgres: `UPDATE ${table} SET id = 2`,
        clickhouse: `ALTER TABLE ${table} UPDATE id = 2 WHERE true SETTINGS mutations_sync = 2`,
      }),
    );
    expect((await read("")).text).toContain('"id":1');
    build(60);
    for (const search of ["?require_fresh=true", ""]) {
      const answer = await read(search);
      expect(answer.text).toContain('"id":2');
      expect(answer.headers["x-data-freshness"]).toMatch(/^ok;/);
    }
    // A part of the old rows is as late as they are.
    const part = await read("?require_fresh=true", { range: "bytes=2-3" });
    expect([part.status, part.text]).toMatchObject([503, REFUSAL.text]);
    const [tag] = [(await ask("built")).headers["etag"] ?? ""];
    expect((await ask("built", "", { "if-none-match": tag })).status).toBe(304);
    expect(await tool("plain", { require_fresh: true })).toContain("id");
    expect((await ask("counted", "&group_by=id&measures=rows")).text).toContain('"rows":1');
  });

  it("is a parameter of endpoints that have it, and true or false", async () => {
    expect((await sendRequest(url, "/v1/shop/plain?require_fresh=yes", { key })).text).toContain(
      "'require_fresh' must be a boolean",
    );
    expect((await sendRequest(url, "/v1/shop/plain?require_fresh=false", { key })).status).toBe(200);
    expect((await ask("without")).text).toContain("Unsupported query parameters: require_fresh");
  });
});
