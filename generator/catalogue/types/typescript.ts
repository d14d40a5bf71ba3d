import { visibleJson } from "../../manifest/strings.js";
import { type DataType, type EnumType, isAny, type RecordType } from "./data-type.js";

/**
 * The TypeScript type of a column's values in a row, on one line: `string | null`, `Record<string, number>`. All numbers
 * are `number`, as `JSON.parse` returns them. Texts from the manifest become string literals or valid identifiers.
 */
export function typeScriptOf(type: DataType): string {
  const text = withoutNull(type);
  return type.nullable && !isAny(type) ? `${text} | null` : text;
}

function withoutNull(type: DataType): string {
  switch (type.kind) {
    case "integer":
    case "decimal":
    case "float":
      return "number";
    case "text":
    case "date":
    case "time":
    case "timestamp":
    case "uuid":
    case "bytes":
      return "string";
    case "enum":
      return enumOf(type);
    case "boolean":
      return "boolean";
    case "array":
      return arrayOf(type.of);
    case "map":
      return `Record<string, ${typeScriptOf(type.value)}>`;
    case "tuple":
      return `[${type.of.map(typeScriptOf).join(", ")}]`;
    case "record":
      return recordOf(type);
    case "json":
    case "unknown":
      return "unknown";
  }
}

/** Limits of a readable union; a longer one becomes `string`. */
const MAX_MEMBERS = 12;
const MAX_UNION_TEXT = 100;

function enumOf({ values }: EnumType): string {
  if (values.length > MAX_MEMBERS) return "string";
  const union = values.map(visibleJson).join(" | ");
  return union.length > MAX_UNION_TEXT ? "string" : union;
}

function arrayOf(type: DataType): string {
  const element = typeScriptOf(type);
  return isUnion(type, element) ? `(${element})[]` : `${element}[]`;
}

function isUnion(type: DataType, text: string): boolean {
  if (type.nullable && !isAny(type)) return true;
  return type.kind === "enum" && type.values.length > 1 && text !== "string";
}

function recordOf({ fields }: RecordType): string {
  const members = fields.map(({ name, type }) => `${memberName(name)}: ${typeScriptOf(type)}`);
  return `{ ${members.join("; ")} }`;
}

/** The name of a member of an interface or of an object literal. */
export function memberName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : visibleJson(name);
}
