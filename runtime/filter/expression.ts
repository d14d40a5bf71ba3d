import type { LiteralKind } from "../core/model/filter-text.js";

/** What the grammar makes of a text (`grammar.peggy`). Positions count characters from 1. */
export type Expression =
  | { readonly kind: "and" | "or"; readonly of: readonly Expression[] }
  | { readonly kind: "not"; readonly of: Expression }
  | Comparing
  | { readonly kind: "in"; readonly subject: FilterSubject; readonly values: readonly Literal[] }
  | TextTest
  /** A boolean column alone. */
  | { readonly kind: "flag"; readonly subject: FilterSubject };

export interface Comparing {
  readonly kind: "compare";
  readonly subject: FilterSubject;
  readonly operator: Sign;
  readonly value: Literal;
}

export interface TextTest {
  readonly kind: "text";
  readonly test: "contains" | "startswith" | "endswith";
  readonly subject: FilterSubject;
  readonly value: Literal;
}

export type Sign = "eq" | "ne" | "gt" | "ge" | "lt" | "le";

/** `ne` is the opposite of `eq`. */
export type Order = Exclude<Sign, "ne">;

/** A column, or a part of its dates. */
export interface FilterSubject {
  readonly column: string;
  readonly part: "year" | "month" | "day" | "date" | null;
  readonly at: number;
}

export interface Literal {
  readonly kind: LiteralKind;
  readonly text: string;
  readonly at: number;
}
