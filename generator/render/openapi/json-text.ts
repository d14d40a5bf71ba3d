import { JsonText } from "../../manifest/json.js";
import { visibleJson } from "../../manifest/strings.js";

/**
 * JSON with ordered keys. Names from a manifest are keys of a `Map`: a plain object would move "2024" to the front and
 * treat "__proto__" specially.
 */
export type Json = string | number | boolean | null | readonly Json[] | JsonRecord | JsonMap | JsonText;
export interface JsonRecord {
  readonly [key: string]: Json;
}
export type JsonMap = ReadonlyMap<string, Json>;

/**
 * As `JSON.stringify(value, null, 2)`, with `\u` escapes for control, zero-width and bidirectional characters, which would
 * hide text or change how it is displayed. `margin` is the line break and the indentation of the value's first line.
 */
export function jsonText(value: Json, margin = "\n"): string {
  const printer = new Printer();
  printer.print(value, margin);
  return printer.text;
}

/** Texts of shared values, by margin. */
const sharedTexts = new WeakMap<object, Map<string, string>>();

/** Marks a constant that is used in many places: its text is computed once per margin. */
export function shared<Value extends Json & object>(value: Value): Value {
  sharedTexts.set(value, new Map());
  return value;
}

/** Appends to one text, of a megabyte or more: joining the texts of each level takes twice as long. */
class Printer {
  text = "";

  print(value: Json, margin: string): void {
    if (value === null || typeof value !== "object") {
      this.text += visibleJson(value);
      return;
    }
    if (value instanceof JsonText) {
      this.text += value.text;
      return;
    }
    const texts = sharedTexts.get(value);
    if (texts) this.text += texts.get(margin) ?? sharedText(value, margin, texts);
    else this.add(value, margin);
  }

  /** Prints a value that is not marked as shared. */
  add(value: Exclude<Json & object, JsonText>, margin: string): void {
    if (isList(value)) this.#list(value, margin);
    else this.#members(value instanceof Map ? (value as JsonMap) : Object.entries(value), margin);
  }

  #list(value: readonly Json[], margin: string): void {
    let prefix = "[";
    for (const item of value) {
      this.text += prefix + margin + INDENT;
      this.print(item, margin + INDENT);
      prefix = ",";
    }
    this.text += prefix === "[" ? "[]" : `${margin}]`;
  }

  #members(members: Iterable<readonly [string, Json]>, margin: string): void {
    let prefix = "{";
    for (const [key, item] of members) {
      this.text += `${prefix}${margin}${INDENT}${visibleJson(key)}: `;
      this.print(item, margin + INDENT);
      prefix = ",";
    }
    this.text += prefix === "{" ? "{}" : `${margin}}`;
  }
}

function sharedText(
  value: Exclude<Json & object, JsonText>,
  margin: string,
  texts: Map<string, string>,
): string {
  const printer = new Printer();
  printer.add(value, margin);
  texts.set(margin, printer.text);
  return printer.text;
}

const INDENT = "  ";

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
