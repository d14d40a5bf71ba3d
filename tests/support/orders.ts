import { KEYS, serveManifest } from "./service.js";
import { manifestOf, type TestModel } from "./manifest.js";
import { byEngine, ownTables } from "./engines.js";

/** A small relation with ties in `amount`, so that a second sort key shows. */
const ORDERS = `
    INSERT INTO @.orders VALUES
    (1, '2024-01-01', '2024-01-01 08:00Z', 'Open',   'a_b',      10.00),
    (2, '2024-01-02', '2024-01-02 23:59Z', 'Closed', 'a%b',      20.00),
    (3, '2024-01-03', '2024-01-03 00:00Z', 'OPEN',   'aXb',      10.00),
    (4, '2024-01-04', '2024-01-04 12:00Z', 'Held',   'back\\slash', 18446744073709551615),
    (5, '2024-01-05', '2024-01-05 12:00Z', NULL,     'Ünï 😀',   20.00)`;
const TABLES = {
  postgres: `CREATE TABLE @.orders (id int, day date, at timestamptz, status text, label text, amount numeric(22,2));${ORDERS}`,
  clickhouse: [
    `CREATE TABLE @.orders (id Int32, day Date, at DateTime('UTC'), status Nullable(String), label String, amount Decimal(22, 2)) ORDER BY id`,
    ORDERS.replaceAll(/:(\d\d)Z'/g, ":$1'"),
  ],
};

const COLUMNS = byEngine({
  postgres: {
    id: "integer",
    day: "date",
    at: "timestamptz",
    status: "text",
    label: "text",
    amount: "numeric(22,2)",
  },
  clickhouse: {
    id: "Int32",
    day: "Date",
    at: "DateTime('UTC')",
    status: "Nullable(String)",
    label: "String",
    amount: "Decimal(22, 2)",
  },
});

const PARAMETERS = [
  { name: "status", column: "status", operator: "=", type: "string" },
  { name: "status_lower", column: "status", operator: "=", type: "string", case: "lower" },
  { name: "status_upper", column: "status", operator: "=", type: "string", case: "upper" },
  { name: "label", column: "label", operator: "ILIKE", type: "string" },
  { name: "from", column: "day", operator: ">=", type: "date" },
  { name: "to", column: "day", operator: "<=", type: "date" },
  { name: "at_from", column: "at", operator: ">=", type: "date" },
  { name: "at_to", column: "at", operator: "<=", type: "date" },
  { name: "any", column: "status", operator: "IN", type: "string_list", max_items: 3 },
  { name: "any_lower", column: "status", operator: "IN", type: "string_list", case: "lower" },
  { name: "any_many", column: "status", operator: "IN", type: "string_list", max_items: 20_000 },
  { name: "id", column: "id", operator: "=", type: "string" },
  { name: "amount", column: "amount", operator: "=", type: "string" },
];

const BY_ID = [{ column: "id", direction: "ASC" }];

/** `meta.api` of the endpoints, by resource; `legacy` has none. */
const APIS: Readonly<Record<string, unknown>> = {
  filters: { methods: ["GET", "POST"], allow_unfiltered: true, parameters: PARAMETERS, sort: BY_ID },
  guarded: { methods: ["GET", "POST"], parameters: PARAMETERS, require_any_of: ["from", "to"], sort: BY_ID },
  needy: {
    methods: ["GET", "POST"],
    parameters: PARAMETERS,
    sort: BY_ID,
    pagination: { enabled: true, default_limit: 2, max_limit: 3 },
  },
  pages: {
    methods: ["GET", "POST"],
    allow_unfiltered: true,
    parameters: PARAMETERS,
    sort: BY_ID,
    pagination: { enabled: true, default_limit: 2, max_limit: 3 },
  },
  envelope: {
    methods: ["GET", "POST"],
    allow_unfiltered: true,
    parameters: PARAMETERS,
    sort: BY_ID,
    pagination: { enabled: true, default_limit: 2, max_limit: 10, response: "envelope" },
  },
  sorted: {
    methods: ["GET", "POST"],
    allow_unfiltered: true,
    parameters: PARAMETERS,
    sort: [
      { column: "amount", direction: "DESC" },
      { column: "id", direction: "DESC" },
    ],
    sortable_fields: ["id", "amount", "day"],
  },
  legacy: undefined,
  get_only: { allow_unfiltered: true, sort: BY_ID },
};

function ordersModel(schema: string, resource: string, api: unknown, tier?: string): TestModel {
  return {
    name: "orders",
    schema,
    tags: ["production", "shop", `api:${resource}`, ...(tier === undefined ? [] : [tier])],
    columns: COLUMNS,
    ...(api === undefined ? {} : { api }),
  };
}

/**
 * Serves the orders under `/v1/shop/<resource>` for each of `APIS`, and under `/v1/shop/<tier>` for each tier. Tier3 is
 * what most tests ask with: its window outlasts them.
 */
export async function serveOrders(
  variables: Readonly<Record<string, string>> = {},
): Promise<{ readonly url: string; readonly schema: string }> {
  const schema = await ownTables(TABLES);
  const models = [
    ...Object.entries(APIS).map(([resource, api]) => ordersModel(schema, resource, api)),
    ...Object.keys(KEYS).map((tier) => ordersModel(schema, tier, APIS["filters"], tier)),
  ];
  const manifest = manifestOf(
    models.map((model, i) => ({ ...model, name: `orders_${String(i)}`, alias: "orders" })),
  );
  return { url: await serveManifest(manifest, variables), schema };
}

/** Ids of the rows of an answer, in its order. */
export function idsOf(text: string): readonly number[] {
  return (JSON.parse(text) as readonly { id: number }[]).map(({ id }) => id);
}
