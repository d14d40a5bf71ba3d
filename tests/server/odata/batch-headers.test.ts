/** What a part of a batch says of its rows: as the response by itself. */
import { describe, expect, it } from "vitest";
import { ownSchema } from "../../support/database.js";
import { type Reply, sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, startManifest } from "../../support/service.js";

const schema = await ownSchema("CREATE TABLE @.orders AS SELECT 1 AS id");
const model = (name: string, routewright: object, more: object = {}) => ({
  ...{ name, schema, alias: "orders", materialized: "table", key: "id" },
  columns: { id: "integer" },
  api: {
    allow_unfiltered: true,
    sort: [{ column: "id", direction: "ASC" }],
    pagination: { enabled: true, default_limit: 2, max_limit: 3 },
  },
  routewright: { cursor: true, filters: ["id"], fresh_within: "1h", ...routewright },
  ...more,
});
/** Two versions of a model, of which the first is deprecated. */
const [FIRST, SECOND] = ["orders.v1", "orders.v2"];
const tags = ["production", "shop", "api:orders"];
const MANIFEST = manifestOf([
  model(FIRST, {}, { tags, sunset: "2099-01-31" }),
  model(SECOND, { changes: "on_build" }, { tags }),
]) as { nodes: Record<string, object> };
for (const [i, name] of [FIRST, SECOND].entries()) {
  const version = { name: "orders", version: i + 1, latest_version: 2 };
  Object.assign(MANIFEST.nodes[`model.test.${name}`] ?? {}, version);
}
const [DEPRECATED, LATEST] = ["shop__orders_x0040_1", "shop__orders"];
const { url, recordBuilds } = await startManifest(MANIFEST, { CACHE_TTL_SECONDS: "600" });
recordBuilds(
  [FIRST, SECOND].map((name) => ({ node: `model.test.${name}`, completedAt: Date.now() - 1000 })),
  ["unique", "not_null"].map((name) => ({
    ...{
      test: `test.test.${name}_${FIRST}_id`,
      status: "fail" as const,
      completedAt: Date.now(),
      failures: 3,
    },
  })),
);

/** Headers of the response by itself that a part has not: of the connection, of caches, and of the batch. */
const OF_RESPONSE = [
  ...["connection", "content-length", "date", "keep-alive", "transfer-encoding"],
  ...["cache-control", "vary", "x-request-id", "x-content-type-options", "content-security-policy"],
];
const own = ({ headers }: Pick<Reply, "headers">) =>
  Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => !OF_RESPONSE.includes(name) && !/^(?:access-control-|(?:x-)?ratelimit)/.test(name),
    ),
  );
const ask = (path: string, headers: Readonly<Record<string, string>>) =>
  sendRequest(url, `/odata/${path}`, { key: KEYS.tier3, headers });

async function partsOf(requests: readonly { readonly path: string; readonly headers: object }[]) {
  const { text } = await sendRequest(url, "/odata/$batch", {
    ...{ key: KEYS.tier3, method: "POST", headers: { "content-type": "application/json" } },
    body: {
      requests: requests.map(({ path, headers }, i) => ({
        ...{ id: String(i), method: "GET", url: path, headers },
      })),
    },
  });
  return (JSON.parse(text) as { responses: readonly Pick<Reply, "status" | "headers">[] }).responses;
}

describe("a part of a batch", () => {
  it.each([DEPRECATED, `${DEPRECATED}?$top=1`, `${DEPRECATED}/$count`, `${DEPRECATED}(1)`, LATEST])(
    "of %s has the headers of the response by itself, not modified too",
    async (path) => {
      const single = await ask(path, { prefer: "odata.maxpagesize=1" });
      const [part] = await partsOf([{ path, headers: { prefer: "odata.maxpagesize=1" } }]);
      expect(part).toMatchObject({ status: single.status, headers: own(single) });
      expect(Object.keys(part?.headers ?? {}).sort()).toEqual(Object.keys(own(single)).sort());
      expect(single.headers).toMatchObject({
        "x-data-as-of": expect.any(String),
        "x-data-freshness": expect.stringMatching(/^ok;/),
        "x-data-quality": path === LATEST ? "unknown" : "failed;failed=2",
        ...(path !== LATEST && { deprecation: expect.any(String), link: expect.any(String) }),
      });
      const headers = { "if-none-match": single.headers["etag"] ?? "" };
      const kept = await ask(path, headers);
      const [again] = await partsOf([{ path, headers }]);
      expect(again).toMatchObject({ status: kept.status, headers: own(kept) });
    },
  );
});
