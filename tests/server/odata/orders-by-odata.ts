import { byEngine, ownTables } from "../../support/engines.js";
import { type Reply, type RequestOptions, sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";

const TYPES = byEngine({
  postgres: {
    ...{ id: "integer", big: "bigint", amount: "numeric(38,18)", ratio: "double precision", day: "date" },
    ...{
      at: "timestamptz",
      status: "text",
      active: "boolean",
      code: "uuid",
      tags: "text[]",
      "odd-name": "text",
    },
  },
  clickhouse: {
    ...{ id: "Int32", big: "Int64", amount: "Decimal(38, 18)", ratio: "Float64", day: "Date" },
    ...{ at: "DateTime64(6, 'UTC')", status: "Nullable(String)", active: "Bool", code: "UUID" },
    ...{ tags: "Array(String)", "odd-name": "Nullable(String)" },
  },
});
const UUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
const ROWS = [
  `(1, 9007199254740993, 10.5, 0.5, '2024-02-29', '2024-02-29 23:59:59.999999', 'paid', true, '${UUID}', @a, 'x')`,
  `(2, 2, 9.99, 1.5, '2024-03-01', '2024-03-01 00:00:00', 'open', false, '${UUID}', @e, 'it''s')`,
  `(3, -1, 12345678901234567890.123456789012345678, 2.5, '2025-01-31', '2025-01-31 12:00:00', NULL, true, '${UUID}', @a, NULL)`,
  `(4, 4, 0, -3.5, '1999-12-31', '1999-12-31 23:59:59', 'paid', false, '${UUID}', @e, 'a/b')`,
  `(5, 5, 1, 1e100, '2024-03-01', '2024-03-01 06:00:00', 'held', true, '${UUID}', @e, 'y')`,
];
const values = (a: string, e: string): string => ROWS.join(", ").replaceAll("@a", a).replaceAll("@e", e);
const definition = Object.entries(TYPES)
  .map(([name, type]) => `"${name}" ${type}`)
  .join(", ");
const FILTERS = Object.keys(TYPES).filter((name) => name !== "tags");
const BY_ID = [{ column: "id", direction: "ASC" }];
const API = {
  allow_unfiltered: true,
  sort: BY_ID,
  pagination: { enabled: true, default_limit: 2, max_limit: 3 },
  sortable_fields: ["day", "amount", "id"],
};
const ALL = { cursor: true, filter: true, fields: true, filters: FILTERS };
const tables = (): Promise<string> =>
  ownTables({
    postgres: `SET timezone = 'UTC'; CREATE TABLE @.orders (${definition}); INSERT INTO @.orders VALUES ${values("ARRAY['a','b']", "ARRAY[]::text[]")}`,
    clickhouse: [
      `CREATE TABLE @.orders (${definition}) ORDER BY id`,
      `INSERT INTO @.orders VALUES ${values("['a','b']", "[]")}`,
    ],
  });

const modelIn =
  (schema: string) =>
  (name: string, api: object, routewright: object, more: object = {}) => ({
    name,
    schema,
    alias: "orders",
    columns: TYPES,
    key: "id",
    api: { ...API, ...api },
    routewright,
    ...more,
  });
const STATUS = { name: "status_is", column: "status", operator: "=", type: "string" };

/** Every form of an endpoint as OData has it. */
const manifestIn = (model: ReturnType<typeof modelIn>): unknown =>
  manifestOf([
    model("orders", { parameters: [STATUS] }, ALL),
    model("orders/daily", {}, ALL, { tags: ["production", "shop", "api:orders", "granularity:daily"] }),
    model("orders_daily", {}, {}),
    model("whole", { pagination: undefined, sortable_fields: undefined }, {}),
    model(
      "sums",
      { sortable_fields: undefined },
      {
        ...{ filters: ["status", "active", "id"], filter: true },
        aggregate: {
          group_by: ["status", "active"],
          measures: { total: { agg: "sum", column: "big" }, n: { agg: "count" } },
        },
      },
    ),
    model("needy", { allow_unfiltered: false, parameters: [STATUS] }, ALL),
    model("paid", {}, ALL, { tags: ["production", "shop", "api:paid", "tier2"] }),
    model(
      "mine",
      {},
      { ...ALL, rows: { column: "status", equals: "org" } },
      { tags: ["production", "shop", "api:mine", "tier1"] },
    ),
  ]);

/** The manifest that is served, and where: of the test file that runs. */
export let [MANIFEST, url]: [unknown, string] = [null, ""];

/** Serves them until the test file ends: each file calls it at its begin. Modules are loaded once for several files. */
export async function serveOrders(): Promise<void> {
  MANIFEST = manifestIn(modelIn(await tables()));
  url = await serveManifest(MANIFEST, {
    API_KEYS: JSON.stringify({
      ...Object.fromEntries(
        Object.entries(KEYS).map(([tier, key]) => [key, { tier, user: tier, org: "paid" }]),
      ),
      sk_live_listed: { tier: "tier3", user: "listed", org: "paid", allowed: ["/v1/shop/orders"] },
    }),
  });
}

/** Asks below `/odata`, with the key of tier3 unless `question` says otherwise. */
export function ask(path: string, question: RequestOptions = { key: KEYS.tier3 }): Promise<Reply> {
  return sendRequest(url, `/odata${encodeURI(path)}`, question);
}

/** The JSON of a reply that must be a success. */
export async function read(
  path: string,
  headers: RequestOptions["headers"] = {},
): Promise<Record<string, unknown>> {
  const { status, text } = await ask(path, { key: KEYS.tier3, headers });
  if (status !== 200) throw new Error(`${path}: ${String(status)} ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

export const idsIn = (body: Record<string, unknown>): unknown =>
  (body["value"] as readonly { readonly id: number }[]).map(({ id }) => id);
