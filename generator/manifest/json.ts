export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value if it is an object, otherwise an empty object: to read optional parts of JSON. */
export function objectOr(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** Settings nest no deeper; a hostile manifest would overflow the stack. */
const MAX_SETTINGS_DEPTH = 8;

/** Without members that are null, which YAML has for a key without a value; those of `kept` stay. */
export function withoutNulls(value: unknown, kept: ReadonlySet<string>, depth = 0): unknown {
  if (depth === MAX_SETTINGS_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, kept, depth + 1));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([key, item]) => item !== null || kept.has(key));
  return Object.fromEntries(
    entries.map(([key, item]) => [key, kept.has(key) ? item : withoutNulls(item, kept, depth + 1)]),
  );
}

export function textOr(value: unknown, fallback: string): string {
  return typeof value === "string" ? value : fallback;
}

/** A key as a step of a JSON path. */
export function member(key: string): string {
  return /^[A-Za-z_]\w*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

/** The value if it is a list, otherwise an empty list. */
export function listOr(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The strings of a list; other items are ignored. */
export function textsOf(value: unknown): readonly string[] {
  return listOr(value).filter((item) => typeof item === "string");
}

/** The objects of a list; other items are ignored. */
export function objectsOf(value: unknown): readonly JsonObject[] {
  return listOr(value).filter(isObject);
}

/** Parses JSON as Python writes it, and so dbt: also with `NaN`, `Infinity` and `-Infinity`. Throws a `SyntaxError`. */
export function parseDbtJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    // Only then: a scan before each parse would take a tenth of its time.
    const marked = withMarks(text);
    if (marked === null) throw error;
    return withNumbers(JSON.parse(marked.text) as unknown, marked.mark);
  }
}

const NOT_FINITE = /-?Infinity|NaN/g;

/** The text with strings in place of numbers that JSON lacks, each with a mark that is in no other string; null without any. */
function withMarks(text: string): { readonly text: string; readonly mark: string } | null {
  let mark = "\ue000";
  while (text.includes(mark)) mark += "\ue000";
  const parts: string[] = [];
  let copied = 0;
  let scanned = 0;
  for (const { 0: number, index } of text.matchAll(NOT_FINITE)) {
    for (let quote; (quote = text.indexOf('"', scanned)) >= 0 && quote < index;)
      scanned = endOfString(text, quote);
    if (scanned > index) continue;
    parts.push(text.slice(copied, index), `"${mark}${number}"`);
    copied = scanned = index + number.length;
  }
  return copied === 0 ? null : { text: parts.join("") + text.slice(copied), mark };
}

/** The position after the string that begins at a quote. */
function endOfString(text: string, quote: number): number {
  for (let end = quote; ;) {
    end = text.indexOf('"', end + 1);
    if (end < 0) return text.length;
    let escapes = 0;
    while (text[end - 1 - escapes] === "\\") escapes++;
    if (escapes % 2 === 0) return end + 1;
  }
}

/** The value with the marked numbers. Without recursion: JSON may nest deeper than the stack. */
function withNumbers(value: unknown, mark: string): unknown {
  const root = { value };
  const left: object[] = [root];
  for (let each; (each = left.pop() as Record<string, unknown> | undefined) !== undefined;)
    for (const key of Object.keys(each)) {
      const item = each[key];
      if (typeof item === "object" && item !== null) left.push(item);
      else if (typeof item === "string" && item.startsWith(mark)) each[key] = Number(item.slice(mark.length));
    }
  return root.value;
}
