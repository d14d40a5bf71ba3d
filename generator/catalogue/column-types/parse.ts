/** What stands between two commas: words, values and groups, in the order written. */
export type Expression = readonly ExpressionItem[];
export type ExpressionItem = Exclude<Token, { kind: "mark" }> | Sign | BracketGroup;

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

/** No column nests deeper; it keeps every later walk over the tree, recursive as it is, off the stack's end. */
export const MAX_DEPTH = 32;

interface Frame {
  readonly open: "(" | "[" | undefined;
  readonly parts: ExpressionItem[][];
  last: ExpressionItem[];
}

/** The one expression that the tokens form, or undefined if brackets do not match or lie too deep. */
export function expressionOf(tokens: readonly Token[]): Expression | undefined {
  const root = frameOf(undefined);
  const stack = [root];
  for (const token of tokens) {
    const frame = stack.at(-1) ?? root;
    if (token.kind !== "mark") frame.last.push(token);
    else if (!place(token.mark, frame, stack)) return undefined;
  }
  return stack.length === 1 ? root.last : undefined;
}

function place(mark: Mark, frame: Frame, stack: Frame[]): boolean {
  switch (mark) {
    case "(":
    case "[":
      return stack.push(frameOf(mark)) <= MAX_DEPTH + 1;
    case ")":
      return frame.open === "(" && close(frame.open, frame, stack);
    case "]":
      return frame.open === "[" && close(frame.open, frame, stack);
    case ",":
      frame.last = [];
      frame.parts.push(frame.last);
      return frame.open !== undefined;
    case "=":
    case ".":
      frame.last.push({ kind: "sign", sign: mark });
      return true;
  }
}

function close(open: "(" | "[", frame: Frame, stack: Frame[]): boolean {
  const isEmpty = frame.parts.length === 1 && frame.last.length === 0;
  stack.pop();
  stack.at(-1)?.last.push({ kind: "group", open, parts: isEmpty ? [] : frame.parts });
  return true;
}

function frameOf(open: Frame["open"]): Frame {
  const last: ExpressionItem[] = [];
  return { open, parts: [last], last };
}

/** The smallest pieces of a type text. A quoted name is a word; text in single quotes is a string. */
type Token =
  | { readonly kind: "word"; readonly text: string }
  | { readonly kind: "string"; readonly text: string }
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "mark"; readonly mark: Mark };

type Mark = "(" | ")" | "[" | "]" | "," | "=" | ".";

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
