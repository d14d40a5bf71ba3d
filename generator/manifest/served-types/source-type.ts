/** A column's type, whatever the warehouse calls it. */
export type SourceType =
  | { readonly kind: "integer"; readonly bits: 8 | 16 | 32 | 64 | 128; readonly isUnsigned?: true }
  | { readonly kind: "decimal"; readonly precision: number; readonly scale: number }
  | { readonly kind: "float"; readonly bits: 32 | 64 }
  | { readonly kind: "boolean" | "text" | "bytes" | "date" | "time" | "uuid" | "json" }
  /** Digits of a second. */
  | { readonly kind: "timestamp"; readonly precision: number; readonly hasZone: boolean }
  | { readonly kind: "array"; readonly of: SourceType }
  | { readonly kind: "map"; readonly key: SourceType; readonly value: SourceType }
  | { readonly kind: "record"; readonly fields: readonly SourceField[] };

export interface SourceField {
  readonly name: string;
  readonly type: SourceType;
}

/** A type text, taken apart: `TIMESTAMP(3) WITH TIME ZONE`, `ARRAY<STRUCT<a INT64>>`, `decimal(10,2)[]`. */
export interface TypeText {
  /** In lower case, with single spaces, without brackets. */
  readonly name: string;
  /** What the brackets hold, at its commas. */
  readonly args: readonly string[];
  /** How often `[]` follows. */
  readonly dimensions: number;
}

const MAX_LENGTH = 65_536;
/** Bounds the recursion. */
export const MAX_DEPTH = 32;

/** Null where brackets do not match, or the text is something else than a type. */
export function typeTextOf(text: string): TypeText | null {
  if (text.length > MAX_LENGTH) return null;
  const bare = text.trim().replace(/(?:\s+not)?\s+null$/i, "");
  const dimensions = /(?:\[\d*\])+$/.exec(bare)?.[0] ?? "";
  const named = bare.slice(0, bare.length - dimensions.length).trim();
  const open = named.search(/[(<]/);
  const [start, close] = open < 0 ? [named.length, named.length] : [open, closingOf(named, open)];
  if (close < 0) return null;
  const name = `${named.slice(0, start)} ${named.slice(close + 1)}`.trim().replace(/\s+/g, " ").toLowerCase();
  if (!/^[a-z_][\w ]*$/.test(name)) return null;
  const inner = named.slice(start + 1, close);
  return {
    name,
    args: inner.trim() === "" ? [] : splitAtCommas(inner),
    dimensions: dimensions.split("[").length - 1,
  };
}

/** Position of the bracket that closes the one at `open`; -1 where none does. */
function closingOf(text: string, open: number): number {
  let depth = 0;
  for (const [at, character] of characters(text, open)) {
    if (character === "(" || character === "<") depth += 1;
    else if (character === ")" || character === ">") depth -= 1;
    if (depth === 0) return at;
  }
  return -1;
}

function splitAtCommas(text: string): readonly string[] {
  const parts: string[] = [];
  let [depth, start] = [0, 0];
  for (const [at, character] of characters(text, 0)) {
    if ("(<[".includes(character)) depth += 1;
    else if (")>]".includes(character)) depth -= 1;
    else if (character === "," && depth === 0) {
      parts.push(text.slice(start, at).trim());
      start = at + 1;
    }
  }
  return [...parts, text.slice(start).trim()];
}

/** Characters outside of quotes. */
function* characters(text: string, from: number): Iterable<readonly [at: number, character: string]> {
  let quote = "";
  for (let at = from; at < text.length; at++) {
    const character = text.charAt(at);
    if (quote !== "") {
      if (character === quote) quote = "";
    } else if ("'\"`".includes(character)) quote = character;
    else yield [at, character];
  }
}

/** `a INT64`, `a: int`, `"a b" VARCHAR`: name and type. */
export function fieldTextOf(text: string): readonly [name: string, type: string] | null {
  const [, double, back, bare, type] =
    /^(?:"((?:[^"]|"")+)"|`((?:[^`]|``)+)`|([A-Za-z_][\w$]*))\s*(?::|\s)\s*(.+)$/s.exec(text) ?? [];
  const name = double?.replaceAll('""', '"') ?? back?.replaceAll("``", "`") ?? bare;
  return name === undefined || type === undefined ? null : [name, type];
}
