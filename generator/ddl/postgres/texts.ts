import type { DataType } from "../../catalogue/types/data-type.js";
import { duckdbLiteral as literal } from "./duckdb.js";

/** An expression of DuckDB that gives the text of a value in JSON; null without a value. */
function textOf(x: string, type: DataType, depth = 0): string | null {
  switch (type.kind) {
    case "bytes":
      return `'\\x' || hex(${x})`;
    case "array":
    case "map":
    case "record":
      return jsonText(x, type, depth);
    default:
      return `CAST(${x} AS VARCHAR)`;
  }
}

/** An array of PostgreSQL; each value in quotes, so that none is taken for NULL. `text`: of an item. */
export function arrayText(x: string, item: string, text: string): string {
  const quoted = `'"' || replace(replace(${text}, '\\', '\\\\'), '"', '\\"') || '"'`;
  const items = `list_transform(${x}, lambda ${item}: coalesce(${quoted}, 'NULL'))`;
  return `'{' || array_to_string(${items}, ',') || '}'`;
}

/** JSON with all digits of numbers: DuckDB's own reads decimals as floats. */
export function jsonText(x: string, type: DataType, depth = 0): string | null {
  switch (type.kind) {
    case "integer":
    case "boolean":
      return `CAST(${x} AS VARCHAR)`;
    case "decimal":
      // DuckDB writes `.5` where the type has no digits before the point, which is not JSON.
      return `regexp_replace(CAST(${x} AS VARCHAR), '^(-?)[.]', '\\10.')`;
    case "float":
      // JSON has no infinity.
      return `CASE WHEN isfinite(${x}) THEN CAST(${x} AS VARCHAR) END`;
    case "json":
      return x;
    case "array": {
      const item = `i${String(depth)}`;
      const text = jsonText(item, type.of, depth + 1);
      return text === null
        ? null
        : `'[' || array_to_string(list_transform(${x}, lambda ${item}: coalesce(${text}, 'null')), ',') || ']'`;
    }
    case "map":
      return mapText(x, type, depth);
    case "record": {
      const fields = type.fields.map((field) => {
        const text = jsonText(`struct_extract(${x}, ${literal(field.name)})`, field.type, depth + 1);
        return text === null
          ? null
          : `${literal(`${JSON.stringify(field.name)}:`)} || coalesce(${text}, 'null')`;
      });
      if (fields.includes(null)) return null;
      return `CASE WHEN ${x} IS NOT NULL THEN '{' || ${fields.join(" || ',' || ")} || '}' END`;
    }
    case "timestamp": {
      const text = `replace(CAST(${x} AS VARCHAR), ' ', 'T')`;
      return `CAST(to_json(${type.hasZone ? `regexp_replace(${text}, '[+]00$', 'Z')` : text}) AS VARCHAR)`;
    }
    default: {
      const text = textOf(x, type, depth);
      return text === null ? null : `CAST(to_json(${text}) AS VARCHAR)`;
    }
  }
}

function mapText(
  x: string,
  { key, value }: Extract<DataType, { kind: "map" }>,
  depth: number,
): string | null {
  const entry = `i${String(depth)}`;
  const [name, of] = [textOf(`${entry}.key`, key, depth + 1), jsonText(`${entry}.value`, value, depth + 1)];
  if (name === null || of === null) return null;
  const member = `CAST(to_json(${name}) AS VARCHAR) || ':' || coalesce(${of}, 'null')`;
  const members = `list_transform(map_entries(${x}), lambda ${entry}: ${member})`;
  return `CASE WHEN ${x} IS NOT NULL THEN '{' || array_to_string(${members}, ',') || '}' END`;
}

/** A line of COPY's text format. */
export function copyLine(texts: readonly string[]): string {
  return `SELECT ${texts.map((text) => `field(${text})`).join(" || chr(9) || ")} AS line`;
}

/** A field of COPY's text format: `\\N` without a value. */
const ESCAPES = ["chr(92), '\\\\'", "chr(9), '\\t'", "chr(10), '\\n'", "chr(13), '\\r'"];
export const FIELD_MACRO = `CREATE MACRO field(text) AS coalesce(${ESCAPES.reduce(
  (inner, pair) => `replace(${inner}, ${pair})`,
  "text",
)}, '\\N')`;
