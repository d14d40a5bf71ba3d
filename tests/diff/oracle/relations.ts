import type { CatalogueEntry } from "../../../generator/catalogue/catalogue.js";
import type { ColumnGuarantees } from "../../../generator/manifest/model-columns.js";
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
interface Promises extends ColumnGuarantees {
  readonly nullable: boolean;
  readonly acceptedValues: readonly string[] | null;
}

function promisesOf(name: string, ...entries: readonly CatalogueEntry[]): Promises {
  const columns = entries.map(({ columns }) => columns.find((column) => column.name === name));
  const types = columns.map((column) => column?.type);
  const accepted = columns.flatMap((column) => (column?.acceptedValues ? [column.acceptedValues] : []));
  const bounds = (key: "minimum" | "maximum"): number[] => columns.flatMap((one) => one?.[key] ?? []);
  const [minimum, maximum] = [Math.max(...bounds("minimum")), Math.min(...bounds("maximum"))];
  const references = columns.find((one) => one?.references !== undefined)?.references;
  return {
    nullable: types.every((type) => type == null || type.endsWith(" null") || type.includes("Nullable(")),
    acceptedValues: accepted.reduce<readonly string[] | null>(
      (all, one) => (all === null ? one : all.filter((value) => one.includes(value))),
      null,
    ),
    ...(columns.some((one) => one?.unique) && { unique: true }),
    ...(Number.isFinite(minimum) && { minimum }),
    ...(Number.isFinite(maximum) && { maximum }),
    ...(columns.some((one) => one?.exclusive) && { exclusive: true }),
    ...(references !== undefined && { references }),
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
      return String(r === ROWS - 1 && !facts.unique ? n : n + 1);
    case "shop":
      if (facts.acceptedValues != null) return facts.acceptedValues[n % facts.acceptedValues.length] ?? "";
      return facts.references === undefined && r === 6 ? "nowhere" : `shop ${String((n % 3) + 1)}`;
    case "status":
      return facts.acceptedValues == null
        ? (["paid", "open", "void"][r % 3] ?? "")
        : (facts.acceptedValues[r % facts.acceptedValues.length] ?? "");
    case "ratio":
      return ratioOf(r, facts);
    case "code":
      return textOf(type, r, facts);
    default:
      return (VALUES[name] ?? ((row: number) => `${name} ${String(row)}`))(n);
  }
}

/** Within the documented bounds; a row lies outside where a bound is open. */
function ratioOf(r: number, { minimum, maximum, exclusive }: Promises): string {
  if (minimum === undefined && r === 1) return "-7.523456789";
  if (maximum === undefined && r === 2) return "17.523456789";
  if (r === 4 && minimum !== undefined && !exclusive) return String(minimum);
  const [lower, upper] = [minimum ?? 0, maximum ?? (minimum ?? 0) + 1];
  return String(lower + (upper - lower) * (0.1 + r * 0.0687654321));
}

function textOf(type: string | null, r: number, facts: Promises): string {
  if (/^(?:time|interval)/.test(type ?? "")) return `10:00:${day(r)}.25`;
  return facts.references === undefined && r === 6 ? "Unknown-code" : `Code-${String(r)}-abcdefgh`;
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
