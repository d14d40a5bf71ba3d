import {
  allowsNull,
  type AnyType,
  boundsOf,
  type DataType,
  type DecimalType,
  type EnumType,
  isAny,
  isInteger,
  isWideNumber,
  type RecordType,
} from "../catalogue/types/data-type.js";
import { type JsonKind, jsonKindOf, jsonSchemaOf } from "../catalogue/types/json-schema.js";
import { dataTypeOf } from "../catalogue/types/read-type.js";
import { databaseTypeOf, textFormOf } from "../catalogue/types/type-facts.js";

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
export function compareTypes(base: DataType, head: DataType): TypeChange {
  if (isAny(base)) return compareAny(base, head);
  if (isAny(head)) return "retyped";
  switch (base.kind) {
    case "integer":
    case "decimal":
    case "float":
      return compareNumbers(base, head);
    case "text":
    case "time":
    case "uuid":
    case "bytes":
      return compareStrings(base, head);
    case "enum":
      return head.kind === "enum" ? compareLabels(base, head) : "retyped";
    case "boolean":
    case "date":
    case "timestamp":
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
function compareAny(base: AnyType, head: DataType): TypeChange {
  const isUntyped = base.kind === "unknown" && base.identity === undefined;
  if (!isAny(head)) return isUntyped ? "narrowed" : "retyped";
  if (isUntyped || head.identity === undefined || base.identity === head.identity) return "same";
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
  readonly declared: DataType;
  readonly served: DataType;
}

/**
 * As `compareTypes`, and by what JSON types do not show: whether generated clients read a number as a string, and how a
 * string is written.
 */
export function compareServedTypes(base: ServedType, head: ServedType): TypeChange {
  const isNumber = [base, head].every(({ served }) => NUMBERS.has(jsonKindOf(served)));
  const isFlipped = isNumber && isWideNumber(base.served) !== isWideNumber(head.served);
  return worst([
    compareTypes(base.served, head.served),
    isFlipped ? "digits-changed" : "same",
    compareForms(base, head),
  ]);
}

const NUMBERS: ReadonlySet<JsonKind> = new Set(["integer", "decimal", "float"]);
const TEXTS: ReadonlySet<JsonKind> = new Set(["string", "dateTime", "array"]);

/** Types of different JSON kinds are retyped in any case. */
function compareForms(base: ServedType, head: ServedType): TypeChange {
  const kind = jsonKindOf(base.served);
  if (kind !== jsonKindOf(head.served) || !TEXTS.has(kind)) return "same";
  const [before, after] = [textFormOf(base.declared), textFormOf(head.declared)];
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

function worst(outcomes: readonly TypeChange[]): TypeChange {
  return OUTCOMES[Math.max(0, ...outcomes.map((outcome) => OUTCOMES.indexOf(outcome)))] ?? "same";
}

function compareInner(base: DataType, head: DataType): TypeChange {
  const [before, after] = [allowsNull(base), allowsNull(head)];
  return worst([compareTypes(base, head), before === after ? "same" : after ? "retyped" : "narrowed"]);
}

function compareNumbers(base: NumberType, head: DataType): TypeChange {
  if (isInteger(base)) return isInteger(head) ? compareIntegers(base, head) : "retyped";
  if (isInteger(head)) return "scale-lowered";
  if (base.kind === "decimal") return head.kind === "decimal" ? compareDecimals(base, head) : "retyped";
  if (head.kind === "float")
    return head.bits === base.bits ? "same" : head.bits > base.bits ? "widened" : "number-changed";
  return head.kind === "decimal" ? "number-changed" : "retyped";
}

type NumberType = Extract<DataType, { kind: "integer" | "decimal" | "float" }>;
type Whole = Parameters<typeof boundsOf>[0];

function compareIntegers(base: Whole, head: Whole): TypeChange {
  const [before, after] = [base, head].map((type) =>
    JSON.stringify(jsonSchemaOf({ ...type, nullable: false })),
  );
  if (before === after) return "same";
  if (contains(base, head)) return "narrowed";
  return contains(head, base) ? "widened" : "retyped";
}

function contains(outer: Whole, inner: Whole): boolean {
  const [[min, max], [innerMin, innerMax]] = [boundsOf(outer), boundsOf(inner)];
  return innerMin >= min && innerMax <= max;
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
function compareStrings(base: DataType, head: DataType): TypeChange {
  const [[format, before], [headFormat, after]] = [textOf(base), textOf(head)];
  if (head.kind === "enum" || head.kind === "date" || head.kind === "timestamp") {
    if (format !== null || before !== Infinity) return "retyped";
    return head.kind === "enum" ? "narrowed" : "text-changed";
  }
  if (jsonKindOf(head) !== "string" || (format !== null && format !== headFormat)) return "retyped";
  if (format !== headFormat) return "text-changed";
  return after === before ? "same" : after > before ? "lengthened" : "shortened";
}

function textOf(type: DataType): readonly [format: string | null, maxLength: number] {
  if (type.kind !== "text") return [type.kind === "uuid" ? "uuid" : null, Infinity];
  return [type.format ?? null, type.maxLength ?? Infinity];
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
  const [before, after] = [base, head].map((type) => databaseTypeOf(dataTypeOf(type))?.value ?? "other");
  if (after === "text" || after === "other" || before === after) return true;
  return before === "integer" && after === "number";
}
