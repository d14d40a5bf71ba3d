/** Rows for language models say when they were built, as `X-Data-As-Of` does. */
import { expect, it } from "vitest";
import { ownSchema } from "../../support/database.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, startManifest } from "../../support/service.js";

const schema = await ownSchema(
  "CREATE TABLE @.built AS SELECT 1 AS id; CREATE TABLE @.unknown AS SELECT 1 AS id",
);
const models = ["built", "unknown"].map((name) => ({
  ...{ name, schema, materialized: "table", columns: { id: "integer" }, api: { allow_unfiltered: true } },
}));
const { url, recordBuilds } = await startManifest(manifestOf(models));
recordBuilds([{ node: "model.test.built", completedAt: Date.now() - 1000 }], []);

async function rowsOf(path: string): Promise<object> {
  const { text } = await sendRequest(url, "/mcp", {
    ...{ key: KEYS.tier3, method: "POST" },
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "query_endpoint", arguments: { path } },
    },
  });
  const { result } = JSON.parse(text.replace(/^[^{]*/, "")) as { result: { structuredContent: object } };
  return result.structuredContent;
}

it("of a model whose build is known", async () => {
  const { headers } = await sendRequest(url, "/v1/shop/built", { key: KEYS.tier3 });
  expect(headers["x-data-as-of"]).toMatch(/^\d{4}-/);
  const rows = { returned: 1, has_more: false, total: 1, rows: [{ id: 1 }] };
  expect(await rowsOf("/v1/shop/built")).toEqual({ data_as_of: headers["x-data-as-of"], ...rows });
  expect(await rowsOf("/v1/shop/unknown")).toEqual(rows);
});
