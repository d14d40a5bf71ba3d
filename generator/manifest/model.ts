import { hash } from "node:crypto";
import { type ColumnTests, columnsOf, isContracted, type ModelColumn } from "./columns.js";
import { isObject, type JsonObject, objectOr, objectsOf, textOr, textsOf } from "./json.js";
import { apiOf, columnEntries, isPrivate, metaOf, routewrightOf, tagsOf } from "./node-meta.js";
import { byText } from "./strings.js";

/** The parts of a dbt model that its endpoint is made from. */
export interface Model {
  readonly uniqueId: string;
  readonly name: string;
  /** Path of the SQL file in its dbt project. */
  readonly file: string;
  readonly description: string;
  readonly tags: readonly string[];
  /** `config.tags`, where dbt writes the same again. */
  readonly configTags: readonly string[];
  /** Tags that are not texts, with their paths in the node: one of them could be a tier. */
  readonly malformedTags: readonly { readonly path: string; readonly value: unknown }[];
  readonly schema: string;
  /** Name of the relation in the database. */
  readonly alias: string;
  readonly columns: readonly ModelColumn[];
  /** Lists of columns whose combined values are never null and differ in every row, as tests or constraints prove. */
  readonly provenKeys: readonly (readonly string[])[];
  /** Whether the project marks the whole model as private data. */
  readonly isPrivate: boolean;
  /** dbt's materialization; `view` by default. */
  readonly materialized: string;
  /** Keys of `meta.routewright` as written. */
  readonly routewright: JsonObject;
  /** dbt's `deprecation_date`, when the model may be removed: an RFC 3339 timestamp in UTC, or null. */
  readonly deprecationDate: string | null;
  /** `unique_id` of the latest version of the model; null for the latest version itself and for a model without versions. */
  readonly successor: string | null;
  /** `meta.api` as written and its path in the node; null for a legacy model. */
  readonly api: { readonly value: unknown; readonly path: string } | null;
  /** Digest of everything that the project declares for a model with an `api:` tag; empty for others. */
  readonly digest: string;
}

/** The node's file in its dbt project, with `/` on every system; empty where the manifest does not name it. */
export function fileOf(node: JsonObject): string {
  return textOr(node["original_file_path"], textOr(node["path"], "")).replaceAll("\\", "/");
}

/** Reads a model's node; `testsOf` finds the tests of its columns. */
export function modelOf(
  uniqueId: string,
  node: JsonObject,
  testsOf: (model: string, column: string) => ColumnTests | undefined,
): Omit<Model, "provenKeys"> {
  const config = objectOr(node["config"]);
  const name = textOr(node["name"], "");
  const tags = textsOf(node["tags"]);
  const configTags = tagList(config["tags"]);
  const deprecationDate = timestampOf(node["deprecation_date"]);
  const testsOfColumn = (column: string): ColumnTests | undefined => testsOf(uniqueId, column);
  return {
    uniqueId,
    name,
    file: fileOf(node),
    description: textOr(node["description"], ""),
    tags: tags.length > 0 ? tags : configTags,
    configTags,
    malformedTags: [
      ...malformedTags("$.tags", node["tags"]),
      ...malformedTags("$.config.tags", typeof config["tags"] === "string" ? [] : config["tags"]),
    ],
    schema: textOr(node["schema"], ""),
    alias: textOr(node["alias"], "") || name,
    deprecationDate,
    successor: successorOf(uniqueId, node),
    columns: columnsOf(node, testsOfColumn),
    isPrivate: isPrivate(node),
    materialized: textOr(config["materialized"], "") || "view",
    routewright: routewrightOf(node),
    api: apiOf(node, config),
    digest: [...tags, ...configTags].some((tag) => tag.startsWith("api:"))
      ? digestOf(node, deprecationDate, testsOfColumn)
      : "",
  };
}

/** dbt allows a single tag without a list in `config`. */
function tagList(value: unknown): readonly string[] {
  return typeof value === "string" ? [value] : textsOf(value);
}

function malformedTags(path: string, value: unknown = []): Model["malformedTags"] {
  if (!Array.isArray(value)) return [{ path, value }];
  return value.flatMap((tag: unknown, i) =>
    typeof tag === "string" ? [] : [{ path: `${path}[${String(i)}]`, value: tag }],
  );
}

/** dbt writes a date or a date and time, which is UTC without a zone. Null for anything else. */
export function timestampOf(value: unknown): string | null {
  const text = textOr(value, "").trim();
  const isZoned = /(?:Z|[+-]\d\d:?\d\d|GMT|UTC)$/i.test(text) || /^\d{4}-\d\d-\d\d$/.test(text);
  const date = new Date(isZoned ? text : `${text}Z`);
  return Number.isNaN(date.getTime()) ? null : `${date.toISOString().slice(0, 19)}Z`;
}

/** `model.project.name.v1` → `model.project.name.v2`, where 2 is the latest version. */
function successorOf(uniqueId: string, { version, latest_version: latest }: JsonObject): string | null {
  const ending = versionEnding(version);
  const latestEnding = versionEnding(latest);
  if (ending === null || latestEnding === null || ending === latestEnding) return null;
  return uniqueId.endsWith(ending) ? uniqueId.slice(0, -ending.length) + latestEnding : null;
}

function versionEnding(version: unknown): string | null {
  return typeof version === "string" || typeof version === "number" ? `.v${version}` : null;
}

/**
 * Digest of what the project declares of a model, without its schema, which a target decides: it changes neither with an upstream model nor with the version of dbt,
 * which adds keys, moves `meta` and `tags` into `config`, and writes empty values or leaves them out.
 */
function digestOf(
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
