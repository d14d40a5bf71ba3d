import {
  type Freshness,
  type LastLoadSql,
  projectSqlProblem,
  type Tier,
  TIER_NAMES,
  TIERS,
} from "@routewright/runtime/model";
import { isDeepStrictEqual } from "node:util";
import { type JsonObject, member, objectOr, textOr, textsOf, withoutNulls } from "./json.js";

/** A `meta` with its path in the node: dbt keeps it in `config` too, and some versions only there. */
interface Meta {
  readonly path: string;
  readonly value: JsonObject;
}

/** The `meta`s of a node or a column that is `at` a JSON path; the first one wins. */
export function metasOf(node: JsonObject, at = "$"): readonly Meta[] {
  return [
    { path: `${at}.config.meta`, value: objectOr(objectOr(node["config"])["meta"]) },
    { path: `${at}.meta`, value: objectOr(node["meta"]) },
  ];
}

/** `meta.api` as written, and its path in the node. */
export function apiOf(node: JsonObject): { readonly value: unknown; readonly path: string } | null {
  const found = metasOf(node).find(({ value }) => Object.hasOwn(value, "api"));
  return found ? { value: withoutNulls(found.value["api"], KEPT_NULLS), path: `${found.path}.api` } : null;
}

/** `meta.routewright` and `config.meta.routewright`, merged; the latter wins. */
export function routewrightOf(node: JsonObject): JsonObject {
  const [first, second] = metasOf(node).map(({ value }) => value["routewright"]);
  // Most nodes and columns have none, and there may be tens of thousands.
  return first === undefined && second === undefined
    ? NONE
    : objectOr(withoutNulls({ ...objectOr(second), ...objectOr(first) }, KEPT_NULLS));
}

/** Null is absent, but where it would take a protection away: there it is an error. An example may be null. */
const KEPT_NULLS: ReadonlySet<string> = new Set(["rows", "require_any_of", "exclude_from_api", "example"]);

const NONE: JsonObject = {};

/** `meta.owner` (a text, `{name, email}`, or a list of them), else dbt's `group`; null without either. */
export function ownerOf(node: JsonObject): string | null {
  const named = metasOf(node).map(({ value }) => ownerText(value["owner"]));
  const group = textOr(node["group"], textOr(objectOr(node["config"])["group"], ""));
  return named.find((text) => text !== "") ?? (group || null);
}

function ownerText(owner: unknown): string {
  if (Array.isArray(owner)) return owner.map(ownerText).filter(Boolean).join(", ");
  if (typeof owner === "string") return owner.trim();
  const { name, email } = objectOr(owner);
  return textOr(name, "").trim() || textOr(email, "").trim();
}

/** Keys of `meta`, and a tag, that mark private data in dbt projects. */
export const PRIVATE_KEYS: readonly string[] = [
  "pii",
  "contains_pii",
  "privacy_tier",
  "sensitive",
  "classification",
  "data_classification",
];
export const PRIVATE_TAG = "pii";

/** What marks a node or a column as private, or denies it. */
export interface Mark {
  /** In the node, as a JSON path. */
  readonly path: string;
  readonly value: unknown;
}

/** The marks of a node or a column: a tag, dbt's `classifiers`, or keys of its `meta` in any letter case. */
export function marksOf(node: JsonObject, at = "$"): readonly Mark[] {
  const tags = [...textsOf(node["tags"]), ...textsOf(objectOr(node["config"])["tags"])];
  const inMeta = metasOf(node, at).flatMap(({ path, value }) =>
    Object.entries(value)
      .filter(([key]) => PRIVATE_KEYS.includes(key.toLowerCase()))
      .map(([key, mark]) => ({ path: path + member(key), value: mark })),
  );
  return [
    ...inMeta,
    ...(tags.some((tag) => tag.toLowerCase() === PRIVATE_TAG) ? [{ path: `${at}.tags`, value: true }] : []),
    ...(isNegative(node["classifiers"] ?? null) ? [] : [{ path: `${at}.classifiers`, value: true }]),
  ];
}

/**
 * The lowest tier that may see what is marked. A mark may name it, by number or by name; any other that does not mean "no"
 * requires the highest.
 */
export function requiredTier({ value: mark }: Mark): Tier {
  const text = typeof mark === "string" ? mark.trim().toLowerCase() : null;
  const named = TIERS.find((tier) => text === tier || text === TIER_NAMES[tier].toLowerCase());
  return named ?? (isNegative(mark) ? "tier0" : "tier3");
}

export function isPrivate(node: JsonObject): boolean {
  return hasMarks(node) && marksOf(node).some(({ value }) => !isNegative(value));
}

/** False for most columns. */
function hasMarks(node: JsonObject): boolean {
  return !hasNoMeta(node) || !isNegative(node["classifiers"] ?? null);
}

/** Whether neither `meta` nor `tags` say anything: true for most columns, of which there may be tens of thousands. */
export function hasNoMeta({ meta, tags, config }: JsonObject): boolean {
  const own = objectOr(config);
  return isEmpty(meta) && isEmpty(tags) && isEmpty(own["meta"]) && isEmpty(own["tags"]);
}

function isEmpty(value: unknown): boolean {
  return typeof value !== "object" || value === null || Object.keys(value).length === 0;
}

/** A node's columns as its project declares them, by key: dbt 2 copies the node's `meta` and `tags` into those without their own. */
export function columnEntries(node: JsonObject): readonly (readonly [key: string, column: JsonObject])[] {
  const [meta, tags] = [metaOf(node), tagsOf(node)];
  return Object.entries(objectOr(node["columns"])).map(([key, value]) => {
    const column = objectOr(value);
    if (hasNoMeta(column)) return [key, column];
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

/** dbt's bounds of a node's age (`freshness`, in `config` since dbt 1.9), in seconds; null where there are none. */
export function loadBoundsOf(node: JsonObject): Pick<Freshness, "warnAfter" | "errorAfter"> | null {
  const { warn_after, error_after } = objectOr(objectOr(node["config"])["freshness"] ?? node["freshness"]);
  const [warnAfter, errorAfter] = [secondsOf(warn_after), secondsOf(error_after)];
  if (warnAfter === null && errorAfter === null) return null;
  return { ...(warnAfter !== null && { warnAfter }), ...(errorAfter !== null && { errorAfter }) };
}

/** How the database says when a node's rows were last loaded; null where it cannot be asked, or of other relations too. */
export function lastLoadOf(node: JsonObject): LastLoadSql | null {
  const config = objectOr(node["config"]);
  const freshness = objectOr(config["freshness"] ?? node["freshness"]);
  const textAt = (key: string): string =>
    textOr(freshness[key], textOr(config[key], textOr(node[key], ""))).trim();
  const [field, query, filter] = [
    textAt("loaded_at_field"),
    textAt("loaded_at_query"),
    textOr(freshness["filter"], "").trim(),
  ];
  if ((query === "" && field === "") || query.length > LONGEST_QUERY) return null;
  const asked = query === "" ? [`max(${field})`, filter] : QUERY_OF_THIS.exec(query)?.slice(1);
  const [latest = "", condition = ""] = asked ?? [];
  if ([query === "" ? field : latest, latest].some((text) => projectSqlProblem([text]) !== null)) return null;
  if (condition === "") return { latest };
  return projectSqlProblem([condition]) === null ? { latest, filter: condition } : null;
}

/** Characters of a query that is looked through. */
const LONGEST_QUERY = 2000;

/** A query that reads nothing but the model, which may not be called otherwise: `{{ this }}`. */
const QUERY_OF_THIS =
  /^select\s+((?:(?!\bfrom\b)[^])+?)(?:\s+as\s+\w+)?\s+from\s+\{\{-?\s*this\s*-?\}\}(?:\s+where\s+((?:(?!\b(?:group|having|order|limit|union)\b)[^])+?))?\s*;?$/i;

const SECONDS: Readonly<Record<string, number | undefined>> = { minute: 60, hour: 3600, day: 86_400 };

/** Seconds of `{count: 12, period: hour}`; null where it says none. By a count of 0 rows are always too old, as dbt has it. */
export function secondsOf(bound: unknown): number | null {
  const { count, period } = objectOr(bound);
  const unit = SECONDS[textOr(period, "")];
  return typeof count === "number" && count >= 0 && unit !== undefined ? count * unit : null;
}
