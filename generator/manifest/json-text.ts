import { failed, type Outcome, succeeded } from "@routewright/runtime/model";
import { visible } from "./strings.js";

/** Parses JSON text; the problem names the location and the probable cause. */
export function parseJson(text: string, location: string): Outcome<unknown> {
  try {
    return succeeded(parseDbtJson(text));
  } catch (error) {
    return failed(`${location} is not JSON: ${jsonProblem(text, (error as Error).message)}`);
  }
}

/** A key, perhaps after comments and the mark of a document: each turn takes a line. */
const YAML = /^(?:[^\S\n]*(?:#[^\n]*|---[^\S\n]*)?\n)*[^\S\n]*[\w-]+:(?:\s|$)/;

/** What is wrong with a text, and how to fix it where that is known. */
function jsonProblem(text: string, message: string): string {
  if (text.trim() === "") return "it is empty.";
  if (/^\s*</.test(text)) return "it looks like an HTML page; give the address of the file itself.";
  const position = Number(/position (\d+)/.exec(message)?.[1] ?? NaN);
  if (/end of JSON|Unterminated/.test(message) || position >= text.trimEnd().length)
    return "it is cut off. Write or copy it again, whole.";
  const isComma = /,\s*$/.test(text.slice(0, position)) && /^\s*[}\]]/.test(text.slice(position));
  if (isComma)
    return `a comma stands before \`${text.slice(position).trim()[0] ?? ""}\`, at character ${String(position)}. Remove it.`;
  if (YAML.test(text)) return "it looks like YAML. Name a file of JSON.";
  return visible(message);
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
