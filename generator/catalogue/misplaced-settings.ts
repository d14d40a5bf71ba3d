import { isObject, type JsonObject, member, objectOr, objectsOf } from "../manifest/json.js";
import { isNegative, PRIVATE_KEYS } from "../manifest/node-meta.js";
import { nearName } from "../manifest/near-name.js";
import { formatValue } from "../manifest/strings.js";
import type { Complaint, Warning } from "./catalogue.js";
import { fitsMetaApi, META_API_KEYS } from "./settings/meta-api.js";
import { fitsModelSetting, META_ROUTEWRIGHT } from "./settings/meta-routewright.js";

/** Where an object stands whose keys are looked at. */
type SettingPlace =
  "meta" | "config" | "meta.api" | "meta.routewright" | "column" | "column's meta.routewright";

/** A setting whose loss opens data: where it is read, and the values that mean it. */
interface Protection {
  readonly place: SettingPlace;
  readonly fits: (value: unknown) => boolean;
}

const PROTECTIONS: Readonly<Record<string, Protection>> = {
  rows: { place: "meta.routewright", fits: (value) => isObject(value) || typeof value === "string" },
  aggregate: { place: "meta.routewright", fits: (value) => objectOr(value)["rows"] === false },
  allow_unfiltered: { place: "meta.api", fits: (value) => value === false },
  require_any_of: { place: "meta.api", fits: (value) => Array.isArray(value) || typeof value === "string" },
  ...Object.fromEntries(
    PRIVATE_KEYS.map((key) => [key, { place: "meta", fits: (value: unknown) => !isNegative(value) }]),
  ),
};

const PROTECTION_NAMES = Object.keys(PROTECTIONS);

/** Words that other tools have in `meta`, too. */
const COMMON: ReadonlySet<string> = new Set(["category", "title", "timezone", "lint"]);

/** Found wherever it stands (`near-keys.ts`). */
const EXCLUDE = "exclude_from_api";

interface Misplaced {
  /** What was protected would be open: the model is skipped. */
  readonly problems: readonly Complaint[];
  readonly warnings: readonly Omit<Warning, "model">[];
}

/** Settings of ours one level off (generator/docs/meta-routewright.md, Misspelt keys): in `meta` itself, beside it, or in another namespace. */
export function misplacedSettings(
  metas: readonly { readonly path: string; readonly value: JsonObject }[],
  config: JsonObject,
  at: string,
  isColumn: boolean,
): Misplaced {
  const places = metas.flatMap(({ path, value }) => placesIn(value, path, isColumn));
  const beside = Object.fromEntries(Object.entries(config).filter(([key]) => key !== "meta"));
  const problems = [...places, { place: "config" as const, path: `${at}.config`, value: beside }].flatMap(
    ({ place, path, value }) => protectionsIn(value, path, place),
  );
  const warnings = isColumn ? [] : metas.flatMap(({ path, value }) => harmlessIn(value, path));
  return { problems, warnings };
}

interface LookedAt {
  readonly place: SettingPlace;
  readonly path: string;
  readonly value: JsonObject;
}

/** `meta` itself, and our namespaces in it. */
function placesIn(meta: JsonObject, path: string, isColumn: boolean): readonly LookedAt[] {
  const inside = (["api", "routewright", "meta", "config"] as const).flatMap((key): readonly LookedAt[] => {
    const value = meta[key];
    if (!isObject(value)) return [];
    const place = key === "api" ? "meta.api" : key === "routewright" ? "meta.routewright" : "config";
    const own = {
      place: isColumn && key === "routewright" ? "column's meta.routewright" : place,
      path: `${path}.${key}`,
      value,
    } as const;
    // A namespace within a namespace.
    return [own, ...nested(value, own.path)];
  });
  return [{ place: isColumn ? "column" : "meta", path, value: meta }, ...inside];
}

function nested(value: JsonObject, path: string): readonly LookedAt[] {
  return ["api", "routewright", "meta"].flatMap((key): readonly LookedAt[] => {
    const inner = value[key];
    return isObject(inner) ? [{ place: "config", path: `${path}.${key}`, value: inner }] : [];
  });
}

function protectionsIn(value: JsonObject, path: string, place: SettingPlace): readonly Complaint[] {
  return Object.entries(value).flatMap(([key, item]) => {
    const name = protectionNamed(key, item);
    const { place: read } = PROTECTIONS[name ?? ""] ?? {};
    if (name === null || read === undefined || isReadAt(name, key, read, place)) return [];
    const message = `Nothing reads ${formatValue(key)} here: what it protects would be open.`;
    const hint = `Write it as \`${read}.${name}\`.`;
    return [{ path: path + member(key), message, hint }];
  });
}

/** Marks are read in `meta` of a column, too. Misspelt keys of `meta.routewright` are found where it is read. */
function isReadAt(name: string, key: string, read: SettingPlace, place: SettingPlace): boolean {
  if (read === place) return true;
  if (read === "meta") return place === "column";
  return place === "meta.routewright" && name === "rows" && nearName(key, ["rows"], true) !== null;
}

/** The protecting setting that a key means with its value. */
function protectionNamed(key: string, value: unknown): string | null {
  const isOwnRows = isObject(value) && Object.hasOwn(value, "column") && Object.hasOwn(value, "equals");
  const near = nearName(key, PROTECTION_NAMES, true);
  const name = PROTECTION_NAMES.includes(key.toLowerCase())
    ? key.toLowerCase()
    : near?.nearness === "near"
      ? near.name
      : null;
  if (name !== null && isWord(key, name) && PROTECTIONS[name]?.fits(value) === true) return name;
  return isOwnRows ? "rows" : null;
}

/** A short word that is only nearly `rows` or `pii` may be another's: it counts with a value of ours (`isOwnRows`). */
function isWord(key: string, name: string): boolean {
  return key.toLowerCase() === name || name.length > 5;
}

/** Settings that fit, and whose loss opens nothing: they are not in force. */
function harmlessIn(meta: JsonObject, path: string): readonly Omit<Warning, "model">[] {
  return Object.entries(meta).flatMap(([key, value]) => {
    const isProtection = protectionNamed(key, value) !== null;
    if (COMMON.has(key) || key === EXCLUDE || isProtection || (value ?? null) === null) return [];
    const place = placeOf(key, value);
    if (place === null) return [];
    const message = `Nothing reads the key ${formatValue(key)} here; ignored.`;
    return [
      {
        path: path + member(key),
        message,
        hint: `Write it under \`${place}\`.`,
        isUnknownKey: true as const,
      },
    ];
  });
}

function placeOf(key: string, value: unknown): string | null {
  if (META_API_KEYS.has(key) && fitsMetaApi(key, value)) return "meta.api";
  return Object.hasOwn(META_ROUTEWRIGHT.model, key) && fitsModelSetting(key, value)
    ? "meta.routewright"
    : null;
}

/** Marks that are null: dbt writes one over the mark of a folder, which it would take away. */
export function nullMarks(
  metas: readonly { readonly path: string; readonly value: JsonObject }[],
): readonly Complaint[] {
  return metas.flatMap(({ path, value }) =>
    Object.entries(value)
      .filter(([key, mark]) => mark === null && PRIVATE_KEYS.includes(key.toLowerCase()))
      .map(([key]) => ({
        path: path + member(key),
        message: "The mark of private data is null, which may take that of a folder away.",
        hint: `Write \`${key}: false\` where nothing is private, or remove the key.`,
      })),
  );
}

/** What a node of the semantic layer has in `meta` in place of `meta.routewright`: without it, all groups are offered. */
export function misplacedGroups(
  metas: readonly { readonly path: string; readonly value: JsonObject }[],
  node: JsonObject,
): readonly Complaint[] {
  const isSemantic = ["type_params", "measures", "query_params"].some((key) => node[key] !== undefined);
  if (!isSemantic) return [];
  return metas
    .filter(({ value: { group_by: groups } }) => Array.isArray(groups) && objectsOf(groups).length < 1)
    .map(({ path }) => ({
      path: `${path}.group_by`,
      message: "Nothing reads `group_by` here: all groups would be offered.",
      hint: "Write it as `meta.routewright.group_by`.",
    }));
}
