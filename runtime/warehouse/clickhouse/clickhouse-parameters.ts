import { bind, plan, sql, type Sql, statement, type Statement, typeName } from "../sql.js";

/** A value in the text form of its type. */
export function parameter(value: string, type: string): Sql {
  return sql`{${bind(() => (type === "String" ? escaped(value) : value))}:${typeName(type)}}`;
}

const ESCAPES: Readonly<Record<string, string>> = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };

/** A text as a parameter of a query has it. */
export function escaped(text: string): string {
  return text.replace(/[\\'\t\n\r]/g, (character) => ESCAPES[character] ?? `\\${character}`);
}

/** The statement with its parameters. */
export function finished(body: Sql): Statement {
  return statement(
    plan(body, (position) => `p${String(position)}`),
    undefined,
  );
}
