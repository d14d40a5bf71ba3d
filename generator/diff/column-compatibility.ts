import { type ColumnType, isWideNumber, jsonSchemaOf } from "../catalogue/column-types/column-type.js";
import { databaseTypeOf, textFormOf } from "../catalogue/column-types/type-facts.js";
import type {
  AnyType,
  DecimalType,
  EnumType,
  IntegerType,
  RecordType,
  StringType,
} from "../catalogue/column-types/json-type.js";

/** Effects of a type change on a client of the old type, from harmless to incompatible. */
const OUTCOMES = [
  "same",
  "narrowed",
  "label-removed",
  "type-renamed",
  "lengthened",
  "shortened",
  "text-changed",
  "labels-moved",
  "number-changed",
  "widened",
  "digits-changed",
  "scale-lowered",
  "label-renamed",
  "label-added",
  "retyped",
] as const;
export type TypeChange = (typeof OUTCOMES)[number];

/**
 * Compares two column types as a client of `base` sees the values of `head`: by JSON type, format, range and digits.
 * Null of the column itself does not count; inside arrays, maps and tuples it does.
 */
export function compareTypes(base: ColumnType, head: ColumnType): TypeChange {
  if (isAnyJson(base)) return compareAny(base, head);
  if (isAnyJson(head)) return "retyped";
  switch (base.kind) {
    case "integer":
      return head.kind === "integer" ? compareIntegers(base, head) : "retyped";
    case "decimal":
      if (head.kind === "decimal") return compareDecimals(base, head);
      return head.kind === "integer" ? "scale-lowered" : "retyped";
    case "float":
      if (head.kind === "float")
        return head.bits === base.bits ? "same" : head.bits > base.bits ? "widened" : "number-changed";
      return head.kind === "decimal"
        ? "number-changed"
        : head.kind === "integer"
          ? "scale-lowered"
          : "retyped";
    case "string":
      return compareStrings(base, head);
    case "enum":
      return head.kind === "enum" ? compareLabels(base, head) : "retyped";
    case "boolean":
    case "date":
    case "dateTime":
      return head.kind === base.kind ? "same" : "retyped";
    case "array":
      return head.kind === "array" ? compareInner(base.of, head.of) : "retyped";
    case "map":
      return head.kind === "map" ? compareInner(base.value, head.value) : "retyped";
    case "tuple":
      if (head.kind !== "tuple" || head.of.length !== base.of.length) return "retyped";
      return worst(head.of.map((type, i) => compareInner(base.of[i] ?? type, type)));
    case "record":
      return head.kind === "record" ? compareRecords(base, head) : "retyped";
  }
}

/** Of a type that is not known nothing is, but its name: `json` and `jsonb` write the same value in their own ways. */
function compareAny(base: AnyType, head: ColumnType): TypeChange {
  const isUntyped = base.kind === "unknown" && base.name === undefined;
  if (!isAnyJson(head)) return isUntyped ? "narrowed" : "retyped";
  if (isUntyped || head.name === undefined || base.name === head.name) return "same";
  return base.kind === "json" && head.kind === "json" ? "text-changed" : "retyped";
}

/** A label in the place of another is a new name of it. */
function compareLabels(base: EnumType, head: EnumType): TypeChange {
  const [before, after] = [base.order ?? base.values, head.order ?? head.values];
  const added = after.filter((label) => !before.includes(label));
  const removed = before.filter((label) => !after.includes(label));
  const isRenamed =
    added.length === removed.length &&
    added.every((label) => removed.includes(before[after.indexOf(label)] ?? ""));
  if (added.length > 0) return isRenamed ? "label-renamed" : "label-added";
  const kept = before.filter((label) => after.includes(label));
  if (kept.some((label, i) => label !== after[i])) return "labels-moved";
  return removed.length > 0 ? "label-removed" : "same";
}

/** A declared type, with the type that is served: under `numbers: string`, wide numbers are strings. */
export interface ServedType {
  readonly text: string | null;
  readonly served: ColumnType;
}

/**
 * As `compareTypes`, and by what JSON types do not show: whether generated clients read a number as a string, and how a
 * string is written.
 */
export function compareServedTypes(base: ServedType, head: ServedType): TypeChange {
  const isNumber = [base, head].every(({ served }) => NUMBERS.has(served.kind));
  const isFlipped = isNumber && isWideNumber(base.served) !== isWideNumber(head.served);
  return worst([
    compareTypes(base.served, head.served),
    isFlipped ? "digits-changed" : "same",
    compareForms(base, head),
  ]);
}

const NUMBERS: ReadonlySet<ColumnType["kind"]> = new Set(["integer", "decimal", "float"]);
const TEXTS: ReadonlySet<ColumnType["kind"]> = new Set(["string", "dateTime", "array"]);

/** Types of different JSON kinds are retyped in any case. */
function compareForms(base: ServedType, head: ServedType): TypeChange {
  if (base.served.kind !== head.served.kind || !TEXTS.has(base.served.kind)) return "same";
  const [before, after] = [textFormOf(base.text), textFormOf(head.text)];
  if (before.family !== after.family)
    return before.family === "text" || after.family === "text" || isPadding(before, after)
      ? "text-changed"
      : "retyped";
  if (before.digits === after.digits) return "same";
  if (before.family.endsWith("padded text")) return "text-changed";
  return (before.digits ?? 0) > (after.digits ?? 0) ? "scale-lowered" : "widened";
}

function isPadding(...forms: readonly { readonly family: string }[]): boolean {
  return forms.every(({ family }) => family.endsWith("padded text"));
}

function isAnyJson(type: ColumnType): type is AnyType {
  return !("nullable" in type);
}

function worst(outcomes: readonly TypeChange[]): TypeChange {
  return OUTCOMES[Math.max(0, ...outcomes.map((outcome) => OUTCOMES.indexOf(outcome)))] ?? "same";
}

function compareInner(base: ColumnType, head: ColumnType): TypeChange {
  const [before, after] = [isNullable(base), isNullable(head)];
  return worst([compareTypes(base, head), before === after ? "same" : after ? "retyped" : "narrowed"]);
}

function isNullable(type: ColumnType): boolean {
  return isAnyJson(type) || type.nullable;
}

function compareIntegers(base: IntegerType, head: IntegerType): TypeChange {
  const [before, after] = [base, head].map((type) =>
    JSON.stringify(jsonSchemaOf({ ...type, nullable: false })),
  );
  if (before === after) return "same";
  if (contains(base, head)) return "narrowed";
  return contains(head, base) ? "widened" : "retyped";
}

function contains(outer: IntegerType, inner: IntegerType): boolean {
  return BigInt(inner.min) >= BigInt(outer.min) && BigInt(inner.max) <= BigInt(outer.max);
}

/** Open precision and scale hold any number of digits. */
function compareDecimals(base: DecimalType, head: DecimalType): TypeChange {
  const [before, after] = [base, head].map(({ precision = Infinity, scale = Infinity }) => {
    return { scale, whole: precision === Infinity ? Infinity : precision - scale };
  }) as [Digits, Digits];
  if (after.scale < before.scale) return "scale-lowered";
  if (after.scale > before.scale || after.whole > before.whole) return "widened";
  return after.whole < before.whole ? "narrowed" : "same";
}

interface Digits {
  readonly scale: number;
  readonly whole: number;
}

/** Dates and members of an enumeration are strings in JSON: text without a format holds them all, written in its own way. */
function compareStrings(base: StringType, head: Exclude<ColumnType, AnyType>): TypeChange {
  if (head.kind === "enum" || head.kind === "date" || head.kind === "dateTime") {
    if (base.format !== undefined || base.maxLength !== undefined) return "retyped";
    return head.kind === "enum" ? "narrowed" : "text-changed";
  }
  if (head.kind !== "string" || (base.format !== undefined && base.format !== head.format)) return "retyped";
  if (base.format !== head.format) return "text-changed";
  const [before, after] = [base.maxLength ?? Infinity, head.maxLength ?? Infinity];
  return after === before ? "same" : after > before ? "lengthened" : "shortened";
}

/** Fields may be added, as columns may. */
function compareRecords(base: RecordType, head: RecordType): TypeChange {
  const fields = new Map(head.fields.map(({ name, type }) => [name, type]));
  const outcomes = base.fields.map(({ name, type }): TypeChange => {
    const now = fields.get(name);
    return now === undefined ? "retyped" : compareInner(type, now);
  });
  return worst([...outcomes, head.fields.length > base.fields.length ? "narrowed" : "same"]);
}

/**
 * Whether every value that a filter on a column of type `base` accepts is accepted on one of type `head`: a filter
 * compares in the column's type, and a value that is not of the type gets 400. A number outside of the column's range
 * selects no row.
 */
export function acceptsFilterValues(base: string, head: string): boolean {
  const [before, after] = [base, head].map((type) => databaseTypeOf(type)?.value ?? "other");
  if (after === "text" || after === "other" || before === after) return true;
  return before === "integer" && after === "number";
}
