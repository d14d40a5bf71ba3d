/**
 * The metrics of Apache Ossie's TPC-DS example beside SQL by hand. `OSSIE_TPCDS`: `examples/tpcds_semantic_model.yaml` of
 * apache/ossie, which is not part of this repository; `OSSIE_DBT`: the program dbt 1.12; `OSSIE_SEED`: other rows.
 */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { byEngine, ownerQuery } from "../../support/engines.js";
import { KEYS, serveManifest } from "../../support/service.js";
import { askedRows } from "../random-requests.js";
import { asRead, manifestOf, tpcdsTables } from "./tpcds.js";

const { OSSIE_TPCDS: file = "", OSSIE_DBT: dbt = "", OSSIE_SEED: seed = "75" } = process.env;

/** The keys of the rows of sales, by those of the other tables. */
const OF_SALES: Readonly<Record<string, string>> = {
  c_customer_sk: "ss_customer_sk",
  i_item_sk: "ss_item_sk",
  s_store_sk: "ss_store_sk",
  d_date_sk: "ss_sold_date_sk",
};

const NAME = "c_first_name || ' ' || c_last_name";
const truncated = (unit: string): string =>
  byEngine({
    postgres: `date_trunc('${unit}', d_date)::date`,
    clickhouse: unit === "week" ? "toStartOfWeek(d_date, 1)" : `toDate32(date_trunc('${unit}', d_date))`,
  });

/** A group as SQL, of sales or of the table that it is of. */
function sqlOf(group: string, ofSales: boolean): string {
  const [key = "", dimension, grain] = group.split("__");
  if (dimension === undefined) return ofSales ? (OF_SALES[key] ?? key) : key;
  if (grain !== undefined) return truncated(grain);
  return dimension === "customer_full_name" ? NAME : dimension;
}

/** Conditions of the API and the same in SQL. */
const FILTERS: readonly (readonly [string, string])[] = [
  ["", "TRUE"],
  ["i_item_sk__i_category=Books", "i_category = 'Books'"],
  ["i_item_sk__i_brand[in]=B1,B3", "i_brand IN ('B1', 'B3')"],
  ["s_store_sk__s_state[ne]=TN", "s_state <> 'TN'"],
  ["c_customer_sk__c_last_name[null]=true", "c_last_name IS NULL"],
  ["c_customer_sk__c_last_name=O'Hara", "c_last_name = 'O''Hara'"],
  ["d_date_sk__d_date[gte]=2024-12-30", "d_date >= '2024-12-30'"],
  ["c_customer_sk[in]=1,2,3,41", "@c_customer_sk IN (1, 2, 3, 41)"],
];

const GROUPS: readonly (readonly string[])[] = [
  [],
  ...[
    "i_item_sk__i_category",
    "d_date_sk__d_date__month",
    "d_date_sk__d_date__week",
    "d_date_sk__d_year",
  ].map((name) => [name]),
  ["i_item_sk__i_brand", "s_store_sk__s_state"],
  ["d_date_sk__d_quarter_name", "c_customer_sk__customer_full_name"],
  ["s_store_sk", "d_date_sk__d_date__quarter"],
];
const OF_CUSTOMER = ["c_customer_sk", "c_customer_sk__c_last_name", "c_customer_sk__customer_full_name"];
const OF_STORE = ["s_store_sk", "s_store_sk__s_city", "s_store_sk__s_state", "s_store_sk__s_store_name"];

const JOINED = `@.store_sales LEFT JOIN @.customer ON c_customer_sk = ss_customer_sk LEFT JOIN @.item ON i_item_sk = ss_item_sk
  LEFT JOIN @.store ON s_store_sk = ss_store_sk LEFT JOIN @.date_dim ON d_date_sk = ss_sold_date_sk`;

interface Asked {
  readonly groups: readonly string[];
  /** The condition. */
  readonly where: string;
}

type Statement = (asked: Asked) => string;

const text = (sql: string): string =>
  byEngine({ postgres: `(${sql})::text`, clickhouse: `toString(${sql})` });
const listed = (groups: readonly string[], ofSales: boolean): string =>
  groups.map((group, i) => `${sqlOf(group, ofSales)} AS g${String(i)}, `).join("");
const grouped = (groups: readonly string[]): string =>
  groups.length === 0 ? "" : ` GROUP BY ${groups.map((_, i) => `g${String(i)}`).join(", ")}`;
const conditionOf = (where: string, ofSales: boolean): string =>
  where.replaceAll(/@(\w+)/g, (_, key: string) => (ofSales ? (OF_SALES[key] ?? key) : key));
const shown = (groups: readonly string[], value: string): string =>
  [...groups.map((_, i) => text(`g${String(i)}`)), text(value)]
    .map((sql, i) => `${sql} AS c${String(i)}`)
    .join(", ");

const sumOf =
  (column: string): Statement =>
  ({ groups, where }) =>
    `SELECT ${shown(groups, "v")} FROM (SELECT ${listed(groups, true)}sum(${column}) AS v FROM ${JOINED} WHERE ${conditionOf(where, true)}${grouped(groups)}) AS sums`;

/** Two totals over tables of their own, which meet by their groups. */
const ratioOf =
  (total: string, table: string): Statement =>
  ({ groups, where }) => {
    const types = byEngine({
      postgres: ["numeric", "float8"],
      clickhouse: ["Nullable(Decimal(38, 2))", "Nullable(Float64)"],
    });
    const nothing = `CAST(NULL AS ${types[0] ?? ""})`;
    const names = groups.map((_, i) => `g${String(i)}, `).join("");
    const sales = `SELECT ${listed(groups, true)}CAST(sum(ss_ext_sales_price) AS ${types[0] ?? ""}) AS a, ${nothing} AS b FROM ${JOINED} WHERE ${conditionOf(where, true)}${grouped(groups)}`;
    const others = `SELECT ${listed(groups, false)}${nothing} AS a, CAST(${total} AS ${types[0] ?? ""}) AS b FROM @.${table} WHERE ${conditionOf(where, false)}${grouped(groups)}`;
    const both = `SELECT ${names}sum(a) AS v, sum(b) AS n FROM (${sales} UNION ALL ${others}) AS parts${grouped(groups)}`;
    return `SELECT ${shown(groups, `CAST(v AS ${types[1] ?? ""}) / nullif(CAST(n AS ${types[1] ?? ""}), 0)`)} FROM (${both}) AS totals`;
  };

const of = (prefix: string): readonly (readonly [string, string])[] =>
  FILTERS.filter(([condition]) => condition === "" || condition.startsWith(prefix));

const METRICS: Readonly<
  Record<
    string,
    {
      readonly sql: Statement;
      readonly groups: readonly (readonly string[])[];
      readonly filters: typeof FILTERS;
    }
  >
> = {
  total_sales: { sql: sumOf("ss_ext_sales_price"), groups: GROUPS, filters: FILTERS },
  total_profit: { sql: sumOf("ss_net_profit"), groups: GROUPS, filters: FILTERS },
  sales_by_brand: { sql: sumOf("ss_ext_sales_price"), groups: [["i_item_sk__i_brand"]], filters: FILTERS },
  customer_lifetime_value: {
    sql: ratioOf("count(DISTINCT c_customer_sk)", "customer"),
    groups: [[], ...OF_CUSTOMER.map((name) => [name]), OF_CUSTOMER],
    filters: of("c_customer_sk"),
  },
  store_productivity: {
    sql: ratioOf("sum(s_number_employees)", "store"),
    groups: [[], ...OF_STORE.map((name) => [name]), OF_STORE.slice(1)],
    filters: of("s_store_sk"),
  },
};

/** Without zeros behind the point, and without an order. */
function sorted(rows: readonly (readonly (string | null)[])[]): readonly string[] {
  const plain = (value: string | null) =>
    value !== null && /^-?\d+\.\d+$/.test(value) ? value.replace(/\.?0+$/, "") : value;
  return rows.map((row) => JSON.stringify(row.map(plain))).toSorted();
}

async function byHand(schema: string, statement: string, columns: number): Promise<readonly string[]> {
  const sql = statement.replaceAll("@.", `${schema}.`);
  const answer = await ownerQuery(
    byEngine({ postgres: sql, clickhouse: `${sql} FORMAT JSONEachRow SETTINGS join_use_nulls = 1` }),
  );
  const lines =
    typeof answer === "string"
      ? answer.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as unknown]))
      : answer;
  const names = Array.from({ length: columns }, (_, i) => `c${String(i)}`);
  return sorted(
    (lines as Record<string, string | null>[]).map((row) => names.map((name) => row[name] ?? null)),
  );
}

describe.skipIf(!existsSync(file) || !existsSync(dbt))("the example of Apache Ossie", () => {
  it("gives the numbers of SQL by hand, by every group and condition", async () => {
    const schema = await tpcdsTables(Number(seed));
    const url = await serveManifest(manifestOf(asRead(readFileSync(file, "utf8")), dbt, schema));
    const compared = { answers: 0, rows: 0 };
    for (const [metric, { sql, groups: all, filters }] of Object.entries(METRICS))
      for (const groups of all)
        for (const [condition, where] of filters) {
          const parts = [
            ...(groups.length > 0 ? [`group_by=${groups.join(",")}`] : []),
            ...(condition === "" ? [] : [condition]),
          ];
          const request = `/v1/tpcds/${metric}?${parts.join("&")}`;
          const { status, text: body, rows } = await askedRows(url, encodeURI(request), KEYS.tier3);
          expect([request, status, status === 200 ? "" : body]).toEqual([request, 200, ""]);
          const got = sorted(rows.map((row) => [...groups, metric].map((name) => row[name] ?? null)));
          expect([request, got]).toEqual([
            request,
            await byHand(schema, sql({ groups, where }), groups.length + 1),
          ]);
          compared.answers++;
          compared.rows += got.length;
        }
    expect(compared.answers).toBeGreaterThan(150);
    expect(compared.rows).toBeGreaterThan(1000);
  }, 600_000);
});
