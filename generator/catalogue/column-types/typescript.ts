import { visibleJson } from "../../manifest/strings.js";
import type { ColumnType, EnumType, RecordType } from "./json-type.js";

/**
 * The TypeScript type of a column's values in a row, on one line: `string | null`, `Record<string, number>`. All numbers
 * are `number`, as `JSON.parse` returns them. Texts from the manifest become string literals or valid identifiers.
 */
export function typeScriptOf(type: ColumnType): string {
  const text = withoutNull(type);
  return "nullable" in type && type.nullable ? `${text} | null` : text;
}

function withoutNull(type: ColumnType): string {
  switch (type.kind) {
    case "integer":
    case "decimal":
    case "float":
      return "number";
    case "string":
    case "date":
    case "dateTime":
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

function arrayOf(type: ColumnType): string {
  const element = typeScriptOf(type);
  return isUnion(type, element) ? `(${element})[]` : `${element}[]`;
}

function isUnion(type: ColumnType, text: string): boolean {
  if ("nullable" in type && type.nullable) return true;
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

/** Whether a value can have more digits than a JavaScript number represents exactly (generator/docs/large-numbers.md). */
export function isWide(type: ColumnType): boolean {
  switch (type.kind) {
    case "integer":
      return !Number.isSafeInteger(Number(type.min)) || !Number.isSafeInteger(Number(type.max));
    case "decimal":
      return (type.precision ?? Infinity) > SAFE_DIGITS;
    case "array":
      return isWide(type.of);
    case "map":
      return isWide(type.value);
    case "tuple":
      return type.of.some(isWide);
    case "record":
      return type.fields.some((field) => isWide(field.type));
    default:
      return false;
  }
}

/** As `isWide`, but false for arrays and other structures of numbers. */
export function isWideNumber(type: ColumnType): boolean {
  return (type.kind === "integer" || type.kind === "decimal") && isWide(type);
}

/** Decimal digits that a double represents exactly. */
const SAFE_DIGITS = 15;
