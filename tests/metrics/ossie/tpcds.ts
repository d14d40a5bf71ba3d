import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { byEngine, engine, ownTables } from "../../support/engines.js";
import { ownFolder } from "../../support/service.js";
import { seeded } from "../random-requests.js";

interface Field {
  readonly name: string;
  readonly expression: {
    readonly dialects: readonly { readonly dialect: string; readonly expression: string }[];
  };
  readonly dimension?: { readonly is_time?: boolean };
}
interface Dataset {
  readonly name: string;
  readonly source: string;
  readonly primary_key: readonly string[];
  readonly fields: readonly Field[];
}
interface Relationship {
  readonly from: string;
  readonly from_columns: readonly string[];
  readonly to_columns: readonly string[];
}
interface Model {
  readonly datasets: readonly Dataset[];
  readonly relationships: readonly Relationship[];
  readonly metrics: readonly (Pick<Field, "name" | "expression"> & object)[];
}

/** Times that are dates: dbt cuts each time to days, and years, quarters and months by name have none. */
const DATES = ["d_date"];

/** A denominator of zero gives null without this, which dbt reads as a sum of a sum. */
const withoutNullIf = (text: string): string => text.replace(/NULLIF\((.+), 0\)/, "$1");

/**
 * The document as dbt 1.12 reads it (0.1.1): a column that leads to another dataset has the name of that one's key, as dbt joins by
 * names, and of a key of two columns the last, since dbt has no other.
 */
export function asRead(text: string): object {
  const { semantic_model: models } = parse(text) as { readonly semantic_model: readonly Model[] };
  return { version: "0.1.1", semantic_model: models.map(modelAsRead) };
}

function modelAsRead({ datasets, relationships, metrics, ...model }: Model): object {
  const keyOf = (dataset: Dataset, column: string): string =>
    relationships.find(({ from, from_columns: [own] }) => from === dataset.name && own === column)
      ?.to_columns[0] ?? column;
  const expression = (of: Field["expression"]) => ({
    dialects: of.dialects.map((each) => ({ ...each, expression: withoutNullIf(each.expression) })),
  });
  return {
    ...model,
    custom_extensions: [],
    datasets: datasets.map((dataset) => ({
      name: dataset.name,
      source: dataset.source,
      primary_key: dataset.primary_key.slice(-1),
      fields: withKey(dataset).map((field) => ({
        name: keyOf(dataset, field.name),
        expression: field.expression,
        dimension: { is_time: DATES.includes(field.name) },
      })),
    })),
    relationships: relationships.map((each) => ({ ...each, from_columns: each.to_columns })),
    metrics: metrics.map(({ name, expression: of }) => ({ name, expression: expression(of) })),
  };
}

function withKey({ primary_key: key, fields }: Dataset): readonly Field[] {
  const name = key.at(-1) ?? "";
  const expression = { dialects: [{ dialect: "ANSI_SQL", expression: name }] };
  return fields.some((field) => field.name === name) ? fields : [...fields, { name, expression }];
}

/** The manifest that dbt writes of the document, each metric with an endpoint of its name and all groups. */
export function manifestOf(document: object, dbt: string, schema: string): object {
  const folder = ownFolder();
  const write = (file: string, text: string): void => {
    mkdirSync(join(folder, file, ".."), { recursive: true });
    writeFileSync(join(folder, file), text);
  };
  const target = { type: "postgres", host: "127.0.0.1", port: 1, user: "none", password: "none" };
  const outputs = { test: { ...target, dbname: "tpcds", schema: "public", threads: 1 } };
  write("dbt_project.yml", JSON.stringify({ name: "tpcds", profile: "tpcds", "model-paths": ["models"] }));
  write("profiles.yml", JSON.stringify({ tpcds: { target: "test", outputs } }));
  for (const name of [...Object.keys(TABLES), "days"]) write(`models/${name}.sql`, "select 1 as one");
  const day = { name: "day", granularity: "day" };
  const days = { name: "days", time_spine: { standard_granularity_column: "day" }, columns: [day] };
  write("models/days.yml", JSON.stringify({ models: [days] }));
  write("osi/tpcds.json", JSON.stringify(document));
  execFileSync(dbt, ["parse", "--no-use-colors"], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  const text = readFileSync(join(folder, "target/manifest.json"), "utf8");
  const manifest = JSON.parse(text, (key, value: unknown) =>
    (key === "schema" || key === "schema_name") && value === "public" ? schema : value,
  ) as { metadata: object; metrics: Record<string, { name: string; config: object }> };
  for (const metric of Object.values(manifest.metrics)) {
    const meta = { routewright: { group_by: "all" } };
    Object.assign(metric, {
      config: { tags: ["production", "tpcds", `api:${metric.name}`, "tier0"], meta },
      meta,
    });
  }
  return { ...manifest, metadata: { ...manifest.metadata, adapter_type: engine } };
}

/** Columns: I, an integer; T, a text; D, a date; N, a decimal. */
const TABLES = {
  store_sales:
    "ss_sold_date_sk I, ss_item_sk I, ss_customer_sk I, ss_store_sk I, ss_ticket_number I, ss_quantity I, ss_sales_price N, ss_ext_sales_price N, ss_net_profit N",
  date_dim: "d_date_sk I, d_date D, d_year I, d_quarter_name T, d_month_name T",
  customer: "c_customer_sk I, c_customer_id T, c_first_name T, c_last_name T, c_email_address T",
  item: "i_item_sk I, i_item_id T, i_item_desc T, i_brand T, i_category T, i_current_price N",
  store: "s_store_sk I, s_store_id T, s_store_name T, s_city T, s_state T, s_number_employees I",
} as const;

type Value = string | number | null;

/** Random rows: some keys lead nowhere, some values are null. */
function rowsOf(seed: number): Readonly<Record<keyof typeof TABLES, readonly (readonly Value[])[]>> {
  const random = seeded(seed);
  const below = (count: number): number => Math.floor(random() * count);
  const pick = <T>(list: readonly T[]): T | null =>
    random() < 0.08 ? null : (list[below(list.length)] as T);
  const cents = (most: number): number | null =>
    random() < 0.05 ? null : (below(most * 100) - most * 20) / 100;
  const many = (count: number, row: (i: number) => readonly Value[]) =>
    Array.from({ length: count }, (_, i) => row(i + 1));
  const key = (count: number): number | null => (random() < 0.05 ? null : 1 + below(count + 2));
  const names = ["Ada", "Bo", "Cy", "Di"];
  return {
    store_sales: many(900, (i) => [
      key(200),
      key(25),
      key(40),
      key(6),
      i,
      below(90),
      cents(90),
      cents(900),
      cents(200),
    ]),
    date_dim: many(200, (i) => {
      const day = new Date(Date.UTC(2024, 9, 1 + i));
      const quarter = `${String(day.getUTCFullYear())}Q${String(1 + Math.floor(day.getUTCMonth() / 3))}`;
      const month = day.toLocaleString("en", { month: "long", timeZone: "UTC" });
      return [i, day.toISOString().slice(0, 10), day.getUTCFullYear(), quarter, month];
    }),
    customer: many(40, (i) => [
      i,
      `C${String(i)}`,
      pick(names),
      pick(["Ng", "Öz", "O'Hara"]),
      pick([`c${String(i)}@x.test`]),
    ]),
    item: many(25, (i) => [
      i,
      `I${String(i)}`,
      pick(["a", "b"]),
      pick(["B1", "B2", "B3"]),
      pick(["Books", "Home", "Music"]),
      cents(50),
    ]),
    store: many(6, (i) => [
      i,
      `S${String(i)}`,
      pick(["one", "two"]),
      pick(["Bern", "Graz"]),
      pick(["TN", "CA"]),
      random() < 0.2 ? 0 : below(300),
    ]),
  };
}

const written = (value: Value): string =>
  value === null ? "NULL" : typeof value === "number" ? String(value) : `'${value.replaceAll("'", "''")}'`;

export function tpcdsTables(seed: number): Promise<string> {
  const types: Readonly<Record<string, string>> = byEngine({
    postgres: { I: "int", T: "text", D: "date", N: "numeric(9, 2)" },
    clickhouse: {
      I: "Nullable(Int32)",
      T: "Nullable(String)",
      D: "Nullable(Date32)",
      N: "Nullable(Decimal(9, 2))",
    },
  });
  const end = byEngine({ postgres: "", clickhouse: " ENGINE = MergeTree ORDER BY tuple()" });
  const statements = Object.entries(rowsOf(seed)).flatMap(([name, rows]) => [
    `CREATE TABLE @.${name} (${TABLES[name as keyof typeof TABLES].replaceAll(/ ([ITDN])\b/g, (_, type: string) => ` ${types[type] ?? ""}`)})${end}`,
    `INSERT INTO @.${name} VALUES ${rows.map((row) => `(${row.map(written).join(", ")})`).join(", ")}`,
  ]);
  const days = `CREATE TABLE @.days (day ${types["D"] ?? ""})${end}`;
  return ownTables({ postgres: [...statements, days].join(";\n"), clickhouse: [...statements, days] });
}
