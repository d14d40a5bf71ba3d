import { hash } from "node:crypto";
import { projectSqlProblem, withNullQuotients } from "../model/project-sql.js";

declare const brand: unique symbol;

/** A bind parameter: sent separately from the text. */
export type BindValue = string | number | null | readonly (string | null)[];

/**
 * A fragment of SQL: text with placeholders, and a function for the value of each. Branded: only this file creates
 * fragments, so text from a request or a manifest cannot become SQL.
 *
 * `From` is the source of the values: a fragment is built once for all requests of one form, its values for each request.
 */
export interface Sql<From = unknown> {
  readonly [brand]: true;
  /** Text around the placeholders: one more than `values`. */
  readonly texts: readonly string[];
  readonly values: readonly ReadValue<From>[];
}

/** Reads the value of a placeholder. */
interface ReadValue<From> {
  (from: From): BindValue;
  /** Makes what stands in its place. */
  readonly part?: (from: From) => Sql<From>;
}

function fragment<From>(texts: readonly string[], values: readonly ReadValue<From>[]): Sql<From> {
  return { texts, values } as unknown as Sql<From>;
}

/** SQL of the source code; `${}` takes other fragments only. */
export function sql<From = unknown>(
  literals: TemplateStringsArray,
  ...parts: readonly Sql<From>[]
): Sql<From> {
  return concat(literals, parts);
}

/** A bind value. */
export function bind<From>(value: ReadValue<From>): Sql<From> {
  return fragment(["", ""], [value]);
}

/** A part whose text too follows from the values. `resolved` makes it. */
export function deferred<From>(part: (from: From) => Sql<From>): Sql<From> {
  const read = (): BindValue => {
    throw new Error("A part of a statement was not resolved.");
  };
  return fragment(["", ""], [Object.assign(read, { part })]);
}

/** The fragment with its deferred parts for these values. */
export function resolved<From>(body: Sql<From>, from: From): Sql<From> {
  if (body.values.every(({ part }) => part === undefined)) return body;
  const parts = body.values.map((read) => read.part?.(from) ?? bind(read));
  return concat(body.texts, parts);
}

/** An integer of the source code. */
export function constant(number: number): Sql {
  return fragment([String(Math.trunc(number))], []);
}

/** A text of the catalogue as an SQL string literal, whatever `standard_conforming_strings` and `backslash_quote` are. */
export function literal(text: string): Sql {
  return fragment([`E'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`], []);
}

/** A text as an SQL string literal of an engine that takes a backslash as an escape inside it. */
export function escapedLiteral(text: string): Sql {
  return fragment([`'${text.replace(/[\\']/g, "\\$&")}'`], []);
}

/** The route that a statement serves, if any, as a comment in the format of sqlcommenter: percent-encoded, so that it ends nothing. */
export function routeComment(route: string | undefined): Sql {
  if (route === undefined) return EMPTY;
  // What `encodeURIComponent` leaves as it is.
  const value = encodeURIComponent(route).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return fragment([` /*route='${value}'*/`], []);
}

/** The name of a built-in type, with its sizes. */
export function typeName(name: string): Sql {
  if (!/^[A-Za-z0-9 (),]+('UTC'\)+)?$/.test(name))
    throw new Error(`Not the name of a built-in type: ${name}`);
  return fragment([name], []);
}

/** Parts of one expression of the dbt project with fragments between them. Throws where it could break out of the statement. */
export function projectParts<From>(parts: readonly (string | Sql<From>)[]): Sql<From> {
  const problem = projectSqlProblem(textsBetween(parts));
  if (problem !== null) throw new Error(`Not an expression of the project: ${problem}.`);
  const fragments = withNullQuotients(parts).map((part) =>
    typeof part === "string" ? fragment<From>([part], []) : part,
  );
  return sql`(${concat(["", ...fragments.map(() => "")], fragments)})`;
}

function textsBetween(parts: readonly (string | Sql<never>)[]): readonly string[] {
  const texts = [""];
  for (const part of parts) {
    if (typeof part === "string") texts.push((texts.pop() ?? "") + part);
    else texts.push("");
  }
  return texts;
}

/** A quoted identifier of PostgreSQL. Names that it would cut stay apart; a qualified one is the database's, which has cut it. */
export function identifier(...names: readonly string[]): Sql {
  const kept = names.length === 1 ? names.map(keptName) : names;
  return fragment([kept.map((name) => `"${name.replaceAll('"', '""')}"`).join(".")], []);
}

/** PostgreSQL keeps 63 bytes of a name. */
function keptName(name: string): string {
  if (name.length <= 21 || Buffer.byteLength(name) <= 63) return name;
  return `${name.slice(0, 12)} ${hash("sha256", name).slice(0, 24)}`;
}

/** A quoted identifier of an engine that takes a backslash as an escape inside it. */
export function escapedIdentifier(...names: readonly string[]): Sql {
  return fragment([names.map((name) => `"${name.replace(/["\\]/g, "\\$&")}"`).join(".")], []);
}

/** Fragments with a separator between them. */
export function join<From>(
  parts: readonly Sql<From>[],
  separator: " AND " | " OR " | " UNION ALL " | ", " | " + " | " ",
): Sql<From> {
  if (parts.length === 0) return fragment([""], []);
  const between = Array.from({ length: parts.length - 1 }, () => separator);
  return concat(["", ...between, ""], parts);
}

export const EMPTY: Sql = fragment([""], []);

export const DIRECTIONS = { ASC: fragment(["ASC"], []), DESC: fragment(["DESC"], []) } as const;

/** `literals[0] parts[0] literals[1] …`; adjacent texts are joined. */
function concat<From>(literals: readonly string[], parts: readonly Sql<From>[]): Sql<From> {
  const texts: string[] = [];
  const values: ReadValue<From>[] = [];
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
  return fragment(texts, values);
}

/** Text with numbered placeholders, and the values. */
export interface Statement {
  readonly [brand]: true;
  readonly text: string;
  readonly values: readonly BindValue[];
}

/** A statement before its values are read. */
export interface Plan<From> {
  readonly [brand]: true;
  readonly text: string;
  readonly values: readonly ReadValue<From>[];
}

/** Builds the text with the engine's placeholders. Joined it is one piece: a sum of texts keeps its parts in memory until it is read. */
export function plan<From>(body: Sql<From>, placeholder: (position: number) => string): Plan<From> {
  const parts = [body.texts[0] ?? ""];
  for (let i = 0; i < body.values.length; i++) parts.push(placeholder(i + 1), body.texts[i + 1] ?? "");
  return { text: parts.join(""), values: body.values } as unknown as Plan<From>;
}

export function statement<From>({ text, values }: Plan<From>, from: From): Statement {
  return { text, values: values.map((value) => value(from)) } as unknown as Statement;
}
