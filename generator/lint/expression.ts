import { textsOf } from "../manifest/json.js";

/** One expression of a key or an index. */
export type Term =
  | { readonly kind: "column"; readonly column: string }
  /** A function of the columns that its arguments mention. */
  | { readonly kind: "call"; readonly name: string; readonly columns: readonly string[] }
  | { readonly kind: "other"; readonly columns: readonly string[] };

/** The expressions of a setting: of a list, or of text such as `(date, lower(name))`; `tuple()` has none. */
export function splitList(value: unknown): readonly string[] {
  const texts = typeof value === "string" ? [value] : textsOf(value);
  return texts.flatMap((text) => splitText(inTuple(text.trim()))).filter((text) => text !== "");
}

/** The text without parentheses around the whole of it. */
function inTuple(text: string): string {
  const inner = /^(?:tuple\s*)?\((.*)\)$/is.exec(text)?.[1];
  return inner !== undefined && isBalanced(inner) ? inner : text;
}

function isBalanced(text: string): boolean {
  let depth = 0;
  for (const character of text) {
    depth += DEPTHS[character] ?? 0;
    if (depth < 0) return false;
  }
  return true;
}

const DEPTHS: Readonly<Record<string, number>> = { "(": 1, ")": -1, "[": 1, "]": -1 };

/** Splits at the commas that stand outside all parentheses. */
function splitText(text: string): readonly string[] {
  const ends: number[] = [];
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const character = text.charAt(i);
    depth += DEPTHS[character] ?? 0;
    if (character === "," && depth === 0) ends.push(i);
  }
  const starts = [0, ...ends.map((end) => end + 1)];
  return starts.map((start, i) => text.slice(start, ends[i]).trim());
}

/** Reads one expression; an operator class or a direction after it is ignored. */
export function termOf(text: string): Term {
  const column = /^(["`]?)([\p{L}_][\p{L}\p{N}_$]*)\1(?:\s[\w\s]*)?$/u.exec(text)?.[2];
  if (column !== undefined) return { kind: "column", column };
  const call = /^\(?\s*(\w+)\s*\((.*)\)/s.exec(text);
  if (call) return { kind: "call", name: (call[1] ?? "").toLowerCase(), columns: namesIn(call[2] ?? "") };
  return { kind: "other", columns: namesIn(text) };
}

/** All names in an expression. */
function namesIn(text: string): readonly string[] {
  return text.match(/[\p{L}_][\p{L}\p{N}_$]*/gu) ?? [];
}
