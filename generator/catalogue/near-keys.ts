import { isObject, type JsonObject, member, objectOr, objectsOf, textsOf } from "../manifest/json.js";
import { isNearNamespace, type NearName, nearName } from "../manifest/near-name.js";
import { columnEntries, hasNoMeta, metasOf, PRIVATE_KEYS, PRIVATE_TAG } from "../manifest/node-meta.js";
import { formatValue } from "../manifest/strings.js";
import type { Complaint, Warning } from "./catalogue.js";
import { misplacedGroups, misplacedSettings, nullMarks } from "./misplaced-settings.js";

/** Keys and tags that are probably misspelt ones of Routewright. */
export interface NearKeys {
  /** The model is skipped: without the key its setting is lost, such as the limit to the rows of an organization. */
  readonly problems: readonly Complaint[];
  /** Two edits from one of them. */
  readonly warnings: readonly Omit<Warning, "model">[];
}

const NAMESPACE = "routewright";
const EXCLUDE = "exclude_from_api";

/**
 * Keys and tags of a node and its columns that are nearly ours (generator/docs/meta-routewright.md, Misspelt keys): of a model,
 * a metric, a saved query, or a semantic model with its dimensions, entities and measures.
 */
export function nearKeysOf(node: JsonObject): NearKeys {
  const below = partsOf(node);
  const found = [
    ...suspectsIn(node, "$", ["api", NAMESPACE, EXCLUDE]),
    ...below.flatMap(([at, part]) => suspectsIn(part, at, [NAMESPACE])),
  ];
  const of = (nearness: NearName["nearness"]): readonly Complaint[] =>
    found.filter((each) => each.nearness === nearness).map(({ complaint }) => complaint);
  const parts = [["$", node] as const, ...below];
  const misplaced = parts.map(([at, part]) =>
    misplacedSettings(metasOf(part, at), besides(part, at), at, at.startsWith("$.columns")),
  );
  const nulls = parts.flatMap(([at, part]) => nullMarks(metasOf(part, at)));
  const problems = [
    ...of("near"),
    ...misplaced.flatMap((each) => each.problems),
    ...nulls,
    ...misplacedGroups(metasOf(node), node),
  ];
  return {
    problems: [...new Map(problems.map((each) => [each.path, each])).values()],
    warnings: [...of("distant"), ...misplaced.flatMap((each) => each.warnings)],
  };
}

/** Keys beside `meta`: dbt keeps all that a column has. */
function besides(part: JsonObject, at: string): JsonObject {
  const config = objectOr(part["config"]);
  if (!at.startsWith("$.columns")) return config;
  return { ...Object.fromEntries(Object.entries(part).filter(([key]) => !OF_COLUMNS.has(key))), ...config };
}

/** Keys that dbt itself writes. */
const OF_COLUMNS: ReadonlySet<string> = new Set([
  "name",
  "description",
  "data_type",
  "constraints",
  "quote",
  "tags",
  "config",
  "meta",
]);

/** Whether a column has nothing but what dbt writes, as most have. */
function isPlain(column: JsonObject): boolean {
  return (
    hasNoMeta(column) &&
    Object.keys(column).every((key) => OF_COLUMNS.has(key)) &&
    Object.keys(objectOr(column["config"])).every((key) => key === "meta" || key === "tags")
  );
}

/** Columns of a model, and parts of a semantic model. */
function partsOf(node: JsonObject): readonly (readonly [at: string, part: JsonObject])[] {
  const columns = columnEntries(node)
    .filter(([, column]) => !isPlain(column))
    .map(([key, column]) => [`$.columns${member(key)}`, column] as const);
  const parts = ["dimensions", "entities", "measures"].flatMap((kind) =>
    objectsOf(node[kind]).map((part, i) => [`$.${kind}[${String(i)}]`, part] as const),
  );
  return [...columns, ...parts];
}

interface Suspect {
  readonly nearness: NearName["nearness"];
  readonly complaint: Complaint;
}

function suspectsIn(node: JsonObject, at: string, names: readonly string[]): readonly Suspect[] {
  return [
    ...metasOf(node, at).flatMap(({ path, value }) =>
      Object.entries(value).flatMap(([key, item]) => inMeta(key, item, path, names)),
    ),
    ...Object.entries(objectOr(node["config"])).flatMap(([key, item]) =>
      besideMeta(key, item, `${at}.config`),
    ),
    ...[...new Set([...textsOf(node["tags"]), ...textsOf(objectOr(node["config"])["tags"])])].flatMap((tag) =>
      // Marks of private data are read in any letter case.
      tag.toLowerCase() === PRIVATE_TAG ? [] : nearTo(tag, `${at}.tags`, [PRIVATE_TAG], "tag"),
    ),
  ];
}

/** A key of `meta`. */
function inMeta(key: string, value: unknown, path: string, names: readonly string[]): readonly Suspect[] {
  if (key === NAMESPACE) return inNamespace(value, `${path}.${NAMESPACE}`);
  if (key === EXCLUDE && names.includes(EXCLUDE)) return [misplaced(key, path, "meta.api")];
  if (names.includes(key)) return [];
  if (isNearNamespace(key, NAMESPACE))
    return [nearSuspect(key, path, { name: NAMESPACE, nearness: "near" }, "key")];
  const marks = PRIVATE_KEYS.includes(key.toLowerCase()) ? [] : nearTo(key, path, PRIVATE_KEYS, "key");
  return [...nearTo(key, path, names, "key"), ...marks];
}

/** A key beside `meta`, where dbt keeps whatever it does not know: our settings, or a misspelt `meta` with them. */
function besideMeta(key: string, value: unknown, path: string): readonly Suspect[] {
  if (key === "meta") return [];
  const holds = isObject(value) && Object.keys(value).some(isNamespace);
  return isNamespace(key) || holds ? [misplaced(key, path, "meta")] : [];
}

function isNamespace(key: string): boolean {
  return key === NAMESPACE || isNearNamespace(key, NAMESPACE);
}

function misplaced(key: string, path: string, place: string): Suspect {
  const message = `Nothing reads the key ${formatValue(key)} here.`;
  return {
    nearness: "near",
    complaint: { path: path + member(key), message, hint: `Write it under \`${place}\`.` },
  };
}

function inNamespace(value: unknown, path: string): readonly Suspect[] {
  if (isObject(value)) return Object.hasOwn(value, EXCLUDE) ? [misplaced(EXCLUDE, path, "meta.api")] : [];
  const message = `${formatValue(value)} is not an object of settings.`;
  const hint = "Write an object: `routewright: {cursor: true}`.";
  return value === null ? [] : [{ nearness: "near", complaint: { path, message, hint } }];
}

function nearTo(
  text: string,
  path: string,
  names: readonly string[],
  what: "key" | "tag",
): readonly Suspect[] {
  const near = nearName(text, names);
  return near === null ? [] : [nearSuspect(text, path, near, what)];
}

function nearSuspect(text: string, path: string, near: NearName, what: "key" | "tag"): Suspect {
  const message = `The ${what} ${formatValue(text)} is not ${formatValue(near.name)}, but looks like it: nothing reads it.`;
  const hint = `Write ${formatValue(near.name)}, or rename the ${what}.`;
  return {
    nearness: near.nearness,
    complaint: { path: what === "key" ? path + member(text) : path, message, hint },
  };
}
