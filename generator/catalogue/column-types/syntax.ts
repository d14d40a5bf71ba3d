import type { Mark, Token } from "./lexer.js";

/** What stands between two commas: words, values and groups, in the order written. */
export type Expression = readonly Item[];
export type Item = Exclude<Token, { kind: "mark" }> | Sign | Group;

interface Sign {
  readonly kind: "sign";
  readonly sign: "=" | ".";
}

/** A pair of brackets and the expressions in it, none for `()` and `[]`. */
export interface Group {
  readonly kind: "group";
  readonly open: "(" | "[";
  readonly parts: readonly Expression[];
}

/** No column nests deeper; it keeps every later walk over the tree, recursive as it is, off the stack's end. */
export const MAX_DEPTH = 32;

interface Frame {
  readonly open: "(" | "[" | undefined;
  readonly parts: Item[][];
  last: Item[];
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
  const last: Item[] = [];
  return { open, parts: [last], last };
}
