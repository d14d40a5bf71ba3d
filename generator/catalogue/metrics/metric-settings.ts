import { isObject, type JsonObject, member, objectOr } from "../../manifest/json.js";
import { type NearName, nearName } from "../../manifest/near-name.js";
import { apiOf, metasOf } from "../../manifest/node-meta.js";
import { formatValue } from "../../manifest/strings.js";
import type { Complaint, Warning } from "../catalogue.js";
import { nearKeysOf } from "../near-keys.js";
import { META_ROUTEWRIGHT } from "../settings/meta-routewright.js";

/** What the `meta` of a node of the semantic layer says that is not read, or that is not read as written. */
export interface UnreadSettings {
  readonly problems: readonly Complaint[];
  readonly warnings: readonly Omit<Warning, "model">[];
}

const MODEL_KEYS = [...Object.keys(META_ROUTEWRIGHT.model), "exclude_from_api"];

/** Keys of `meta.routewright` that each node of the semantic layer may have (generator/docs/how-to/aggregates.md). */
const KEYS = {
  metric: ["category", "filter", "group_by", "synonyms", "title"],
  savedQuery: ["category", "group_by", "synonyms", "title"],
  semanticModel: ["group_by"],
} as const;

/** Of a metric or a saved query: what a setting of a model says, such as own rows, is never dropped in silence. */
export function unreadSettings(json: JsonObject, of: keyof typeof KEYS): UnreadSettings {
  const near = nearKeysOf(json);
  const unread = metasOf(json).flatMap(({ path, value }) => unreadKeys(value["routewright"], path, KEYS[of]));
  return {
    problems: [...near.problems, ...unread.flatMap(({ problem }) => problem ?? []), ...unreadApi(json)],
    warnings: [...near.warnings, ...unread.flatMap(({ warning }) => warning ?? [])],
  };
}

/** Of a dbt model that metrics read: its own rows and marks of private data count, published or not. */
export function misspeltKeys(json: JsonObject): readonly Complaint[] {
  const keys = metasOf(json).flatMap(({ path, value }) =>
    Object.keys(objectOr(value["routewright"])).flatMap((key) => {
      const near = nearName(key, MODEL_KEYS, true);
      return near?.nearness === "near" ? [misspelt(key, near, `${path}.routewright`)] : [];
    }),
  );
  return [...nearKeysOf(json).problems, ...keys];
}

interface Unread {
  readonly problem?: Complaint;
  readonly warning?: Omit<Warning, "model">;
}

function unreadKeys(value: unknown, metaPath: string, known: readonly string[]): readonly Unread[] {
  const path = `${metaPath}.routewright`;
  return Object.keys(objectOr(value)).flatMap((key): readonly Unread[] => {
    if (known.includes(key)) return [];
    if (MODEL_KEYS.includes(key)) return [{ problem: ofModels(key, path) }];
    const near = nearName(key, [...known, ...MODEL_KEYS], true);
    if (near?.nearness === "near") return [{ problem: misspelt(key, near, path) }];
    const message = `Unknown key ${formatValue(key)}; ignored.`;
    return [
      {
        warning: {
          path: path + member(key),
          message,
          hint: `Known keys: ${known.join(", ")}.`,
          isUnknownKey: true,
        },
      },
    ];
  });
}

function misspelt(key: string, { name }: NearName, path: string): Complaint {
  const message = `The key ${formatValue(key)} is not ${formatValue(name)}, but looks like it: nothing reads it.`;
  return { path: path + member(key), message, hint: `Write ${formatValue(name)}, or remove the key.` };
}

function ofModels(key: string, path: string): Complaint {
  const message = `Nothing reads the setting ${formatValue(key)} here: it is one of models.`;
  const hint = "Set it on the dbt model that the semantic model reads, or remove it.";
  return { path: path + member(key), message, hint };
}

/** Of `meta.api` only `exclude_from_api` counts. */
function unreadApi(json: JsonObject): readonly Complaint[] {
  const api = apiOf(json);
  if (api === null) return [];
  const keys = isObject(api.value)
    ? Object.keys(api.value).filter((key) => key !== "exclude_from_api")
    : [null];
  return keys.map((key) => ({
    path: key === null ? api.path : api.path + member(key),
    message: "Nothing reads `meta.api` here, but its `exclude_from_api`.",
    hint: "Remove it: groups and filters of a metric stand in `meta.routewright.group_by`.",
  }));
}
