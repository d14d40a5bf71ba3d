/** A number that JavaScript would round, as text. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }

  toJSON(): number {
    return Number(this.text);
  }
}

/** The displayed text of a value. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value instanceof ExactNumber ? value.text : JSON.stringify(value);
}

/** The values of a comma-separated text, as the service splits it. */
export function splitList(text: string): readonly string[] {
  return text
    .split(",")
    .map((value) => value.trim())
    .filter((value) => value !== "");
}

export type ShownRow = Readonly<Record<string, unknown>>;

/** Numbers that name something: their sums and curves mean nothing. */
export function isIdentifier(name: string, rows: readonly ShownRow[]): boolean {
  if (/(^|_)(id|ids|key|code|index|rank|order|number|nonce|year|hash)$/i.test(name)) return true;
  const values = rows.map((row) => Number(row[name] ?? NaN));
  if (values.length < 10 || !values.every(Number.isInteger)) return false;
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.every((value, i) => i === 0 || value - (sorted[i - 1] ?? 0) === 1);
}

/** Keeps all digits of a number, in browsers whose `JSON.parse` passes the source text. */
export function keepDigits(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source;
  if (typeof value !== "number" || source === undefined) return value;
  return String(value) === source || Number.isSafeInteger(value) ? value : new ExactNumber(source);
}

/** A JSON text with line breaks and indents. Values stay as they are, so that no digit is lost. */
export function formatted(json: string): string {
  let depth = 0;
  const line = (): string => `\n${"  ".repeat(depth)}`;
  return json.replace(/"(?:[^"\\]|\\.)*"|[[{]\s*[\]}]|[[{]|[\]}]|[,:]|\s+/g, (token) => {
    if (token === "{" || token === "[") return (depth++, token + line());
    if (token === "}" || token === "]") return (depth--, line() + token);
    if (token === ",") return token + line();
    if (token === ":") return ": ";
    return /^\s/.test(token) ? "" : token;
  });
}

/** Beyond trillions there is no common unit. */
function notationOf(value: number): "scientific" | "compact" {
  return Math.abs(value) >= 1e15 ? "scientific" : "compact";
}

/** A number in a few characters, such as `5.8M`. */
export function shortNumber(value: number, digits: Intl.NumberFormatOptions): string {
  return new Intl.NumberFormat("en", { notation: notationOf(value), ...digits }).format(value);
}

/** Labels of the y axis, with as many digits as tell them apart. */
export function labelsOf(splits: readonly number[]): string[] {
  const notation = notationOf(Math.max(...splits.map(Math.abs)));
  for (let digits = 2; ; digits++) {
    const format = new Intl.NumberFormat("en", { notation, maximumFractionDigits: digits });
    const labels = splits.map((split) => (split === 0 ? "0" : format.format(split)));
    if (digits === MAX_DECIMALS || new Set(labels).size === labels.length) return labels;
  }
}

const MAX_DECIMALS = 10;

/** Characters of a label of the x axis. */
const MAX_LABEL = 14;

export function shortened(text: string): string {
  if (text.length <= MAX_LABEL) return text;
  // Addresses and hashes differ at both ends.
  return /\s/.test(text) ? withoutMiddle(text, MAX_LABEL - 1, 0) : withoutMiddle(text, 6, 4);
}

/** The first and last characters of a text, none of them cut in two. */
export function withoutMiddle(text: string, first: number, last: number): string {
  // A character takes at most two units.
  const start = Array.from(text.slice(0, 2 * first)).slice(0, first);
  const end = last === 0 ? [] : Array.from(text.slice(-2 * last)).slice(-last);
  return [...start, "…", ...end].join("");
}

const NUMBER =
  /^(nullable\(|lowcardinality\()*(u?int\d*|integer|(big|small|tiny|medium)int|(big|small)?serial|b?float\d*|double( precision)?|real|numeric|decimal\d*|money)\b/i;

/** Whether a type of the database is one of numbers, which may be null. */
export function isNumberType(type: string | null): boolean {
  return type !== null && NUMBER.test(type);
}

const DIGITS = /^(-?)(\d+)(?:\.(\d+))?$/;

/** Compares numbers by their texts: where JavaScript rounds both to one, by their digits. */
export function byNumber(a: string, b: string): number {
  const difference = Number(a) - Number(b);
  const [one, other] = [DIGITS.exec(a), DIGITS.exec(b)];
  if (difference !== 0 || one === null || other === null) return difference || 0;
  const places = Math.max(...[one, other].map(([, , , fraction = ""]) => fraction.length));
  const [first, second] = [one, other].map(([, sign, whole, fraction = ""]) =>
    BigInt(`${sign ?? ""}${whole ?? ""}${fraction.padEnd(places, "0")}`),
  ) as [bigint, bigint];
  return first < second ? -1 : first > second ? 1 : 0;
}

/** A number with thousands apart and all its digits; one with an exponent as it is. */
export function withSeparators(number: string): string {
  if (!DIGITS.test(number)) return number;
  return number.replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ","));
}

/** A count with its noun: `1 row`, `2,000 rows`. */
export function count(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

const KINDS: readonly (readonly [RegExp, string])[] = [
  [/^(u?int(?!erval)|smallint|integer|bigint|serial)/i, "whole number"],
  [/^(float|double|decimal|numeric|real|money)/i, "number"],
  [/^(text|varchar|char|string|fixedstring|enum|citext)/i, "text"],
  [/^(timestamp|datetime)/i, "date and time"],
  [/^date/i, "date"],
  [/^time/i, "time"],
  [/^bool/i, "true or false"],
  [/^uuid/i, "UUID"],
  [/^json/i, "JSON"],
];

/** The type of a column in words: `number, may be null`. The database's own word where there is none. */
export function typeInWords(type: string | null): string {
  if (type === null) return "not declared";
  const mayBeNull = / null$|nullable\(/i.test(type);
  const plain = type.replace(/ null$/i, "").replace(/\b(nullable|lowcardinality)\((.*)\)/i, "$2");
  const element = /^array\((.*)\)$/i.exec(plain)?.[1] ?? /^(.*)\[\]$/.exec(plain)?.[1];
  const words =
    element !== undefined
      ? `list of ${typeInWords(element)}`
      : (KINDS.find(([kind]) => kind.test(plain.replace(/^(nullable|lowcardinality)\(/i, "")))?.[1] ?? plain);
  return mayBeNull ? `${words}, may be null` : words;
}
