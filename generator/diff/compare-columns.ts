import type { Column } from "@routewright/runtime/model";
import { type ColumnType, jsonSchemaOf, parseColumnType } from "../catalogue/column-types/column-type.js";
import type { Difference } from "./change.js";
import { fits } from "./column-fit.js";

/** What differs in the rows. Their order does not matter: a row is a JSON object. */
export function compareColumns(base: readonly Column[], head: readonly Column[]): readonly Difference[] {
  const [was, is] = [base, head].map((columns) => new Map(columns.map((column) => [column.name, column])));
  return [
    ...base.flatMap((column) => compareColumn(column, is?.get(column.name))),
    ...head.filter(({ name }) => !was?.has(name)).map(addition),
  ];
}

function compareColumn(was: Column, is: Column | undefined): readonly Difference[] {
  const subject = was.name;
  if (is === undefined) return [{ kind: "column-removed", subject, before: typeText(was) }];
  if (is.type === was.type) return [];
  const [base, head] = [typeOf(was), typeOf(is)];
  const text = { subject, before: typeText(was), after: typeText(is) };
  const kinds = [valueKind(base, head), nullKind(base, head)].filter((kind) => kind !== null);
  return kinds.map((kind) => ({ kind, ...text }));
}

/**
 * A type counts as changed when its JSON Schema does, null aside. It breaks a consumer when the head may send what the
 * base's schema did not allow: UInt32 → UInt64 does, since a client made from the old document holds it in 32 bits;
 * UInt64 → UInt32 does not. String → LowCardinality(String) is nothing that anybody sees.
 */
function valueKind(base: ColumnType, head: ColumnType): "column-retyped" | "column-narrowed" | null {
  const [was, is] = [withoutNull(base), withoutNull(head)];
  if (JSON.stringify(jsonSchemaOf(was)) === JSON.stringify(jsonSchemaOf(is))) return null;
  if (!fits(was, is)) return "column-retyped";
  return fits(is, was) ? null : "column-narrowed";
}

/** Types that hold null among their values say nothing about it, so that nothing is told. */
function nullKind(
  base: ColumnType,
  head: ColumnType,
): "column-made-nullable" | "column-made-non-null" | null {
  if (!("nullable" in base) || !("nullable" in head) || base.nullable === head.nullable) return null;
  return head.nullable ? "column-made-nullable" : "column-made-non-null";
}

function withoutNull(type: ColumnType): ColumnType {
  return "nullable" in type ? { ...type, nullable: false } : type;
}

function typeOf({ type }: Column): ColumnType {
  return parseColumnType(type ?? undefined);
}

function typeText({ type }: Column): string {
  return type ?? "no type";
}

function addition(column: Column): Difference {
  return { kind: "column-added", subject: column.name, after: typeText(column) };
}
