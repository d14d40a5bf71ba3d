import { isObject } from "./json.js";

/** Orders text by code unit: the same on every machine, whatever its locale. */
export function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Characters that a reader of generated text cannot see, or that change how the text around them is shown: controls,
 * bidirectional overrides, zero-width ones, line separators, fillers, surrogates without a partner. Spelled out, not
 * `\p{Cf}`: that class grows with Unicode, and the same manifest gives the same bytes on every Node.
 */
export const HIDDEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\ufff9-\ufffb\u{110bd}\u{110cd}\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e007f}]/gu;

const PRINTABLE_ASCII = /^[ -~]*$/;

/** The text with a `\u` escape per UTF-16 unit for what is hidden: within a string literal, the same text still. */
export function visible(text: string): string {
  return PRINTABLE_ASCII.test(text) ? text : text.replace(HIDDEN, escaped);
}

/** JSON of a value with its hidden characters escaped. Most texts hold nothing to escape. */
export function visibleJson(value: unknown): string {
  return typeof value === "string" && PLAIN.test(value) ? `"${value}"` : visible(JSON.stringify(value));
}

/** Printable ASCII without quotes and backslashes. */
const PLAIN = /^[ !#-[\]-~]*$/;

function escaped(character: string): string {
  return character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}

/** A value from a manifest for a message: on one line, cut in length and depth. */
export function formatValue(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? "[]" : "[…]";
  if (isObject(value)) return Object.keys(value).length === 0 ? "{}" : "{…}";
  // JSON has no number that is not finite.
  if (typeof value === "number") return String(value);
  const text = visible(JSON.stringify(typeof value === "string" ? value.slice(0, MAX_LENGTH) : value));
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
}

const MAX_LENGTH = 80;

/** The known name nearest to a misspelled one; null where more than `most` or a third of its letters, rounded up, differ. */
export function closest(name: string, known: readonly string[], most = Infinity): string | null {
  const near = known
    .filter((other) => Math.abs(other.length - name.length) <= 3 && name.length <= 100)
    .map((other) => ({ other, distance: editDistance(name.toLowerCase(), other.toLowerCase()) }))
    .filter(({ other, distance }) => distance <= Math.min(most, Math.ceil(other.length / 3)))
    .sort((a, b) => a.distance - b.distance);
  return near[0]?.other ?? null;
}

/** Levenshtein distance, one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** Escapes foreign text for a report format. */
type QuoteName = (text: string) => string;

/** Names that stand together in a sentence. */
interface Names {
  readonly names: readonly string[];
  readonly separator: string;
}

/** A sentence with foreign names in it, which each report format escapes in its own way. */
export interface Sentence {
  /** One more than `names`: the text before, between and after them. */
  readonly words: readonly string[];
  readonly names: readonly (string | Names)[];
}

/** Template tag: the template's text is ours, the values are foreign. */
export function sentence(words: TemplateStringsArray, ...names: readonly (string | Names)[]): Sentence {
  return { words: [...words], names };
}

/** A sentence of our own words alone. */
export function plain(text: string): Sentence {
  return { words: [text], names: [] };
}

export function list(names: readonly string[]): Names {
  return { names, separator: ", " };
}

/** From the first to the last, as data flows or a path leads. */
export function chain(names: readonly string[]): Names {
  return { names, separator: " → " };
}

export function sentenceText({ words, names }: Sentence, quote: QuoteName): string {
  return words.map((word, i) => word + quoted(names[i], quote)).join("");
}

function quoted(name: string | Names | undefined, quote: QuoteName): string {
  if (name === undefined) return "";
  if (typeof name === "string") return quote(name);
  return name.names.map(quote).join(name.separator);
}

/** Sentences one after the other, without a space between them. */
export function joined(...sentences: readonly Sentence[]): Sentence {
  return sentences.reduce((before, after) => {
    const [first = "", ...words] = after.words;
    const last = before.words.at(-1) ?? "";
    return {
      words: [...before.words.slice(0, -1), last + first, ...words],
      names: [...before.names, ...after.names],
    };
  });
}
