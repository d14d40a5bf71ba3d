/**
 * The text of a type, taken apart in the same way for every database: `Decimal(38, 18)`, `timestamp(3) with time zone`,
 * `numeric(10,2)[]`, `ARRAY<STRUCT<a INT64>>`, `Enum8('it\'s' = 1)`. What its words mean is said elsewhere.
 */
export interface TypeText {
  /** As it is written, without quotes and PostgreSQL's own schemas, with single spaces: `timestamp with time zone`. */
  readonly name: string;
  /** What its brackets hold, at the commas. */
  readonly args: readonly string[];
  /** Whether these brackets are `<>`. */
  readonly isAngled: boolean;
  /** How many `[]` or `[3]` follow, or the word `ARRAY`. */
  readonly dimensions: number;
  /** Whether it ends in `null`, as the definition of a column may. */
  readonly isNull: boolean;
}

/** Longest text of a type that is read of a project: enough for an `Enum16` with thousands of members. */
export const MAX_TYPE_TEXT = 65_536;

/**
 * Null where brackets do not match or are nested too deeply, or the text is something else than a type. Takes time linear in
 * the text.
 */
export function typeTextOf(text: string): TypeText | null {
  const trimmed = text.trim();
  const [ending, not] = /\s(?:(not)\s+)?null$/i.exec(trimmed) ?? [""];
  const { element, dimensions } = withoutSizes(trimmed.slice(0, trimmed.length - ending.length).trimEnd());
  const brackets = bracketsOf(element);
  const name = brackets && nameOf(`${brackets.before} ${brackets.after}`);
  if (!name || brackets.before.trim() === "") return null;
  const isSqlArray = / array$/i.test(name) && !/[)>]$/.test(element);
  return {
    name: isSqlArray ? name.slice(0, -" array".length) : name,
    args: brackets.args,
    isAngled: brackets.isAngled,
    dimensions: isSqlArray ? Math.max(1, dimensions) : dimensions,
    isNull: ending !== "" && not === undefined,
  };
}

/** Takes the sizes of arrays off the end. */
function withoutSizes(text: string): { readonly element: string; readonly dimensions: number } {
  let [element, dimensions] = [text, 0];
  while (element.endsWith("]")) {
    const at = element.lastIndexOf("[");
    if (at < 0 || !/^\s*\d*\s*$/.test(element.slice(at + 1, -1))) break;
    element = element.slice(0, at).trimEnd();
    dimensions += 1;
  }
  return { element, dimensions };
}

/** The first brackets of a text, and what is before and after them. */
interface Brackets {
  readonly before: string;
  readonly args: readonly string[];
  readonly isAngled: boolean;
  readonly after: string;
}

/** Bounds the recursion of what reads types in types. */
const MAX_DEPTH = 32;

const CLOSING: ReadonlyMap<string, string> = new Map([
  ["(", ")"],
  ["<", ">"],
  ["[", "]"],
]);

/** A quoted text or name, or a bracket or comma outside of one. A quote that is not closed holds the rest: it is looked for once. */
const MARKS =
  /'(?:\\.|''|[^'\\])*(?:'|\\?$)|"(?:\\.|""|[^"\\])*(?:"|\\?$)|`(?:\\.|``|[^`\\])*(?:`|\\?$)|[()<>[\],]/gsu;

/** Without brackets all of it is before them. Null where they do not match. */
function bracketsOf(text: string): Brackets | null {
  const open: string[] = [];
  const args: string[] = [];
  let [first, start] = [0, 0];
  for (const { 0: mark, index } of text.matchAll(MARKS)) {
    if (mark === open.at(-1)) {
      open.pop();
      if (open.length > 0) continue;
      args.push(text.slice(start, index).trim());
      const after = text.slice(index + 1);
      const isEmpty = args.length === 1 && args[0] === "";
      return { before: text.slice(0, first), args: isEmpty ? [] : args, isAngled: mark === ">", after };
    }
    if (mark === "," && open.length === 1) {
      args.push(text.slice(start, index).trim());
      start = index + 1;
    }
    const closing = CLOSING.get(mark);
    if (/^[)>\]]$/.test(mark)) return null;
    if (closing === undefined) continue;
    if (open.length === 0) [first, start] = [index, index + 1];
    if (open.push(closing) > MAX_DEPTH || open[0] === "]") return null;
  }
  return open.length === 0 ? { before: text, args, isAngled: false, after: "" } : null;
}

/** A word, a quoted one, or a dot. */
const WORD = /\s*(?:([A-Za-z_][\w$]*)|("(?:\\.|""|[^"\\])*"|`(?:\\.|``|[^`\\])*`)|(\.))/suy;

/** Of PostgreSQL's own types, and of extensions such as citext. */
const SYSTEM_SCHEMA = /^(?:pg_catalog|public)\./i;

/** Null where there is something else than words. */
function nameOf(text: string): string | null {
  const pattern = new RegExp(WORD);
  const rest = text.trimEnd();
  let name = "";
  while (pattern.lastIndex < rest.length) {
    const [, word, quoted, dot] = pattern.exec(rest) ?? [];
    const written = word ?? (quoted === undefined ? dot : unquoted(quoted));
    if (written === undefined) return null;
    const isJoined = name === "" || dot !== undefined || name.endsWith(".");
    name += isJoined ? written : ` ${written}`;
  }
  return name.replace(SYSTEM_SCHEMA, "");
}

/** ClickHouse's escapes; a backslash before any other character is literal, as in ClickHouse. */
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ...["\\", "'", '"', "`", "/", "="].map((char): [string, string] => [char, char]),
  ["0", "\0"],
  ["a", "\x07"],
  ["b", "\b"],
  ["e", "\x1b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
]);

/** What is between the quotes. */
export function unquoted(quoted: string): string {
  const quote = quoted.charAt(0);
  return quoted
    .slice(1, -1)
    .replace(/\\x([0-7][0-9A-Fa-f])|\\(.)|(["'`])\3/gsu, (whole: string, hex?: string, escaped?: string) => {
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
      if (escaped !== undefined) return ESCAPES.get(escaped) ?? whole;
      return whole.charAt(0) === quote ? quote : whole;
    });
}

const FIELD =
  /^(?:("(?:\\.|""|[^"\\])*"|`(?:\\.|``|[^`\\])*`)\s*:?|([A-Za-z_][\w$]*)(?:\s*:|\s))\s*(?=[A-Za-z_"`])(.+)$/su;

/** The name and the type of `a INT64`, `a: int` and `"a b" VARCHAR`; null for a type without a name. */
export function fieldTextOf(text: string): readonly [name: string, type: string] | null {
  const [, quoted, bare, type] = FIELD.exec(text) ?? [];
  const name = quoted === undefined ? bare : unquoted(quoted);
  return name === undefined || type === undefined ? null : [name, type];
}
