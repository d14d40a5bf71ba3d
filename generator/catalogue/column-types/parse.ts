/** The items between two commas: words, values and bracket groups. */
export type Expression = readonly ExpressionItem[];
export type ExpressionItem = Exclude<Token, { kind: "punctuation" }> | Sign | BracketGroup;

interface Sign {
  readonly kind: "sign";
  readonly sign: "=" | ".";
}

/** A pair of brackets and the expressions in it, none for `()` and `[]`. */
export interface BracketGroup {
  readonly kind: "group";
  readonly open: "(" | "[";
  readonly parts: readonly Expression[];
}

/** Maximum nesting: bounds the recursion of everything that walks the tree. */
const MAX_DEPTH = 32;

/** Parses tokens to an expression; undefined if brackets do not match or are nested too deeply. */
export function expressionOf(tokens: readonly Token[]): Expression | undefined {
  const [expression, ...others] = partsUntil(undefined, tokens.values(), 0) ?? [];
  return others.length === 0 ? expression : undefined;
}

const CLOSING = { "(": ")", "[": "]" } as const;

/** The expressions before a closing bracket, or before the end of the text. */
function partsUntil(
  end: ")" | "]" | undefined,
  tokens: Iterator<Token>,
  depth: number,
): readonly Expression[] | undefined {
  let last: ExpressionItem[] = [];
  const parts = [last];
  for (let next = tokens.next(); next.done !== true; next = tokens.next()) {
    if (next.value.kind !== "punctuation") {
      last.push(next.value);
      continue;
    }
    const { punctuation } = next.value;
    if (punctuation === ",") parts.push((last = []));
    else if (punctuation === "=" || punctuation === ".") last.push({ kind: "sign", sign: punctuation });
    else if (punctuation === "(" || punctuation === "[") {
      const inner = depth === MAX_DEPTH ? undefined : partsUntil(CLOSING[punctuation], tokens, depth + 1);
      if (inner === undefined) return undefined;
      last.push({ kind: "group", open: punctuation, parts: inner });
    } else if (punctuation === end) return parts.length === 1 && last.length === 0 ? [] : parts;
    else return undefined;
  }
  return end === undefined ? parts : undefined;
}

/** A token of a type text. A quoted name is a word; text in single quotes is a string. */
type Token =
  | { readonly kind: "word"; readonly text: string }
  | { readonly kind: "string"; readonly text: string }
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "punctuation"; readonly punctuation: Punctuation };

type Punctuation = "(" | ")" | "[" | "]" | "," | "=" | ".";

/** Alternatives begin with different characters: matching takes linear time. */
const TOKEN =
  /\s*(?:([A-Za-z_][A-Za-z0-9_$]*)|([+-]?[0-9]+)|([()[\],=.])|("(?:[^"\\]|\\.|"")*"|`(?:[^`\\]|\\.|``)*`)|('(?:[^'\\]|\\.|'')*'))/suy;

/** The tokens of a text; undefined if it contains anything else. */
export function tokensOf(text: string): readonly Token[] | undefined {
  const pattern = new RegExp(TOKEN);
  const trimmed = text.trimEnd();
  const tokens: Token[] = [];
  while (pattern.lastIndex < trimmed.length) {
    const match = pattern.exec(trimmed);
    if (match === null) return undefined;
    tokens.push(tokenOf(match));
  }
  return tokens;
}

function tokenOf([, word, number, punctuation, name, string]: RegExpExecArray): Token {
  if (word !== undefined) return { kind: "word", text: word };
  if (number !== undefined) return { kind: "number", value: Number(number) };
  if (punctuation !== undefined) return { kind: "punctuation", punctuation: punctuation as Punctuation };
  if (name !== undefined) return { kind: "word", text: unquoted(name) };
  return { kind: "string", text: unquoted(string ?? "") };
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

function unquoted(quoted: string): string {
  const quote = quoted.charAt(0);
  return quoted
    .slice(1, -1)
    .replace(/\\x([0-7][0-9A-Fa-f])|\\(.)|(["'`])\3/gsu, (whole: string, hex?: string, escaped?: string) => {
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
      if (escaped !== undefined) return ESCAPES.get(escaped) ?? whole;
      return whole.charAt(0) === quote ? quote : whole;
    });
}
