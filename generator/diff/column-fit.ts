import type { ColumnType } from "../catalogue/column-types/column-type.js";
import type { IntegerType, RecordType, StringType } from "../catalogue/column-types/kinds.js";

/**
 * Whether a client made for `base` can read every value of `head`: the values keep to what its JSON Schema says, and
 * fit the number that a typed language chose by its format. A float rounds exact numbers as it always did; the other
 * way an exact number would lose digits, and get null for NaN.
 */
export function fits(base: ColumnType, head: ColumnType): boolean {
  if (base.kind === "json" || base.kind === "unknown") return true;
  if (head.kind === "json" || head.kind === "unknown") return false;
  if (head.nullable && !base.nullable) return false;
  return valueFits(base, head);
}

type Definite = Exclude<ColumnType, { kind: "json" | "unknown" }>;

function valueFits(base: Definite, head: Definite): boolean {
  switch (base.kind) {
    case "integer":
      return head.kind === "integer" && integerFits(base, head);
    case "decimal":
      return head.kind === "decimal" || head.kind === "integer";
    case "float":
      return head.kind === "float" ? head.bits <= base.bits : isExact(head);
    case "string":
      return stringFits(base, head);
    case "enum":
      return head.kind === "enum" && head.values.every((value) => base.values.includes(value));
    case "boolean":
    case "date":
    case "dateTime":
      return head.kind === base.kind;
    case "array":
      return head.kind === "array" && fits(base.of, head.of);
    case "map":
      return head.kind === "map" && fits(base.value, head.value);
    case "tuple":
      return head.kind === "tuple" && eachFits(base.of, head.of);
    case "record":
      return head.kind === "record" && recordFits(base, head);
  }
}

function isExact({ kind }: Definite): boolean {
  return kind === "decimal" || kind === "integer";
}

function integerFits(base: IntegerType, head: IntegerType): boolean {
  return BigInt(head.min) >= BigInt(base.min) && BigInt(head.max) <= BigInt(base.max);
}

/** Dates and members of an enumeration are strings in JSON: a string without limits holds them all. */
function stringFits(base: StringType, head: Definite): boolean {
  const isPlain = base.format === undefined && base.maxLength === undefined;
  if (head.kind === "enum" || head.kind === "date" || head.kind === "dateTime") return isPlain;
  if (head.kind !== "string") return false;
  if (base.format !== undefined && base.format !== head.format) return false;
  return base.maxLength === undefined || (head.maxLength ?? Infinity) <= base.maxLength;
}

function eachFits(base: readonly ColumnType[], head: readonly ColumnType[]): boolean {
  if (base.length !== head.length) return false;
  return head.every((type, i) => {
    const was = base[i];
    return was !== undefined && fits(was, type);
  });
}

/** Fields may be added, as columns may. */
function recordFits(base: RecordType, head: RecordType): boolean {
  const fields = new Map(head.fields.map(({ name, type }) => [name, type]));
  return base.fields.every(({ name, type }) => {
    const now = fields.get(name);
    return now !== undefined && fits(type, now);
  });
}
