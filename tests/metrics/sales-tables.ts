import { ownDatabase } from "../support/clickhouse.js";
import { ownSchema } from "../support/database.js";
import { type TestModel } from "../support/manifest.js";
import { seeded } from "./random-requests.js";

/** Rows of sales: regions, products and amounts of which some are null, over two years with a leap day. */
const ROWS = 600;

const FIRST_DAY = Date.UTC(2023, 0, 1);
const DAYS = 820;

type Sale = readonly [
  region: string | null,
  product: string,
  day: string,
  amount: number | null,
  buyer: string,
  org: string,
];

function sales(): readonly Sale[] {
  const random = seeded(75);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  return Array.from({ length: ROWS }, () => [
    pick(["EU", "US", "ASIA", "Zürich's", null]),
    pick(["book", "pen", "ink", "cup", "mug", "hat", "bag"]),
    new Date(FIRST_DAY + Math.floor(random() * DAYS) * 86_400_000).toISOString().slice(0, 10),
    random() < 0.1 ? null : Math.floor(random() * 2000) - 300,
    `b${String(Math.floor(random() * 40))}`,
    pick(["acme", "other"]),
  ]);
}

const literal = (value: string | number | null): string =>
  value === null ? "NULL" : typeof value === "number" ? String(value) : `'${value.replaceAll("'", "''")}'`;

const VALUES = sales()
  .map((sale) => `(${sale.map(literal).join(", ")})`)
  .join(", ");

export const postgresSales = (): Promise<string> =>
  ownSchema(
    `CREATE TABLE @.sales (region text, product text, day date, amount bigint, buyer text, org text); INSERT INTO @.sales VALUES ${VALUES}; CREATE VIEW @.acme AS SELECT * FROM @.sales WHERE org = 'acme'`,
  );

export const clickhouseSales = (): Promise<string> =>
  ownDatabase([
    "CREATE TABLE @.sales (region LowCardinality(Nullable(String)), product String, day Date32, amount Nullable(Int64), buyer String, org String) ENGINE = MergeTree ORDER BY day",
    `INSERT INTO @.sales VALUES ${VALUES}`,
    "CREATE VIEW @.acme AS SELECT * FROM @.sales WHERE org = 'acme'",
  ]);

const date = (name: string, column: string, operator: string) => ({ name, column, operator, type: "date" });

/** `sales`; `own_sales`, of which callers read their own rows, and `acme_sales`, those of one; and `strict_sales`, which needs a filter. */
export function salesModels(schema: string, types: Readonly<Record<string, string>>): readonly TestModel[] {
  const model: TestModel = {
    name: "sales",
    schema,
    columns: types,
    api: {
      allow_unfiltered: true,
      methods: ["GET", "POST"],
      parameters: [
        { name: "product", column: "product", operator: "IN", type: "string_list" },
        date("start_date", "day", ">="),
        date("end_date", "day", "<="),
      ],
    },
    routewright: {
      filters: ["region", "day"],
      filter: true,
      aggregate: {
        group_by: [
          "region",
          "product",
          { column: "day", grains: ["day", "week", "month", "quarter", "year"] },
        ],
        measures: {
          orders: { agg: "count" },
          rank: { agg: "count" },
          revenue: { agg: "sum", column: "amount" },
          buyers: { agg: "count_distinct", column: "buyer" },
          mean: { agg: "average", column: "amount" },
          least: { agg: "min", column: "amount" },
          refunds: { agg: "sum", column: "amount", filter: { column: "amount", operator: "lt", value: 0 } },
          last_day: { agg: "max", column: "day" },
        },
      },
    },
  };
  const own = { ...(model.routewright as object), rows: { column: "org", equals: "org" } };
  return [
    model,
    { ...model, name: "own_sales", alias: "sales", routewright: own },
    { ...model, name: "acme_sales", alias: "acme" },
    {
      ...model,
      name: "strict_sales",
      alias: "sales",
      api: { ...(model.api as object), allow_unfiltered: false },
    },
  ];
}
