import type { Endpoint } from "@routewright/runtime/model";
import type { CatalogueEntry, Documentation } from "../../catalogue/catalogue.js";
import { type JsonObject, objectOr } from "../../manifest/json.js";
import { rowNameOf } from "../../render/openapi/names.js";
import { dataPathItem } from "../../render/openapi/operation.js";

/**
 * The authors' words about an endpoint, out of the generated OpenAPI document: behind them stand sentences that the
 * generator adds, which follow from the endpoint. Null where those are not found: the document is another version's.
 */
export function documentationOf(document: JsonObject, endpoint: Endpoint): Documentation | null {
  const operation = valueAt(document, "paths", endpoint.path, "get");
  const added = JSON.parse(addedText(endpoint)) as JsonObject;
  const description = wordsBefore(operation["description"], added["description"]);
  const addedTo = describedByName(added["parameters"]);
  const texts = describedByName(operation["parameters"]);
  const parameters = endpoint.parameters.map(({ name }) => {
    return [name, wordsBefore(texts.get(name), addedTo.get(name))] as const;
  });
  if (description === null || !parameters.every(isTold)) return null;
  return {
    description,
    columns: columnsOf(document, endpoint),
    parameters: new Map(parameters.filter(([, text]) => text !== "")),
  };
}

/** What the generator says of an endpoint without a word of its author, as JSON. */
function addedText(endpoint: Endpoint): string {
  const [, , category = "", resource = ""] = endpoint.path.split("/");
  const documentation: Documentation = { description: "", columns: new Map(), parameters: new Map() };
  const facts = { file: "", hasTierTag: false, isPrivate: false, columns: new Map() };
  const place = { uniqueId: "", facts, category, resource, granularity: null, window: null };
  const entry: CatalogueEntry = { ...place, endpoint, documentation };
  return JSON.stringify(dataPathItem(entry).get("get"));
}

/** `words`, blank line, `added` → the words; nothing but `added` → no words; anything else → null. */
function wordsBefore(text: unknown, added: unknown): string | null {
  if (typeof text !== "string" || typeof added !== "string") return null;
  if (text === added) return "";
  return text.endsWith(`\n\n${added}`) ? text.slice(0, -added.length - 2) : null;
}

function isTold(item: readonly [string, string | null]): item is readonly [string, string] {
  return item[1] !== null;
}

function describedByName(parameters: unknown): ReadonlyMap<unknown, unknown> {
  const items = Array.isArray(parameters) ? parameters.map(objectOr) : [];
  return new Map(items.map(({ name, description }) => [name, description]));
}

function columnsOf(document: JsonObject, { path, columns }: Endpoint): ReadonlyMap<string, string> {
  const properties = valueAt(document, "components", "schemas", rowNameOf(path), "properties");
  const described = new Map<string, string>();
  for (const { name } of columns) {
    const description = valueAt(properties, name)["description"];
    if (typeof description === "string") described.set(name, description);
  }
  return described;
}

/** The object at a place, or an empty one. Only own properties count: a column may be called `constructor`. */
function valueAt(value: JsonObject, ...names: readonly string[]): JsonObject {
  return names.reduce<JsonObject>(
    (object, name) => (Object.hasOwn(object, name) ? objectOr(object[name]) : {}),
    value,
  );
}
