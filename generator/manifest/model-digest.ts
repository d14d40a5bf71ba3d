import { hash } from "node:crypto";
import { type ColumnTests, isContracted } from "./columns.js";
import { isObject, type JsonObject, objectOr, objectsOf, textOr } from "./json.js";
import { columnEntries, metaOf, tagsOf } from "./node-meta.js";
import { byText } from "./strings.js";

/**
 * Digest of what the project declares of a model, without its schema, which a target decides: it changes neither with an upstream model nor with the version of dbt,
 * which adds keys, moves `meta` and `tags` into `config`, and writes empty values or leaves them out.
 */
export function digestOf(
  node: JsonObject,
  deprecationDate: string | null,
  testsOf: (column: string) => ColumnTests | undefined,
): string {
  const columns = columnEntries(node).map(([key, { data_type, constraints, ...column }]) => {
    return [key, data_type, declaredBy(column), constraintsOf(constraints), testsOf(key)];
  });
  const { name, alias, constraints } = node;
  const { materialized } = objectOr(node["config"]);
  const storage = [materialized, isContracted(node), constraintsOf(constraints)];
  const facts = [name, textOr(alias, "") || name, declaredBy(node), columns, storage, deprecationDate];
  return hash("sha256", jsonOrEmpty(facts)).slice(0, 16);
}

/** Description, tags and `meta` of a node or a column, wherever dbt writes them. */
function declaredBy(json: JsonObject): JsonObject {
  const { description, classifiers } = json;
  return { description, classifiers, tags: tagsOf(json), meta: metaOf(json) };
}

function constraintsOf(constraints: unknown): readonly JsonObject[] {
  return objectsOf(constraints).map(({ type, columns, expression, to, to_columns }) => ({
    type,
    columns,
    expression,
    to,
    to_columns,
  }));
}

/** Keys sorted, and without empty values: `null`, `""`, `[]` and `{}`. */
function compact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(compact);
  if (!isObject(value)) return value ?? null;
  const members = Object.entries(value).map(([key, item]) => [key, compact(item)] as const);
  return Object.fromEntries(
    members.filter(([, item]) => !EMPTY.has(JSON.stringify(item))).sort(([a], [b]) => byText(a, b)),
  );
}

const EMPTY: ReadonlySet<string> = new Set(["null", '""', "[]", "{}"]);

/** Empty if the nesting overflows the stack, as in a hostile manifest. */
function jsonOrEmpty(facts: unknown): string {
  try {
    return JSON.stringify(compact(facts));
  } catch {
    return "";
  }
}
