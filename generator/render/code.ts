import { memberName } from "../catalogue/types/typescript.js";
import { HIDDEN, visibleJson } from "../manifest/strings.js";

/** Longest line of generated code, in characters. */
const WIDTH = 110;

/** The ordered properties of an object literal: a JavaScript object would reorder names such as `2024`. */
export class Properties {
  readonly entries: readonly (readonly [name: string, value: LiteralValue])[];

  constructor(entries: Iterable<readonly [name: string, value: LiteralValue]>) {
    this.entries = [...entries];
  }
}

/** A value that can be written as a literal. */
export type LiteralValue = string | number | boolean | null | readonly LiteralValue[] | Properties;

/** Writes a value as TypeScript: on one line if it fits after `column` characters, else one item per line. */
export function literal(value: LiteralValue, indent = 0, column = 0): string {
  if (typeof value === "string") return visibleJson(value);
  if (value === null || typeof value !== "object") return String(value);
  const flat = onOneLine(value);
  if (flat.length + column + 1 <= WIDTH) return flat;
  const inner = " ".repeat(indent + 2);
  const lines = literalsOf(value, (head, item) => literal(item, indent + 2, indent + 2 + head.length));
  const [open, close] = value instanceof Properties ? "{}" : "[]";
  return `${open}\n${lines.map((line) => `${inner}${line},\n`).join("")}${" ".repeat(indent)}${close}`;
}

function onOneLine(value: LiteralValue): string {
  if (value === null || typeof value !== "object") return literal(value);
  const items = literalsOf(value, (_, item) => onOneLine(item)).join(", ");
  if (!(value instanceof Properties)) return `[${items}]`;
  return items === "" ? "{}" : `{ ${items} }`;
}

function literalsOf(
  value: readonly LiteralValue[] | Properties,
  write: (head: string, item: LiteralValue) => string,
): string[] {
  if (!(value instanceof Properties)) return value.map((item) => write("", item));
  return value.entries.map(([name, item]) => {
    const head = `${propertyKey(name)}: `;
    return head + write(head, item);
  });
}

/** The key of an object literal. `__proto__: …` would set the prototype; a computed key defines a property. */
function propertyKey(name: string): string {
  return name === "__proto__" ? '["__proto__"]' : memberName(name);
}

/**
 * The text of a doc comment: paragraphs with a blank line between them. ts-morph writes a text that begins with a line
 * break as a comment of several lines.
 */
export function docText(paragraphs: readonly string[]): string {
  const lines = paragraphs
    .map(commentLines)
    .filter((paragraph) => paragraph.length > 0)
    .flatMap((paragraph, i) => (i === 0 ? paragraph : ["", ...paragraph]));
  return lines.length > 1 ? `\n${lines.join("\n")}` : (lines[0] ?? "");
}

/** A doc comment with such a text. */
export function docComment(paragraphs: readonly string[]): string {
  const [first = "", ...lines] = docText(paragraphs).split("\n");
  if (lines.length === 0) return `/** ${first} */`;
  return ["/**", ...lines.map((line) => (line === "" ? " *" : ` * ${line}`)), " */"].join("\n");
}

/** Text for the rest of a `//` line. */
export function lineComment(text: string): string {
  return commentLines(text).join(" ");
}

/** Text as comment lines that cannot end the comment, contain invisible characters or be a directive such as `@ts-ignore`. */
function commentLines(text: string): string[] {
  const lines = text
    .split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/)
    .map((line) => line.replace(HIDDEN, " ").trimEnd());
  while (lines[0] === "") lines.shift();
  while (lines.at(-1) === "") lines.pop();
  return lines.map((line) => line.replaceAll("*/", "*\\/").replace(/(?<!\\)@(?=\w)/g, "\\@"));
}
