import { isDeepStrictEqual } from "node:util";
import { type JsonObject, objectOr, textOr, textsOf } from "./json.js";

/** `meta.api` as written, and its path in the node. */
interface MetaApi {
  readonly value: unknown;
  readonly path: string;
}

/** `config.meta.api` wins over `meta.api`. */
export function apiOf(node: JsonObject, config: JsonObject): MetaApi | null {
  const candidates = [
    { meta: objectOr(config["meta"]), path: "$.config.meta.api" },
    { meta: objectOr(node["meta"]), path: "$.meta.api" },
  ];
  const found = candidates.find(({ meta }) => Object.hasOwn(meta, "api"));
  return found ? { value: found.meta["api"], path: found.path } : null;
}

/** `meta.routewright` and `config.meta.routewright`, merged; the latter wins. */
export function routewrightOf(node: JsonObject): JsonObject {
  const metas = [node["meta"], objectOr(node["config"])["meta"]].map(objectOr);
  return Object.assign({}, ...metas.map(({ routewright }) => objectOr(routewright))) as JsonObject;
}

/** Keys of `meta`, and a tag, that mark private data in dbt projects. */
const PRIVATE_KEYS: ReadonlySet<string> = new Set([
  "pii",
  "contains_pii",
  "privacy_tier",
  "sensitive",
  "classification",
  "data_classification",
]);
export const PRIVATE_TAG = "pii";

/** Whether a model or a column is marked as private: by the tag, by dbt's `classifiers`, or by a key of its `meta` whose value does not deny it. */
export function isPrivate(node: JsonObject): boolean {
  const config = objectOr(node["config"]);
  const tags = [...textsOf(node["tags"]), ...textsOf(config["tags"])];
  const metas = [objectOr(config["meta"]), objectOr(node["meta"])];
  return (
    tags.some((tag) => tag.toLowerCase() === PRIVATE_TAG) ||
    !isNegative(node["classifiers"] ?? null) ||
    metas.some((meta) => privateMarks(meta).some(([, mark]) => !isNegative(mark)))
  );
}

/** The members of a `meta` that mark private data; keys count in any letter case. */
export function privateMarks(meta: JsonObject): readonly (readonly [string, unknown])[] {
  return Object.entries(meta).filter(([key]) => PRIVATE_KEYS.has(key.toLowerCase()));
}

/** A node's columns as its project declares them, by key: dbt 2 copies the node's `meta` and `tags` into those without their own. */
export function columnEntries(node: JsonObject): readonly (readonly [key: string, column: JsonObject])[] {
  const [meta, tags] = [metaOf(node), tagsOf(node)];
  return Object.entries(objectOr(node["columns"])).map(([key, value]) => {
    const column = objectOr(value);
    const own = {
      ...(isSame(metaOf(column), meta) && { meta: {} }),
      ...(isSame(tagsOf(column), tags) && { tags: [] }),
    };
    return [key, { ...column, ...own, config: { ...objectOr(column["config"]), ...own } }];
  });
}

/** `meta` and `config.meta`, merged; the latter wins. */
function metaOf(node: JsonObject): JsonObject {
  return { ...objectOr(node["meta"]), ...objectOr(objectOr(node["config"])["meta"]) };
}

/** `tags`, else `config.tags`. */
export function tagsOf(node: JsonObject): readonly string[] {
  const tags = textsOf(node["tags"]);
  return tags.length > 0 ? tags : textsOf(objectOr(node["config"])["tags"]);
}

/** False if the nesting overflows the stack, as in a hostile manifest. */
function isSame(a: unknown, b: unknown): boolean {
  try {
    return isDeepStrictEqual(a, b);
  } catch {
    return false;
  }
}

/** Names of a node's declared private columns: all of them if the node itself is private. */
export function privateColumnsOf(node: JsonObject): readonly string[] {
  const isNodePrivate = isPrivate(node);
  return columnEntries(node).flatMap(([key, column]) => {
    return isNodePrivate || isPrivate(column) ? [textOr(column["name"], "") || key] : [];
  });
}

const NEGATIVE: ReadonlySet<string> = new Set(["", "0", "false", "no", "none", "null", "public", "tier0"]);

/** Whether the value of a privacy key denies it: `pii: false`, `privacy_tier: public`. */
export function isNegative(mark: unknown): boolean {
  if (Array.isArray(mark)) return mark.every(isNegative);
  if (typeof mark === "string") return NEGATIVE.has(mark.trim().toLowerCase());
  return mark === null || mark === false || mark === 0;
}
