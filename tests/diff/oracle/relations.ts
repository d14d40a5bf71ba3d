import type { CatalogueEntry } from "../../../generator/catalogue/catalogue.js";
import { byEngine, engine } from "../../support/engines.js";
import { feature, type Raw } from "../feature-model.js";
import { clickhouseTable, translated } from "./clickhouse.js";

/** A row as texts of its columns; null for null. */
export type StoredRow = Readonly<Record<string, string | null>>;

const ROWS = 12;

/**
 * A relation with what its model declares. What a test or a constraint of either entry promises, its rows keep; where none
 * does, one row does not.
 */
export function relationSql(
  entry: CatalogueEntry,
  other: CatalogueEntry,
  schema: string,
  logical: string,
): { readonly sql: string; readonly rows: readonly StoredRow[] } {
  const declared = entry.columns.map(({ name, type }) => [name, type] as const);
  const columns: (readonly [string, string | null])[] =
    declared.length > 0
      ? [...declared]
      : Object.values<Raw>(DEFAULTS).map(({ name, data_type }) => [name, data_type]);
  columns.push(["hidden", byEngine({ postgres: "text", clickhouse: "Nullable(String)" })]);
  const rows = Array.from({ length: ROWS }, (_, r) =>
    Object.fromEntries(
      columns.map(([name, type]) => [name, valueOf(name, type, r, promisesOf(name, entry, other), logical)]),
    ),
  );
  const target = `"${schema}"."${entry.relation[1]}"`;
  if (engine === "clickhouse") return { sql: clickhouseTable(target, columns, rows), rows };
  const selected = columns.map(([name, type]) => `(${castOf(name, type)}) AS "${name}"`);
  const values = rows.map(
    (row, r) => `(${[String(r), ...columns.map(([name]) => literal(row[name] ?? null))].join(", ")})`,
  );
  const names = columns.map(([name]) => `"${name}"`).join(", ");
  return {
    sql: `CREATE TABLE ${target} AS SELECT ${selected.join(", ")} FROM (VALUES ${values.join(", ")}) AS v (r, ${names}) ORDER BY r`,
    rows,
  };
}

/** What holds of a column's values, besides its type. */
interface Promises {
  readonly nullable: boolean;
  readonly acceptedValues: readonly string[] | null;
}

function promisesOf(name: string, ...entries: readonly CatalogueEntry[]): Promises {
  const columns = entries.map(({ columns }) => columns.find((column) => column.name === name));
  const types = columns.map((column) => column?.type);
  const accepted = columns.flatMap((column) => (column?.acceptedValues ? [column.acceptedValues] : []));
  return {
    nullable: types.every((type) => type == null || type.endsWith(" null") || type.includes("Nullable(")),
    acceptedValues: accepted.reduce<readonly string[] | null>(
      (all, one) => (all === null ? one : all.filter((value) => one.includes(value))),
      null,
    ),
  };
}

const DEFAULTS: Raw = byEngine({
  postgres: feature(),
  clickhouse: translated(feature()),
}).nodes["model.shop.sales"].columns;

/** From text to the declared type, as a model that casts its source does. Numbers are rounded, not refused. */
function castOf(name: string, type: string | null): string {
  const declared = type ?? DEFAULTS[name]?.data_type ?? "text";
  const bare = declared.replace(/ null$/, "");
  const isNumber = /^(?:smallint|integer|bigint|numeric|double|real)/.test(bare);
  const through = isNumber ? (bare.endsWith("[]") ? "numeric[]" : "numeric") : "text";
  return `"${name}"::${through}::${bare}`;
}

function literal(text: string | null): string {
  return text === null ? "NULL::text" : `'${text.replaceAll("'", "''")}'::text`;
}

/** The logical relations other than that of the first model have other rows. */
const OFFSETS: Readonly<Record<string, number>> = { analytics_sales: 0 };

function valueOf(name: string, type: string | null, r: number, facts: Promises, logical: string) {
  const n = r + (OFFSETS[logical] ?? 15);
  const isNullable = facts.nullable && (engine === "postgres" || (type ?? "Nullable(").includes("Nullable("));
  if (isNullable && r === 3 && !["payload", "day"].includes(name)) return null;
  switch (name) {
    case "id":
      return String(n + 1);
    case "shop":
      if (facts.acceptedValues != null) return facts.acceptedValues[n % facts.acceptedValues.length] ?? "";
      return `shop ${String((n % 3) + 1)}`;
    case "status":
      return facts.acceptedValues == null
        ? (["paid", "open", "void"][r % 3] ?? "")
        : (facts.acceptedValues[r % facts.acceptedValues.length] ?? "");
    case "ratio":
      return String(r * 1.0687654321 - 7.523456789);
    case "code":
      return textOf(type, r);
    default:
      return (VALUES[name] ?? ((row: number) => `${name} ${String(row)}`))(n);
  }
}

function textOf(type: string | null, r: number): string {
  if (/^(?:time|interval)/.test(type ?? "")) return `10:00:${day(r)}.25`;
  return `Code-${String(r)}-abcdefgh`;
}

const VALUES: Readonly<Record<string, (n: number) => string>> = {
  amount: (n) => `${String(1000 + n)}.12345678`,
  quantity: (n) => `${String(n + 5)}.75`,
  total: (n) => String(9_007_199_254_740_993n + BigInt(n)),
  sold_at: (n) => `2026-01-${day(n)} 10:00:00.123456+00`,
  local_time: (n) => `2026-01-${day(n)} 10:00:00.5`,
  day: (n) => `2026-01-${day(n)}`,
  reference: (n) => `A0EEBC99-9C0B-4EF8-BB6D-6BB9BD3800${day(n)}`,
  labels: (n) => `{${String(n)}.12345678901234567,2}`,
  payload: (n) => `{"a": ${String(n)}}`,
};

function day(n: number): string {
  return String(n + 1).padStart(2, "0");
}
