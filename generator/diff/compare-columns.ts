import { isDeepStrictEqual } from "node:util";
import type { Column, Endpoint } from "@routewright/runtime/model";
import type { CatalogueEntry, DescribedColumn } from "../catalogue/catalogue.js";
import { type DataType, isAny, typeFrom } from "../catalogue/types/data-type.js";
import { jsonKindOf } from "../catalogue/types/json-schema.js";
import { namedTypeOf, typeInResponse } from "../catalogue/types/read-type.js";
import { isZoneless } from "../catalogue/types/type-facts.js";
import type { Difference } from "./change.js";
import type { ChangeKind } from "./change-kinds.js";
import { compareServedTypes } from "./column-compatibility.js";

/** The differences of the columns, their order, and what dbt tests guarantee of their values. */
export function compareColumns(base: CatalogueEntry, head: CatalogueEntry): readonly Difference[] {
  const [baseColumns, headColumns] = [base.columns, head.columns];
  if ((baseColumns.length === 0) !== (headColumns.length === 0))
    return [compareDeclaration(baseColumns, headColumns)];
  const [inBase, inHead] = [byName(baseColumns), byName(headColumns)];
  const added = headColumns.filter(({ name }) => !inBase.has(name));
  const isOverPrivateData = head.private || headColumns.some((column) => column.private);
  const kind = isOverPrivateData ? "column-exposed" : "column-added";
  return [
    ...baseColumns.flatMap((column) => {
      const other = inHead.get(column.name);
      // As nearly all are: reading their types would take most of the time of a comparison.
      if (base.numbers === head.numbers && isDeepStrictEqual(column, other)) return [];
      return other === undefined
        ? [{ kind: "column-removed", subject: column.name, before: typeText(column) } as const]
        : [
            ...compareColumn(servedColumn(column, base), servedColumn(other, head)),
            ...[compareAcceptedValues, compareRanges, compareUnique, compareReferences].flatMap((compare) =>
              compare(column, other),
            ),
          ];
    }),
    ...added.map((column) => ({ kind, subject: column.name, after: typeText(column) }) as const),
    ...compareOrder(baseColumns, headColumns),
  ];
}

/** A model without declared columns serves all columns of its relation, another one only those that it declares. */
function compareDeclaration(base: readonly Column[], head: readonly Column[]): Difference {
  if (head.length > 0) return { kind: "columns-declared", before: ALL_COLUMNS, after: names(head) };
  return { kind: "columns-undeclared", before: names(base), after: ALL_COLUMNS };
}

const ALL_COLUMNS = "all columns of the relation";

/** A column as callers see it. */
interface ServedColumn extends DescribedColumn {
  readonly declared: DataType;
  readonly served: DataType;
  /** The time zone in which a timestamp without one is meant; null for other types. */
  readonly zone: string | null;
  /** The type, and what else decides how its values are served. */
  readonly text: string;
}

function servedColumn(column: DescribedColumn, endpoint: Endpoint): ServedColumn {
  const declared = meantType(column);
  const served = typeInResponse(declared, column, endpoint);
  const zone = isZoneless(declared) ? (column.timezone ?? "UTC") : null;
  const text = [
    typeText(column),
    ...(served === declared ? [] : ["as a string"]),
    ...(column.timezone === undefined ? [] : [`in ${column.timezone}`]),
  ].join(" ");
  return { ...column, declared, served, zone, text };
}

/** The type of a column, with what the database says of a name of its own: the labels of an enumeration, the base of a domain. */
function meantType({ type, labels, baseType }: DescribedColumn): DataType {
  if (baseType !== undefined) {
    const isNullable = /\snull\s*$/i.test(type ?? "") && !/\snot\s+null\s*$/i.test(type ?? "");
    return meantType({
      name: "",
      type: isNullable ? `${baseType} null` : baseType,
      ...(labels && { labels }),
    });
  }
  return namedTypeOf(type, () => labels && typeFrom({ kind: "enum", values: labels }));
}

function compareColumn(base: ServedColumn, head: ServedColumn): readonly Difference[] {
  if (head.text === base.text && isDeepStrictEqual(base.declared, head.declared)) return [];
  const subject = base.name;
  const compared = compareServedTypes(base, head);
  const isRenamed = compared === "same" && isNamed(base) && isNamed(head) && nameOf(base) !== nameOf(head);
  const change = isRenamed ? "type-renamed" : compared;
  const kinds = [
    change === "same" ? null : (`column-${change}` as const),
    zoneKind(base, head),
    // In ClickHouse the type alone decides; elsewhere a nullable type ends with `null`.
    nullKind(base.declared, head.declared, base.notNull === "test" && head.type?.endsWith(" null") === true),
  ] as const;
  const texts = { subject, before: typeTextOf(base), after: typeTextOf(head) };
  return kinds.filter((kind) => kind !== null).map((kind) => ({ kind, ...texts }));
}

/** Whether the database has the type by a name of its own. */
function isNamed({ labels, baseType }: DescribedColumn): boolean {
  return labels !== undefined || baseType !== undefined;
}

function nameOf({ type }: Column): string {
  return (type ?? "")
    .toLowerCase()
    .replace(/\s(?:not\s)?null\s*$/, "")
    .trim();
}

/** `order_status (paid, open)`, `email (text)`. */
function typeTextOf({ text, labels, baseType }: ServedColumn): string {
  const meant = labels?.join(", ") ?? baseType;
  return meant === undefined ? text : `${text} (${meant})`;
}

/** Between types of other kinds the column is retyped in any case. */
function zoneKind(base: ServedColumn, head: ServedColumn): ChangeKind | null {
  if (base.zone === head.zone || jsonKindOf(base.served) !== jsonKindOf(head.served)) return null;
  return base.zone === null || head.zone === null ? "column-zone-converted" : "column-zone-changed";
}

/** Null for types that are not nullable or non-null, such as JSON, where null is a value. */
function nullKind(base: DataType, head: DataType, isOnlyTested: boolean): ChangeKind | null {
  if (isAny(base) || isAny(head) || base.nullable === head.nullable) return null;
  if (base.nullable) return "column-made-non-null";
  return isOnlyTested ? "column-null-test-removed" : "column-made-nullable";
}

function typeText({ type }: Column): string {
  return type ?? "no type";
}

/** JSON clients read fields by name, CSV clients may read them by position. Columns added at the end move no other. */
function compareOrder(base: readonly Column[], head: readonly Column[]): readonly Difference[] {
  const kept = base.map(({ name }) => name).filter((name) => head.some((column) => column.name === name));
  const after = head.map(({ name }) => name).slice(0, kept.length);
  if (kept.every((name, i) => name === after[i])) return [];
  return [{ kind: "column-order-changed", before: names(base), after: names(head) }];
}

function byName(columns: readonly DescribedColumn[]): ReadonlyMap<string, DescribedColumn> {
  return new Map(columns.map((column) => [column.name, column]));
}

function names(columns: readonly Column[]): string {
  return columns.map(({ name }) => name).join(", ");
}

/** What a dbt test guarantees of a column's values (generator/docs/dbt-tests.md). */
function compareAcceptedValues(base: DescribedColumn, head: DescribedColumn): readonly Difference[] {
  const { acceptedValues: before = null } = base;
  const { acceptedValues: after = null } = head;
  const isWider = before !== null && (after === null || after.some((value) => !before.includes(value)));
  const isNarrower = after !== null && (before === null || before.some((value) => !after.includes(value)));
  if (!isWider && !isNarrower) return [];
  const kind = isWider ? "accepted-values-widened" : "accepted-values-narrowed";
  return [{ kind, subject: base.name, before: valuesText(before), after: valuesText(after) }];
}

function valuesText(values: readonly string[] | null): string {
  return values === null ? "any value" : values.join(", ");
}

function compareRanges(base: DescribedColumn, head: DescribedColumn): readonly Difference[] {
  const [baseBounds, headBounds] = [boundsOf(base), boundsOf(head)];
  const isWider = exceeds(headBounds, baseBounds);
  if (!isWider && !exceeds(baseBounds, headBounds)) return [];
  const kind = isWider ? "range-widened" : "range-narrowed";
  return [{ kind, subject: base.name, before: rangeText(base), after: rangeText(head) }];
}

/** A bound; 1 if the range excludes it. */
type Bound = readonly [value: number, excluded: 0 | 1];

/** Both bounds, the upper one negated, so that a smaller value of either admits more values. */
function boundsOf({ minimum, maximum, exclusive }: DescribedColumn): readonly [lower: Bound, upper: Bound] {
  const excluded = exclusive ? 1 : 0;
  return [
    minimum === undefined ? [-Infinity, 0] : [minimum, excluded],
    maximum === undefined ? [-Infinity, 0] : [-maximum, excluded],
  ];
}

/** Whether one range has values outside of the other. */
function exceeds(one: readonly [Bound, Bound], other: readonly [Bound, Bound]): boolean {
  return one.some(([value, excluded], i) => {
    const [otherValue, otherExcluded] = other[i] ?? [value, excluded];
    return value < otherValue || (value === otherValue && excluded < otherExcluded);
  });
}

/** `at least 0, at most 100`, `more than 0`, `any number`. */
function rangeText({ minimum, maximum, exclusive }: DescribedColumn): string {
  if (minimum === undefined && maximum === undefined) return "any number";
  const lower = minimum === undefined ? "" : `${exclusive ? "more than" : "at least"} ${String(minimum)}`;
  const upper = maximum === undefined ? "" : `${exclusive ? "less than" : "at most"} ${String(maximum)}`;
  return [lower, upper].filter((text) => text !== "").join(", ");
}

function compareUnique(base: DescribedColumn, head: DescribedColumn): readonly Difference[] {
  if (base.unique === head.unique) return [];
  const text = (isUnique: true | undefined) => (isUnique ? "unique" : "not known to be unique");
  const kind = head.unique ? "unique-test-added" : "unique-test-removed";
  return [{ kind, subject: base.name, before: text(base.unique), after: text(head.unique) }];
}

function compareReferences(
  { name: subject, references: before }: DescribedColumn,
  { references: after }: DescribedColumn,
): readonly Difference[] {
  if (before === after) return [];
  const kind = before === undefined ? "reference-added" : "reference-changed";
  return [{ kind, subject, before: before ?? "any value", after: after ?? "any value" }];
}
