import { describe, expect, it } from "vitest";
import { clickhouseUrl, hasClickhouse, ownDatabase } from "../support/clickhouse.js";
import { proxyThatNotes } from "../support/database-proxy.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest } from "../support/service.js";
import { sendRequest } from "../support/http-client.js";

const key = KEYS.tier3;
/** More than 128 KiB of a statement, which a field of a form may have. */
const WIDE = Array.from({ length: 1_200 }, (_, i) => `a_column_with_a_long_name_${String(i)}`);

const database = await ownDatabase([
  "CREATE TABLE @.orders ORDER BY id AS SELECT toInt32(number) AS id, concat('secret ', toString(number)) AS label, toDate('2024-01-01') + number AS day FROM numbers(10)",
  `CREATE TABLE @.wide ORDER BY tuple() AS SELECT 'secret ä''\\n1' AS label, ${WIDE.map((name) => `1 AS ${name}`).join(", ")}`,
]);

const model = (name: string, columns: Readonly<Record<string, string>>) => ({
  name,
  schema: database,
  tags: ["production", "kept", `api:${name}`],
  columns,
  api: {
    methods: ["GET", "POST"],
    allow_unfiltered: true,
    parameters: [
      { name: "label", column: "label", operator: "=", type: "string" },
      { name: "labels", column: "label", operator: "IN", type: "string_list" },
    ],
    sort: [{ column: "label", direction: "ASC" }],
    pagination: { enabled: true, default_limit: 2, max_limit: 10, cursor: true },
  },
});
const manifest = manifestOf(
  [
    model("orders", { id: "Int32", label: "String", day: "Date" }),
    model("wide", { label: "String", ...Object.fromEntries(WIDE.map((name) => [name, "UInt8"])) }),
  ],
  { adapter_type: "clickhouse" },
);

describe.skipIf(!hasClickhouse)("the address of a request to ClickHouse", () => {
  const ask = async (paths: readonly string[]) => {
    const { url: noted, addresses } = await proxyThatNotes(clickhouseUrl());
    const url = await serveManifest(manifest, { DATABASE_URL: noted });
    const replies = [];
    for (const path of paths) replies.push(await sendRequest(url, path, { key }));
    return { replies, addresses };
  };

  it("has no value of a caller", async () => {
    const { replies, addresses } = await ask([
      "/v1/kept/orders?label=secret%203",
      "/v1/kept/orders.csv?labels=secret%203,secret%204",
      `/v1/kept/orders.ndjson?labels=${"secret,".repeat(900)}secret%205`,
      "/v1/system/values?path=/v1/kept/orders&column=label&label=secret%203",
    ]);
    expect(replies.map(({ status, text }) => [status, /secret \d/.exec(text)?.[0]])).toEqual([
      [200, "secret 3"],
      [200, "secret 3"],
      [200, "secret 5"],
      [200, "secret 3"],
    ]);
    expect(addresses.length).toBeGreaterThan(4);
    expect(addresses.filter((address) => /secret|param_/.test(address))).toEqual([]);
  });

  it("has none either where the statement is longer than a field of a form", async () => {
    const { replies, addresses } = await ask([
      `/v1/kept/wide?label=${encodeURIComponent("secret ä'\n1")}`,
      "/v1/kept/wide?label=secret%20no",
    ]);
    const rows = replies.map(({ text }) => JSON.parse(text) as readonly Record<string, unknown>[]);
    expect(rows.map((each) => each.length)).toEqual([1, 0]);
    expect(Object.keys(rows[0]?.[0] ?? {})).toEqual(["label", ...WIDE]);
    expect(addresses.filter((address) => /secret|param_|query=/.test(address))).toEqual([]);
  });
});
