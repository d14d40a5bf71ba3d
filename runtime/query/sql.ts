declare const brand: unique symbol;

/** A value that goes to the database beside the text, never in it. */
export type BindValue = string | number | readonly string[];

/**
 * A piece of SQL: text with gaps, and what fills each gap. Branded: only the makers of this file make one, so no text
 * from a request or a manifest can pass for SQL.
 */
export interface Sql {
  readonly [brand]: true;
  /** One more than there are values. */
  readonly texts: readonly string[];
  readonly values: readonly BindValue[];
}

function piece(texts: readonly string[], values: readonly BindValue[]): Sql {
  return { texts, values } as unknown as Sql;
}

/** SQL written in this code; `${}` takes other pieces only. */
export function sql(literals: TemplateStringsArray, ...parts: readonly Sql[]): Sql {
  return concat(literals, parts);
}

/** A bind value. */
export function bind(value: BindValue): Sql {
  return piece(["", ""], [value]);
}

/** A quoted identifier: doubling the quote is all that standard SQL asks for. */
export function identifier(...names: readonly string[]): Sql {
  return piece([names.map((name) => `"${name.replaceAll('"', '""')}"`).join(".")], []);
}

/** Pieces with a separator between them. */
export function join(parts: readonly Sql[], separator: " AND " | ", "): Sql {
  if (parts.length === 0) return piece([""], []);
  const between = Array.from({ length: parts.length - 1 }, () => separator);
  return concat(["", ...between, ""], parts);
}

export const EMPTY: Sql = piece([""], []);

/** Keywords that a value chooses between. */
export const DIRECTIONS = { ASC: piece(["ASC"], []), DESC: piece(["DESC"], []) } as const;

/** `literals[0] parts[0] literals[1] …`, with the texts that meet run together. */
function concat(literals: readonly string[], parts: readonly Sql[]): Sql {
  const texts: string[] = [];
  const values: BindValue[] = [];
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

/** Numbers the placeholders as an engine writes them. */
export function statement(body: Sql, placeholder: (position: number) => string): Statement {
  let text = body.texts[0] ?? "";
  for (let i = 0; i < body.values.length; i++) text += placeholder(i + 1) + (body.texts[i + 1] ?? "");
  return { text, values: body.values } as unknown as Statement;
}
