import { isObject } from "../../generator/manifest/json.js";
import type { Schema } from "../../runtime/core/model/schema.js";

/** The rows of a page's table of settings: key, type, default, description. A key of keys has a row for each. */
export function settingRows(schema: Schema, above = ""): readonly (readonly string[])[] {
  const properties = Object.entries(propertiesOf(schema));
  return properties.flatMap(([key, value]) => {
    const name = above + key;
    const [item, ofItem] = isObject(value["items"]) ? [value["items"], "[]."] : [value, "."];
    const inner = settingRows(item, `${name}${ofItem}`).filter(([, , , description]) => description !== "");
    // The object's own description is that of its keys.
    return inner.length > 0 && value["items"] === undefined ? inner : [rowOf(name, value), ...inner];
  });
}

function propertiesOf({ properties }: Schema): Readonly<Record<string, Schema>> {
  return isObject(properties) ? (properties as Record<string, Schema>) : {};
}

function rowOf(name: string, schema: Schema): readonly string[] {
  const { default: fallback, description } = schema;
  return [
    name,
    typeOf(schema),
    fallback === undefined
      ? ""
      : `\`${typeof fallback === "string" ? fallback : JSON.stringify(fallback).replaceAll('"', "")}\``,
    typeof description === "string" ? description : "",
  ];
}

function typeOf(schema: Schema): string {
  const { enum: values, type, items, description } = schema;
  if (String(description).startsWith("a value ")) return "a value";
  if (Array.isArray(values)) return values.map((value) => `\`${String(value)}\``).join(", ");
  if (type === "array") return isObject(items) && items["type"] === "string" ? "list of texts" : "list";
  const [first] = [type].flat();
  return first === "string" ? "text" : typeof first === "string" ? first : "object";
}
