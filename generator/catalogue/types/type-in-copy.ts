import { ownValue } from "@routewright/runtime/model";
import type { DataType } from "./data-type.js";
import { warehouseTypeOf } from "./read-type.js";

/** Engines that serve, by the names of dbt's adapters. */
export const ENGINES = ["clickhouse", "postgres"] as const;
export type ServedEngine = (typeof ENGINES)[number];

/** The type of a column of an adapter's relation in a copy that an engine serves; null for one that has no such type. */
export function typeInCopy(
  adapter: string,
  engine: ServedEngine,
  text: string,
  isNotNull: boolean,
): string | null {
  const type = warehouseTypeOf(adapter, text);
  if (type === null) return null;
  return engine === "postgres" ? postgresType(type) : clickhouseType(type, isNotNull);
}

function postgresType(type: DataType): string | null {
  switch (type.kind) {
    case "integer":
      return postgresInteger(type.bits, type.isUnsigned === true);
    case "decimal": {
      const { precision, scale = 0 } = type;
      return precision === undefined ? "numeric" : `numeric(${String(precision)},${String(scale)})`;
    }
    case "float":
      return type.bits === 32 ? "real" : "double precision";
    case "timestamp":
      return `timestamp ${type.hasZone ? "with" : "without"} time zone`;
    case "bytes":
      return "bytea";
    case "array": {
      const of = postgresType(type.of);
      // Lists of lists may differ in length, which PostgreSQL's arrays do not.
      return of === null ? null : /^json$|\]$/.test(of) ? "json" : `${of}[]`;
    }
    case "map":
    case "record":
      return "json";
    case "boolean":
    case "text":
    case "date":
    case "time":
    case "uuid":
    case "json":
      return type.kind;
    case "enum":
    case "tuple":
    case "unknown":
      return null;
  }
}

/** The smallest type that holds all values. */
function postgresInteger(bits: number, isUnsigned: boolean): string {
  const needed = isUnsigned ? bits + 1 : bits;
  if (needed <= 16) return "smallint";
  if (needed <= 32) return "integer";
  if (needed <= 64) return "bigint";
  return needed <= 65 ? "numeric(20,0)" : "numeric(39,0)";
}

const CLICKHOUSE_SCALARS: Readonly<Record<string, string>> = {
  boolean: "Bool",
  text: "String",
  bytes: "String",
  date: "Date32",
  time: "String",
  uuid: "UUID",
  json: "String",
};

function clickhouseType(type: DataType, isNotNull: boolean): string | null {
  switch (type.kind) {
    case "array": {
      const of = clickhouseType(type.of, false);
      return of === null ? null : `Array(${of})`;
    }
    case "map": {
      const [key, value] = [clickhouseType(type.key, true), clickhouseType(type.value, false)];
      return key === null || value === null ? null : `Map(${key}, ${value})`;
    }
    case "record": {
      const fields = type.fields.map(({ name, type: of }) => {
        const inner = clickhouseType(of, false);
        return inner === null ? null : `${quoted(name)} ${inner}`;
      });
      return fields.includes(null) ? null : `Tuple(${fields.join(", ")})`;
    }
    default: {
      const scalar = clickhouseScalar(type);
      return scalar === null || isNotNull ? scalar : `Nullable(${scalar})`;
    }
  }
}

function clickhouseScalar(type: DataType): string | null {
  switch (type.kind) {
    case "integer":
      return `${type.isUnsigned === true ? "UInt" : "Int"}${String(type.bits)}`;
    case "decimal": {
      // A number of any digits has no type here.
      const { precision = 0, scale = 0 } = type;
      return precision < 1 || precision > 76 ? null : `Decimal(${String(precision)}, ${String(scale)})`;
    }
    case "float":
      return `Float${String(type.bits)}`;
    case "timestamp":
      return `DateTime64(${String(Math.min(type.precision, 9))}, 'UTC')`;
    default:
      return ownValue(CLICKHOUSE_SCALARS, type.kind) ?? null;
  }
}

const quoted = (name: string): string =>
  /^[A-Za-z_]\w*$/.test(name) ? name : `\`${name.replace(/[\\`]/g, "\\$&")}\``;
