declare const brand: unique symbol;

/** A value that goes to the database beside the text, never in it. */
export type BindValue = string | number | readonly string[];

/**
 * A piece of SQL: text with gaps, and what tells the value of each gap. Branded: only the makers of this file make one,
 * so no text from a request or a manifest can pass for SQL.
 *
 * `From` is what the values are taken from: a piece is made once for all requests of one form, and filled for each.
 */
export interface Sql<From = unknown> {
  readonly [brand]: true;
  /** One more than there are values. */
  readonly texts: readonly string[];
  readonly values: readonly ValueOf<From>[];
}

/** Tells the value of a gap. */
export type ValueOf<From> = (from: From) => BindValue;

function piece<From>(texts: readonly string[], values: readonly ValueOf<From>[]): Sql<From> {
  return { texts, values } as unknown as Sql<From>;
}

/** SQL written in this code; `${}` takes other pieces only. */
export function sql<From = unknown>(
  literals: TemplateStringsArray,
  ...parts: readonly Sql<From>[]
): Sql<From> {
  return concat(literals, parts);
}

/** A bind value. */
export function bind<From>(value: ValueOf<From>): Sql<From> {
  return piece(["", ""], [value]);
}

/** A whole number of this code's own, as it stands in the text. */
export function constant(number: number): Sql {
  return piece([String(Math.trunc(number))], []);
}

/** A quoted identifier: doubling the quote is all that standard SQL asks for. */
export function identifier(...names: readonly string[]): Sql {
  return piece([names.map((name) => `"${name.replaceAll('"', '""')}"`).join(".")], []);
}

/** Pieces with a separator between them. */
export function join<From>(
  parts: readonly Sql<From>[],
  separator: " AND " | ", " | " || ',' || ",
): Sql<From> {
  if (parts.length === 0) return piece([""], []);
  const between = Array.from({ length: parts.length - 1 }, () => separator);
  return concat(["", ...between, ""], parts);
}

export const EMPTY: Sql = piece([""], []);

/** Keywords that a value chooses between. */
export const DIRECTIONS = { ASC: piece(["ASC"], []), DESC: piece(["DESC"], []) } as const;

/** `literals[0] parts[0] literals[1] …`, with the texts that meet run together. */
function concat<From>(literals: readonly string[], parts: readonly Sql<From>[]): Sql<From> {
  const texts: string[] = [];
  const values: ValueOf<From>[] = [];
  let open = literals[0] ?? "";
  parts.forEach((part, i) => {
    part.texts.forEach((text, j) => {
      if (j > 0) {
        texts.push(open);
        open = "";
      }
      open += text;
    });
    for (const value of part.values) values.push(value);
    open += literals[i + 1] ?? "";
  });
  texts.push(open);
  return piece(texts, values);
}

/** What a driver takes: text with numbered placeholders, and the values. */
export interface Statement {
  readonly [brand]: true;
  readonly text: string;
  readonly values: readonly BindValue[];
}

/** A statement but for its values: text with numbered placeholders, and what tells the value of each. */
export interface Plan<From> {
  readonly [brand]: true;
  readonly text: string;
  readonly values: readonly ValueOf<From>[];
}

/** Numbers the placeholders as an engine writes them. */
export function plan<From>(body: Sql<From>, placeholder: (position: number) => string): Plan<From> {
  let text = body.texts[0] ?? "";
  for (let i = 0; i < body.values.length; i++) text += placeholder(i + 1) + (body.texts[i + 1] ?? "");
  return { text, values: body.values } as unknown as Plan<From>;
}

/** Takes the values of a plan from a request. */
export function statement<From>({ text, values }: Plan<From>, from: From): Statement {
  return { text, values: values.map((value) => value(from)) } as unknown as Statement;
}
