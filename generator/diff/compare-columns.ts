import type { Column, Endpoint } from "@routewright/runtime/model";
import type { CatalogueEntry, ModelFacts } from "../catalogue/catalogue.js";
import { type ColumnType, parseColumnType } from "../catalogue/column-types/column-type.js";
import { compareTypes, type TypeChange } from "./column-compatibility.js";
import type { Difference } from "./change.js";
import { compareGuarantees } from "./compare-guarantees.js";
import type { ChangeKind } from "./kinds.js";

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

/** `meta.routewright.numbers` makes strings of the wide numbers, or numbers again. */
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

/** A PostgreSQL timestamp without a zone is served as if it were UTC; all other date-times are instants. */
export function isZoneless(type: string | null): boolean {
  return /\btimestamp\b(?!.*\bwith time zone)/i.test(type ?? "");
}

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
