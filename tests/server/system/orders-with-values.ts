import { byEngine, ownTables } from "../../support/engines.js";
import { manifestOf } from "../../support/manifest.js";
import { serveManifest } from "../../support/service.js";

const COUNTRIES = "['DE', 'de', 'AT', 'D_', 'D%', 'FR']";
const TABLES = {
  postgres: `CREATE TABLE @.orders AS SELECT g AS id,
    CASE WHEN g > 60 THEN NULL ELSE (ARRAY${COUNTRIES})[CASE WHEN g <= 50 THEN 1 ELSE g % 6 + 1 END] END AS country,
    CASE WHEN g % 2 = 0 THEN 'acme' ELSE 'globex' END AS org, 'mail' || g || '@x' AS email, g % 2 = 0 AS paid,
    12.30::numeric(20, 2) AS amount, 18446744073709551615::numeric(20, 0) AS huge, date '2026-01-01' + g % 3 AS day,
    timestamptz '2026-01-01 10:00Z' + g % 2 * interval '1 minute' AS at, CASE g % 3 WHEN 0 THEN 'NaN' WHEN 1 THEN 1.5 END::float8 AS ratio,
    ARRAY['a'] AS tags, '{"a": 1}'::json AS doc, repeat('x', CASE WHEN g = 1 THEN 1001 ELSE g % 3 + 1 END) AS note,
    g || repeat('ü', 990) AS long FROM generate_series(1, 64) g;
    CREATE VIEW @.folded AS SELECT country AS "Country", org AS "Org" FROM @.orders`,
  clickhouse: [
    `CREATE TABLE @.orders (id Int64, country Nullable(String), org String, email String, paid Bool, amount Decimal(20, 2),
      huge UInt64, day Date, at DateTime('UTC'), ratio Nullable(Float64), tags Array(String), doc Map(String, Int64), note String,
      long String) ORDER BY id`,
    `INSERT INTO @.orders SELECT number + 1 AS g, if(g > 60, NULL, ${COUNTRIES}[if(g <= 50, 1, g % 6 + 1)]),
      if(g % 2 = 0, 'acme', 'globex'), concat('mail', toString(g), '@x'), g % 2 = 0, toDecimal64(12.3, 2),
      18446744073709551615, toDate('2026-01-01') + g % 3, toDateTime('2026-01-01 10:00:00', 'UTC') + 60 * (g % 2),
      [nan, 1.5, NULL][g % 3 + 1], ['a'], map('a', 1), repeat('x', if(g = 1, 1001, g % 3 + 1)), concat(toString(g), repeat('ü', 990)) FROM numbers(64)`,
    `CREATE VIEW @.folded AS SELECT country AS "Country", org AS "Org" FROM @.orders`,
  ],
};

export const columns = byEngine({
  postgres: {
    ...{ id: "bigint", country: "text", org: "text", email: "text", paid: "boolean" },
    ...{ amount: "numeric(20,2)", huge: "numeric(20,0)", day: "date", at: "timestamptz" },
    ...{ ratio: "double precision", tags: "text[]", doc: "json", note: "text", long: "text" },
  },
  clickhouse: {
    ...{ id: "Int64", country: "Nullable(String)", org: "String", email: "String", paid: "Bool" },
    ...{ amount: "Decimal(20, 2)", huge: "UInt64", day: "Date", at: "DateTime('UTC')" },
    ...{ ratio: "Nullable(Float64)", tags: "Array(String)", doc: "Map(String, Int64)" },
    ...{ note: "String", long: "String" },
  },
});

const model =
  (schema: string) =>
  (name: string, routewright: object = {}, api: object = {}) => ({
    name,
    schema,
    alias: "orders",
    columns,
    api: { allow_unfiltered: true, ...api },
    routewright: { filters: ["country", "org", "day", "id"], ...routewright },
  });

const owner = (tier: string, org: string, more = {}) => ({ tier, user: org, org, ...more });
const API_KEYS = JSON.stringify({
  sk_live_acme: owner("tier0", "acme"),
  sk_live_globex: owner("tier0", "globex"),
  sk_live_all: owner("tier3", "*"),
  /** For one request after the other of a window that begins with the first. */
  sk_live_counted: owner("tier0", "acme"),
  sk_live_listed: owner("tier3", "acme", { allowed: ["/v1/shop/before"] }),
});
/** Serves orders of two organizations, by endpoints with and without what changes which values they list. */
export async function serveOrdersWithValues(): Promise<{ readonly url: string; readonly schema: string }> {
  const schema = await ownTables(TABLES);
  return { url: await serveManifest(manifestOfOrders(schema), { API_KEYS, RATE_LIMITS: "100000" }), schema };
}

function manifestOfOrders(schema: string): unknown {
  const orders = model(schema);
  const manifest = manifestOf([
    orders("orders"),
    orders("expression", { filter: true }),
    orders("own", { rows: { column: "org", equals: "org" } }),
    orders("filtered", {}, { allow_unfiltered: false }),
    orders(
      "any",
      {},
      {
        require_any_of: ["since"],
        parameters: [{ name: "since", column: "day", operator: ">=", type: "date" }],
      },
    ),
    { ...orders("undeclared", { filters: [] }), columns: {} },
    { ...orders("locked"), tags: ["production", "shop", "tier1", "api:locked"] },
    orders("moved", { former_paths: [{ path: "/v1/shop/before" }] }),
    { ...orders("hidden", { filters: ["country"] }), columns: { country: columns.country } },
    {
      ...orders("folded", { filters: ["country"], rows: { column: "org", equals: "org" } }),
      alias: "folded",
      columns: { country: columns.country, org: columns.org },
    },
    {
      ...orders("mixed", { filters: ["country", "ORG"], rows: { column: "ORG", equals: "org" } }),
      columns: { country: columns.country, ORG: columns.org },
    },
    orders("grouped", {
      aggregate: {
        group_by: ["country", { column: "day", grains: ["month"] }],
        measures: { orders: { agg: "count" } },
        rows: false,
      },
    }),
  ]) as { nodes: Record<string, { columns: Record<string, object>; config: { meta: object } }> };
  for (const { columns } of Object.values(manifest.nodes))
    if (columns["email"]) columns["email"] = { ...columns["email"], config: { meta: { pii: true } } };
  manifest.nodes["model.test.hidden"]!.config.meta = {
    ...manifest.nodes["model.test.hidden"]!.config.meta,
    pii: true,
  };
  return manifest;
}
