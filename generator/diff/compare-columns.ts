import type { Column, Endpoint } from "@routewright/runtime/model";
import type { CatalogueEntry, ColumnFacts, ModelFacts } from "../catalogue/catalogue.js";
import { type ColumnType, isZoneless, parseColumnType } from "../catalogue/column-types/column-type.js";
import type { ChangeKind, Difference } from "./change.js";
import { compareTypes, type TypeChange } from "./column-compatibility.js";

/** What differs in the rows. */
export function compareColumns(base: CatalogueEntry, head: CatalogueEntry): readonly Difference[] {
  const [was, is] = [base, head].map(
    ({ endpoint }) => new Map(endpoint.columns.map((column) => [column.name, column])),
  );
  if ((was?.size === 0) !== (is?.size === 0)) return [compareDeclaration(base.endpoint, head.endpoint)];
  const added = head.endpoint.columns.filter(({ name }) => !was?.has(name));
  const kind = isOverPrivateData(head.facts) ? "column-exposed" : "column-added";
  return [
    ...base.endpoint.columns.flatMap((column) => compareColumn(column, is?.get(column.name), base)),
    ...compareNumbers(base.endpoint, head.endpoint),
    ...added.map((column) => ({ kind, subject: column.name, after: typeText(column) }) as const),
    ...compareOrder(base.endpoint.columns, head.endpoint.columns),
    ...compareGuarantees(base, head),
  ];
}

/** A model that declares no columns is served whole, one that declares some with these alone. */
function compareDeclaration(base: Endpoint, head: Endpoint): Difference {
  if (head.columns.length > 0) return { kind: "columns-declared", before: WHOLE, after: names(head.columns) };
  return { kind: "columns-undeclared", before: names(base.columns), after: WHOLE };
}

const WHOLE = "all columns of the relation";

function isOverPrivateData({ isPrivate, columns }: ModelFacts): boolean {
  return isPrivate || [...columns.values()].some((column) => column.isPrivate);
}

/** `meta.routewright.numbers` serves wide numbers as JSON strings or as JSON numbers. */
function compareNumbers(base: Endpoint, head: Endpoint): readonly Difference[] {
  if (base.numbers === head.numbers) return [];
  const [before, after] = [base, head].map(({ numbers = "number" }) => numbers) as [string, string];
  const wide = head.columns.filter(
    ({ name, wide: isWide }) => isWide && base.columns.some((was) => was.name === name),
  );
  return wide.map(({ name: subject }) => ({ kind: "column-retyped", subject, before, after }));
}

function compareColumn(
  was: Column,
  is: Column | undefined,
  { facts }: CatalogueEntry,
): readonly Difference[] {
  const subject = was.name;
  if (is === undefined) return [{ kind: "column-removed", subject, before: typeText(was) }];
  if (is.type === was.type) return [];
  const text = { subject, before: typeText(was), after: typeText(is) };
  const [before, after] = [typeOf(was), typeOf(is)];
  const kinds = [
    KIND_OF[compareTypes(before, after)],
    isZoneless(was.type) === isZoneless(is.type) || before.kind !== after.kind ? null : "column-zone-changed",
    nullKind(before, after, facts.columns.get(subject)?.notNull === "test"),
  ] as const;
  return kinds.filter((kind) => kind !== null).map((kind) => ({ kind, ...text }));
}

const KIND_OF: Readonly<Record<TypeChange, ChangeKind | null>> = {
  same: null,
  narrowed: "column-narrowed",
  lengthened: "column-lengthened",
  "number-changed": "column-number-changed",
  widened: "column-widened",
  "scale-lowered": "column-scale-lowered",
  retyped: "column-retyped",
};

/** Types that hold null among their values say nothing about it. */
function nullKind(base: ColumnType, head: ColumnType, isOnlyTested: boolean): ChangeKind | null {
  if (!("nullable" in base) || !("nullable" in head) || base.nullable === head.nullable) return null;
  if (base.nullable) return "column-made-non-null";
  return isOnlyTested ? "column-null-test-removed" : "column-made-nullable";
}

function typeOf({ type }: Column): ColumnType {
  return parseColumnType(type ?? undefined);
}

function typeText({ type }: Column): string {
  return type ?? "no type";
}

/** JSON clients read fields by name; CSV clients may go by position. Columns added at the end move none. */
function compareOrder(base: readonly Column[], head: readonly Column[]): readonly Difference[] {
  const kept = base.map(({ name }) => name).filter((name) => head.some((column) => column.name === name));
  const after = head.map(({ name }) => name).slice(0, kept.length);
  if (kept.every((name, i) => name === after[i])) return [];
  return [{ kind: "column-order-changed", before: names(base), after: names(head) }];
}

function names(columns: readonly Column[]): string {
  return columns.map(({ name }) => name).join(", ");
}

/** What differs in what dbt tests guarantee of a column's values (generator/README.md, Tests). */
function compareGuarantees(base: CatalogueEntry, head: CatalogueEntry): readonly Difference[] {
  const kept = base.endpoint.columns.filter((column) =>
    head.endpoint.columns.some(({ name }) => name === column.name),
  );
  return kept.flatMap(({ name: subject }) => {
    const [was, is] = [base, head].map(({ facts }) => facts.columns.get(subject) ?? {}) as [Facts, Facts];
    const found = [compareAcceptedValues, compareRanges, compareUnique, compareReferences].flatMap(
      (compare) => compare(was, is),
    );
    return found.map((difference) => ({ subject, ...difference }));
  });
}

/** A column without tests has none. */
type Facts = Partial<ColumnFacts>;

function compareAcceptedValues(was: Facts, is: Facts): readonly Difference[] {
  const [before, after] = [was.acceptedValues ?? null, is.acceptedValues ?? null];
  const isWider = before !== null && (after === null || after.some((value) => !before.includes(value)));
  const isNarrower = after !== null && (before === null || before.some((value) => !after.includes(value)));
  if (!isWider && !isNarrower) return [];
  const kind = isWider ? "accepted-values-widened" : "accepted-values-narrowed";
  return [{ kind, before: valuesText(before), after: valuesText(after) }];
}

function valuesText(values: readonly string[] | null): string {
  return values === null ? "any value" : values.join(", ");
}

function compareRanges(was: Facts, is: Facts): readonly Difference[] {
  const [before, after] = [boundsOf(was), boundsOf(is)];
  const isWider = exceeds(after, before);
  if (!isWider && !exceeds(before, after)) return [];
  const kind = isWider ? "range-widened" : "range-narrowed";
  return [{ kind, before: rangeText(was), after: rangeText(is) }];
}

/** A bound, and 1 where the range excludes it. */
type Bound = readonly [value: number, excluded: 0 | 1];

/** Both bounds, the upper one negated: in both, the smaller admits more values. */
function boundsOf({ minimum, maximum, exclusive }: Facts): readonly [lower: Bound, upper: Bound] {
  const excluded = exclusive ? 1 : 0;
  return [
    minimum === undefined ? [-Infinity, 0] : [minimum, excluded],
    maximum === undefined ? [-Infinity, 0] : [-maximum, excluded],
  ];
}

/** Whether a range has values outside of another. */
function exceeds(one: readonly [Bound, Bound], other: readonly [Bound, Bound]): boolean {
  return one.some(([value, excluded], i) => {
    const [otherValue, otherExcluded] = other[i] ?? [value, excluded];
    return value < otherValue || (value === otherValue && excluded < otherExcluded);
  });
}

/** `0 to 100`, `more than 0`, `any number`. */
function rangeText({ minimum, maximum, exclusive }: Facts): string {
  if (minimum === undefined && maximum === undefined) return "any number";
  const lower = minimum === undefined ? "" : `${exclusive ? "more than" : "at least"} ${String(minimum)}`;
  const upper = maximum === undefined ? "" : `${exclusive ? "less than" : "at most"} ${String(maximum)}`;
  return [lower, upper].filter((text) => text !== "").join(", ");
}

function compareUnique(was: Facts, is: Facts): readonly Difference[] {
  if (was.unique === is.unique) return [];
  const text = (isUnique: true | undefined) => (isUnique ? "unique" : "not known to be unique");
  const kind = is.unique ? "unique-test-added" : "unique-test-removed";
  return [{ kind, before: text(was.unique), after: text(is.unique) }];
}

function compareReferences({ references: was }: Facts, { references: is }: Facts): readonly Difference[] {
  if (was === is) return [];
  const kind = was === undefined ? "reference-added" : "reference-changed";
  return [{ kind, before: was ?? "any value", after: is ?? "any value" }];
}
