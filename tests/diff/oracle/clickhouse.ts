import type { Raw } from "../feature-model.js";
import type { StoredRow } from "./relations.js";

/** A manifest with ClickHouse's types in place of PostgreSQL's, for the same changes on the other engine. */
export function translated(manifest: Raw): Raw {
  const copy = structuredClone(manifest);
  copy.metadata.adapter_type = "clickhouse";
  for (const node of [...Object.values<Raw>(copy.nodes), ...Object.values<Raw>(copy.sources ?? {})])
    for (const column of Object.values<Raw>(node.columns ?? {})) {
      if (column.data_type == null) continue;
      const isRequired = [column, node].some(({ constraints = [] }) =>
        constraints.some(
          ({ type, columns }: Raw) =>
            ["not_null", "primary_key"].includes(type) && (columns?.includes(column.name) ?? true),
        ),
      );
      column.data_type = clickhouseType(column.data_type, isRequired);
    }
  return copy;
}

const TYPES: readonly (readonly [RegExp, string])[] = [
  [/^(?:integer|int4?)$/, "Int32"],
  [/^(?:bigint|int8)$/, "Int64"],
  [/^(?:smallint|int2)$/, "Int16"],
  [/^numeric\((\d+), ?(\d+)\)$/, "Decimal($1, $2)"],
  [/^numeric$/, "Decimal(38, 10)"],
  [/^double precision$/, "Float64"],
  [/^real$/, "Float32"],
  [/^uuid$/, "UUID"],
  [/^char\((\d+)\)$/, "FixedString($1)"],
  [/^timestamptz$|^timestamp with time zone$/, "DateTime64(6, 'UTC')"],
  [/^timestamp(?:tz)?\((\d)\)$/, "DateTime64($1, 'UTC')"],
  [/^timestamp$|^timestamp without time zone$/, "DateTime64(6)"],
  [/^date$/, "Date"],
  [/^bool(?:ean)?$/, "Bool"],
];

function clickhouseType(type: string, isRequired: boolean): string {
  if (type.endsWith("[]")) return `Array(${clickhouseType(type.slice(0, -2), true)})`;
  const [pattern, name] = TYPES.find(([known]) => known.test(type)) ?? [/^.*$/, "String"];
  const own = /^[A-Z]/.test(type) ? type : type.replace(pattern, name);
  return isRequired || /^(?:Array|Map|Tuple|Nullable|LowCardinality)\(/.test(own) ? own : `Nullable(${own})`;
}

/** A table with these rows: texts, cast as a model casts its source. */
export function clickhouseTable(
  target: string,
  columns: readonly (readonly [string, string | null])[],
  rows: readonly StoredRow[],
): string {
  const structure = columns.map(([name]) => `${name} Nullable(String)`).join(", ");
  const values = rows.map((row) => `(${columns.map(([name]) => literal(row[name] ?? null)).join(", ")})`);
  const selected = columns.map(([name, type]) => `${castOf(name, type ?? "Nullable(String)")} AS ${name}`);
  return `CREATE TABLE ${target} ENGINE = Memory AS SELECT ${selected.join(", ")} FROM values('${structure}', ${values.join(", ")}) AS v`;
}

function literal(text: string | null): string {
  return text === null ? "NULL" : `'${text.replace(/[\\']/g, "\\$&")}'`;
}

function castOf(name: string, type: string): string {
  const list = /^Array\((.*)\)$/.exec(type)?.[1];
  if (list !== undefined)
    return `arrayMap(e -> ${castOfText("e", list)}, splitByChar(',', trim(BOTH '{}' FROM assumeNotNull(v.${name}))))`;
  return castOfText(`v.${name}`, type);
}

function castOfText(text: string, type: string): string {
  const bare = /^(?:Nullable|LowCardinality)\((.*)\)$/.exec(type)?.[1] ?? type;
  if (/^U?Int/.test(bare)) return `CAST(CAST(${text} AS Nullable(Decimal(38, 10))) AS ${type})`;
  if (/^DateTime/.test(bare)) return `CAST(parseDateTime64BestEffortOrNull(${text}, 6, 'UTC') AS ${type})`;
  if (/^FixedString/.test(bare)) return `CAST(substring(${text}, 1, 3) AS ${type})`;
  return `CAST(${text} AS ${type})`;
}

/** Changes of types that only ClickHouse has: column, type before, type after. */
export const CLICKHOUSE_TYPES: readonly (readonly [string, string, string])[] = [
  ["quantity", "UInt32", "Int32"],
  ["quantity", "UInt32", "UInt64"],
  ["quantity", "Int64", "UInt64"],
  ["quantity", "UInt64", "UInt256"],
  ["quantity", "UInt64", "Float64"],
  ["quantity", "UInt64", "Decimal(20, 0)"],
  ["quantity", "UInt64", "String"],
  ["quantity", "Nullable(UInt32)", "UInt32"],
  ["shop", "String", "LowCardinality(String)"],
  ["shop", "Nullable(String)", "LowCardinality(Nullable(String))"],
  ["code", "FixedString(3)", "String"],
  ["code", "FixedString(3)", "FixedString(5)"],
  ["day", "Date", "Date32"],
  ["day", "Date", "DateTime('UTC')"],
  ["day", "Date", "String"],
  ["sold_at", "DateTime('UTC')", "DateTime64(3, 'UTC')"],
  ["sold_at", "DateTime64(3, 'UTC')", "DateTime64(6, 'UTC')"],
  ["sold_at", "DateTime64(3, 'UTC')", "DateTime64(3, 'Europe/Berlin')"],
  ["sold_at", "DateTime64(3, 'UTC')", "DateTime64(3)"],
  [
    "status",
    "Enum8('paid' = 1, 'open' = 2, 'void' = 3)",
    "Enum8('paid' = 1, 'open' = 2, 'void' = 3, 'lost' = 4)",
  ],
  ["status", "Enum8('paid' = 1, 'open' = 2, 'void' = 3)", "LowCardinality(String)"],
  ["labels", "Array(Int32)", "Array(UInt64)"],
  ["labels", "Array(Int32)", "Array(String)"],
  ["labels", "Array(Nullable(Int32))", "Array(Int32)"],
  ["ratio", "Float32", "Float64"],
  ["ratio", "Decimal(9, 2)", "Decimal(18, 4)"],
  ["reference", "UUID", "String"],
];
