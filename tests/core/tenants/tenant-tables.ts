import { seeded } from "../../metrics/random-requests.js";
import { byEngine, ownTables } from "../../support/engines.js";

type Value = string | number | null;
type Row = readonly Value[];

/** The column `org_id` of a table has the place 1 in its rows. */
const TABLES: Readonly<Record<string, string>> = {
  orders: "order_id K, org_id T, customer_id I, country T, note T, email T, ordered_at P, amount B, fee N",
  visits: "visit_id K, org_id T, customer_id I, channel T, visited_at D",
  countries: "code T, org_id T, region T, capital T",
  customers: "customer_id I, country_code T",
  rates: "n K, label T, day D, value N",
};

const WITH_OWNER = ["orders", "visits", "countries"];

const TYPES: Readonly<Record<string, string>> = byEngine({
  postgres: {
    ...{ K: "int", I: "int", B: "bigint", T: "text", D: "date", P: "timestamp", N: "numeric(12, 2)" },
  },
  clickhouse: {
    ...{ K: "Int32", I: "Nullable(Int32)", B: "Nullable(Int64)", T: "Nullable(String)" },
    ...{ D: "Nullable(Date32)", P: "Nullable(DateTime64(0, 'UTC'))", N: "Nullable(Decimal(12, 2))" },
  },
});

export function columnsOf(table: string): Readonly<Record<string, string>> {
  const pairs = (TABLES[table] ?? "").split(", ").map((each) => each.split(" "));
  return Object.fromEntries(pairs.map(([name = "", type = ""]) => [name, TYPES[type] ?? ""]));
}

/** Texts of an organization have its name in them, so that no answer to another can have one unseen. */
function rowsOf(): Readonly<Record<string, readonly Row[]>> {
  const random = seeded(81);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const day = (): Date => new Date(Date.UTC(2026, 0, 1) + Math.floor(random() * 150 * 86_400) * 1000);
  const orders = Array.from({ length: 240 }, (_, i): Row => {
    const org = pick(["acme", "acme", "other", "other", null]);
    return [
      ...[i + 1, org, pick([10, 20, 30, 40, null]), pick(["AT", "CH", "Zürich's", "", null])],
      ...[`${org ?? "none"}-${String(i % 7)}`, `mail${String(i)}.${org ?? "none"}`],
      random() < 0.05 ? null : day().toISOString().slice(0, 19).replace("T", " "),
      random() < 0.1 ? null : Math.floor(random() * 2000) - 300,
      random() < 0.1 ? null : Math.floor(random() * 100_000) / 100,
    ];
  });
  const visits = Array.from({ length: 120 }, (_, i): Row => {
    const org = pick(["acme", "acme", "other", null]);
    const channel = pick(["web", "app", `${org ?? "none"}-shop`, null]);
    return [i + 1, org, pick([10, 20, 30, null]), channel, day().toISOString().slice(0, 10)];
  });
  return {
    orders,
    visits,
    countries: [
      ["AT", "acme", "EU", "vienna-acme"],
      ["CH", "other", "alps", "bern-other"],
      ["DE", "acme", "acme-land", "berlin-acme"],
      ["FR", "other", "EU", "paris-other"],
      ["IT", null, "EU", "rome-none"],
    ],
    customers: [
      [10, "AT"],
      [20, "CH"],
      [30, "DE"],
      [40, null],
    ],
    rates: Array.from({ length: 40 }, (_, i) => [i + 1, `rate-${String(i % 5)}`, "2026-01-01", i / 4]),
  };
}

const written = (value: Value): string =>
  value === null ? "NULL" : typeof value === "number" ? String(value) : `'${value.replaceAll("'", "''")}'`;

const DAYS = byEngine({
  postgres: `CREATE TABLE @.days AS SELECT ('2025-12-01'::date + n) AS day, 'Q' || to_char('2025-11-01'::date + n, 'YYYY"-"Q') AS fiscal FROM generate_series(0, 240) AS n`,
  clickhouse: `CREATE TABLE @.days ENGINE = MergeTree ORDER BY day AS SELECT toDate32('2025-12-01') + number AS day,
    concat('Q', toString(toYear(toDate32('2025-11-01') + number)), '-', toString(toQuarter(toDate32('2025-11-01') + number))) AS fiscal FROM numbers(241)`,
});

/** A roll-up of orders by day. */
const ORDERS_BY_DAY = `CREATE TABLE @.orders_by_day ${byEngine({ postgres: "AS", clickhouse: "ENGINE = MergeTree ORDER BY tuple() AS" })}
  SELECT org_id, country, customer_id, ${byEngine({ postgres: "ordered_at::date", clickhouse: "toDate32(ordered_at)" })} AS day,
  sum(amount) AS revenue_sum, sum(fee) AS fee_sum, count(order_id) AS order_count FROM @.orders
  GROUP BY org_id, country, customer_id, ${byEngine({ postgres: "ordered_at::date", clickhouse: "toDate32(ordered_at)" })}`;

/** All rows, or those of one organization alone; without a rule of own rows both are what it may read. */
export function tenantTables(org: string | null): Promise<string> {
  const rows = rowsOf();
  const statements = Object.entries(TABLES).flatMap(([name, columns]) => {
    const types = columns.replaceAll(/ ([A-Z])\b/g, (_, letter: string) => ` ${TYPES[letter] ?? ""}`);
    const [key = ""] = columns.split(" ");
    const end = byEngine({
      postgres: "",
      clickhouse: ` ENGINE = MergeTree ORDER BY ${columns.includes(" K") ? key : "tuple()"}`,
    });
    const own = (rows[name] ?? []).filter(
      (row) => org === null || !WITH_OWNER.includes(name) || row[1] === org,
    );
    return [
      `CREATE TABLE @.${name} (${types})${end}`,
      `INSERT INTO @.${name} VALUES ${own.map((row) => `(${row.map(written).join(", ")})`).join(", ")}`,
    ];
  });
  const all = [...statements, DAYS, ORDERS_BY_DAY];
  return ownTables({ postgres: all.join(";\n"), clickhouse: all });
}
