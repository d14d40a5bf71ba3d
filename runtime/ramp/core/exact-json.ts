import Big from "big.js";

/** The text of a JSON value: numbers of callers can have more digits than those of JavaScript. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** For the driver. */
  toPostgres(): string {
    return this.text;
  }
}

/** The tokens of a valid JSON text. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*|[{}[\]:,]|true|false|null/g;
const isNumber = (token: string): boolean => /^[-\d]/.test(token);

interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** Where the value of a member of a JSON object stands; of a repeated one the last, as `JSON.parse` has it. Null: there is none. */
function memberRange(json: string, name: string): TextRange | null {
  let [depth, start, key] = [0, -1, ""];
  let isKey = true;
  let found: TextRange | null = null;
  for (const { 0: token, index } of json.matchAll(TOKEN)) {
    if (token === "}" || token === "]") depth--;
    const isEnd = start !== -1 && (depth === 0 || (depth === 1 && token === ","));
    if (isEnd && key === name) found = { start, end: index };
    if (isEnd) start = -1;
    if (depth === 1 && token === ":") [start, isKey] = [index + 1, false];
    else if (depth === 1 && token === ",") isKey = true;
    else if (depth === 1 && isKey && token.startsWith('"')) key = JSON.parse(token) as string;
    if (token === "{" || token === "[") depth++;
  }
  return found;
}

/** A member of a JSON object as it was sent. Null: there is none. */
export function memberText(json: string, name: string): JsonText | null {
  const range = memberRange(json, name);
  return range && new JsonText(json.slice(range.start, range.end).trim());
}

/** Whether a number is beyond those of JavaScript, or so small that it is 0 there. */
export function isOutOfRange(token: string): boolean {
  const isLost = Number(token) === 0 && /[1-9]/.test(token.split(/e/i)[0] ?? "");
  return !Number.isFinite(Number(token)) || isLost;
}

/** What is wrong with the numbers of a JSON object, or null. Those of the member `exact` may have any number of digits. */
export function numberProblem(json: string, exact: string): string | null {
  const range = memberRange(json, exact);
  for (const { 0: token, index } of json.matchAll(TOKEN)) {
    if (!isNumber(token)) continue;
    if (isOutOfRange(token)) return `holds the number ${token.slice(0, 40)}, which is out of range`;
    const isExact = range !== null && index >= range.start && index < range.end;
    if (!isExact && !new Big(token).eq(String(Number(token))))
      return `holds the number ${token.slice(0, 40)}, which has too many digits: send it as a string`;
  }
  return null;
}

/** The length of a JSON text without white space, and with its numbers written out, as the database stores them. */
export function storedLength({ text }: JsonText): number {
  const lengths = [...text.matchAll(TOKEN)].map(([token]) =>
    isNumber(token) && /e/i.test(token) ? new Big(token).toFixed().length : token.length,
  );
  return lengths.reduce((sum, length) => sum + length, 0);
}

/** `JSON.stringify`, with each `JsonText` as it is. No other text begins with U+0000: the database stores none. */
export function stringify(value: unknown, indent = 0): string {
  const texts: string[] = [];
  const exact = (_name: string, item: unknown): unknown =>
    item instanceof JsonText ? `\0${String(texts.push(item.text) - 1)}` : item;
  const marked = JSON.stringify(value, exact, indent);
  return texts.length === 0 ? marked : marked.replace(/"\\u0000(\d+)"/g, (_, at) => texts[Number(at)] ?? "");
}
