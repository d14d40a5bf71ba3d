import type { Expression, Group, Item } from "./syntax.js";

/** A type as SQL writes one: `character varying(10)[]`, `timestamp(3) with time zone`, `Map(String, UInt64)`. */
export interface Signature {
  /** The words around the parentheses, one space between them, in the letter case written. */
  readonly name: string;
  readonly args: readonly Expression[];
  /** How many times an array of it: `[]`, `[3]` and `ARRAY` behind the type. */
  readonly dimensions: number;
}

/** PostgreSQL's own limit, MAXDIM. */
const MAX_DIMENSIONS = 6;

/** Reads an expression as a type; undefined if it is something else, such as `'a' = 1`. */
export function signatureOf(expression: Expression): Signature | undefined {
  const brackets = trailingBrackets(expression);
  const isSqlArray = endsInArrayWord(expression, brackets);
  const dimensions = isSqlArray ? Math.max(1, brackets) : brackets;
  const type = expression.slice(0, expression.length - brackets - (isSqlArray ? 1 : 0));
  const name = nameOf(type);
  const [group, ...others] = type.filter(isGroup);
  if (name === undefined || others.length > 0 || group?.open === "[") return undefined;
  return dimensions > MAX_DIMENSIONS ? undefined : { name, args: group?.parts ?? [], dimensions };
}

function nameOf(type: Expression): string | undefined {
  const words = type.filter((item) => !isGroup(item)).map(wordOf);
  if (isGroup(type[0]) || words.length === 0 || words.includes(undefined)) return undefined;
  return words.join(" ").replace(SYSTEM_SCHEMA, "");
}

/** Where PostgreSQL's own types live, and where extensions such as citext put theirs. */
const SYSTEM_SCHEMA = /^(?:pg_catalog|public) \. /iu;

function trailingBrackets(expression: Expression): number {
  const before = expression.findLastIndex((item) => !isBracket(item));
  return expression.length - 1 - before;
}

function isBracket(item: Item): boolean {
  return (
    isGroup(item) && item.open === "[" && (item.parts.length === 0 || item.parts[0]?.[0]?.kind === "number")
  );
}

/** `text ARRAY`, but neither `Array(String)` nor the field `tags Array(String)`. */
function endsInArrayWord(expression: Expression, brackets: number): boolean {
  const last = expression.length - brackets - 1;
  const item = expression[last];
  return last > 0 && item?.kind === "word" && item.text.toLowerCase() === "array";
}

function isGroup(item: Item | undefined): item is Group {
  return item?.kind === "group";
}

function wordOf(item: Item): string | undefined {
  if (item.kind === "word") return item.text;
  return item.kind === "sign" && item.sign === "." ? "." : undefined;
}
