import type { Json, JsonMap, JsonRecord } from "@routewright/runtime/model";
import { visibleJson } from "../../manifest/strings.js";
import { WrittenJson } from "../../manifest/written-json.js";

/**
 * As `JSON.stringify(value, null, 2)`, with `\u` escapes for control, zero-width and bidirectional characters, which would
 * hide text or change how it is displayed. `margin` is the line break and the indentation of the value's first line.
 */
export function jsonText(value: Json | WrittenJson, margin = "\n"): string {
  if (value === null || typeof value !== "object") return visibleJson(value);
  if (value instanceof WrittenJson) return value.text;
  const inner = `${margin}  `;
  if (isList(value))
    return inBrackets(
      "[]",
      value.map((item) => inner + jsonText(item, inner)),
      margin,
    );
  const members = value instanceof Map ? (value as JsonMap).entries() : Object.entries(value as JsonRecord);
  const texts = Array.from(members, ([key, item]) => `${inner}${visibleJson(key)}: ${jsonText(item, inner)}`);
  return inBrackets("{}", texts, margin);
}

function inBrackets(brackets: "[]" | "{}", items: readonly string[], margin: string): string {
  const [open = "", close = ""] = brackets;
  return items.length === 0 ? brackets : `${open}${items.join(",")}${margin}${close}`;
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
