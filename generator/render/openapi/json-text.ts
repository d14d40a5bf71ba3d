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
 * The text of `JSON.stringify(value, null, 2)`, with `\u` escapes for invisible characters and those that change how the
 * text around them is displayed (bidirectional overrides, zero-width ones, controls): a reviewer sees what a consumer gets.
 */
export function jsonText(value: Json, margin = "\n"): string {
  const printer = new Printer();
  printer.print(value, margin);
  return printer.text;
}

/** Printed texts of shared values, by margin. */
const sharedTexts = new WeakMap<object, Map<string, string>>();

/** Marks a constant value that is used in many places: it is printed once per depth. */
export function shared<Value extends Json & object>(value: Value): Value {
  sharedTexts.set(value, new Map());
  return value;
}

/** Appends to one text of a megabyte or more: joining texts level by level takes twice as long. */
class Printer {
  text = "";

  /** `margin` is the line break and the spaces in front of the value's closing bracket. */
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
    let before = "[";
    for (const item of value) {
      this.text += before + margin + INDENT;
      this.print(item, margin + INDENT);
      before = ",";
    }
    this.text += before === "[" ? "[]" : `${margin}]`;
  }

  #members(members: Iterable<readonly [string, Json]>, margin: string): void {
    let before = "{";
    for (const [key, item] of members) {
      this.text += `${before}${margin}${INDENT}${visibleJson(key)}: `;
      this.print(item, margin + INDENT);
      before = ",";
    }
    this.text += before === "{" ? "{}" : `${margin}}`;
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
