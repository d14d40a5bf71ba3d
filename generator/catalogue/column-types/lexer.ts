/** The smallest pieces of a type text. A quoted name is a word; text in single quotes is a string. */
export type Token =
  | { readonly kind: "word"; readonly text: string }
  | { readonly kind: "string"; readonly text: string }
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "mark"; readonly mark: Mark };

export type Mark = "(" | ")" | "[" | "]" | "," | "=" | ".";

/** No alternative can begin where another does, so a text is read once from left to right. */
const TOKEN =
  /\s*(?:([A-Za-z_][A-Za-z0-9_$]*)|([+-]?[0-9]+)|([()[\],=.])|("(?:[^"\\]|\\.|"")*"|`(?:[^`\\]|\\.|``)*`)|('(?:[^'\\]|\\.|'')*'))/suy;

/** The tokens of a text, or undefined if it holds anything that no type text holds. */
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

function tokenOf([, word, number, mark, name, string]: RegExpExecArray): Token {
  if (word !== undefined) return { kind: "word", text: word };
  if (number !== undefined) return { kind: "number", value: Number(number) };
  if (mark !== undefined) return { kind: "mark", mark: mark as Mark };
  if (name !== undefined) return { kind: "word", text: unquoted(name) };
  return { kind: "string", text: unquoted(string ?? "") };
}

/** ClickHouse's escapes; a backslash before any other character stands for itself, as there. */
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
