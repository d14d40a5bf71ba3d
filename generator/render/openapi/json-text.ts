import type { Json, JsonMap, JsonRecord } from "@routewright/runtime/model";
import { visibleJson } from "../../manifest/strings.js";

/** A JSON value whose bytes are known, as a whole document has it at the place of the value. */
export class JsonBytes {
  constructor(readonly bytes: Buffer) {}
}

/**
 * As `JSON.stringify(value, null, 2)`, with `\u` escapes for control, zero-width and bidirectional characters, which would
 * hide text or change how it is displayed. `margin` is the line break and the indentation of the value's first line.
 */
function jsonText(value: Json, margin = "\n"): string {
  if (value === null || typeof value !== "object") return visibleJson(value);
  const inner = `${margin}  `;
  if (isList(value))
    return inBrackets(
      "[]",
      value.map((item) => inner + jsonText(item, inner)),
      margin,
    );
  const texts = Array.from(
    membersOf(value),
    ([key, item]) => `${inner}${visibleJson(key)}: ${jsonText(item, inner)}`,
  );
  return inBrackets("{}", texts, margin);
}

function inBrackets(brackets: "[]" | "{}", items: readonly string[], margin: string): string {
  const [open = "", close = ""] = brackets;
  return items.length === 0 ? brackets : `${open}${items.join(",")}${margin}${close}`;
}

function membersOf(value: JsonMap | JsonRecord): Iterable<readonly [string, Json]> {
  return value instanceof Map ? (value as JsonMap).entries() : Object.entries(value);
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

/** `paths`, its items and their operations; `components`, its kinds and their members. */
const DEPTH = 3;

/**
 * The text of a document in UTF-8, which has a hundred megabytes with 10,000 endpoints: parts of it are encoded each by itself, and
 * joined once.
 */
export function documentBytes(document: Json): Buffer {
  return Buffer.concat([...partsOf(document, DEPTH, "\n"), Buffer.from("\n")]);
}

function* partsOf(value: Json | JsonBytes, depth: number, margin: string): Iterable<Buffer> {
  if (value instanceof JsonBytes) {
    yield value.bytes;
    return;
  }
  if (depth === 0 || typeof value !== "object" || value === null || isList(value)) {
    yield Buffer.from(jsonText(value, margin));
    return;
  }
  const inner = `${margin}  `;
  let before = "{";
  for (const [key, item] of membersOf(value)) {
    yield Buffer.from(`${before}${inner}${visibleJson(key)}: `);
    yield* partsOf(item, depth - 1, inner);
    before = ",";
  }
  yield Buffer.from(before === "{" ? "{}" : `${margin}}`);
}
