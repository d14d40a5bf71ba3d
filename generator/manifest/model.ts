import { objectOr, textOr, textsOf, type JsonObject } from "./json.js";

/** A column as `schema.yml` or `catalog.json` tells it. */
export interface ModelColumn {
  readonly name: string;
  /** The warehouse's type text, or null when none is declared. */
  readonly type: string | null;
  /** Whether a constraint or a test of the project promises that there is always a value. */
  readonly notNull: boolean;
  readonly description: string;
}

/** What of a dbt model node the API is made from. */
export interface Model {
  readonly uniqueId: string;
  readonly name: string;
  /** Path of the SQL file in its dbt project. */
  readonly file: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly schema: string;
  /** Name of the relation in the warehouse. */
  readonly alias: string;
  readonly columns: readonly ModelColumn[];
  /** When the model may be gone, as dbt's `deprecation_date` says: an RFC 3339 instant in UTC, or null. */
  readonly deprecationDate: string | null;
  /** For a model with versions: what names the latest one's `unique_id`; null for the latest itself, or without versions. */
  readonly successor: string | null;
  /** `meta.api` as written, and where; absent for a legacy model. */
  readonly api: { readonly value: unknown; readonly path: string } | null;
}

/** Reads the model node that the manifest keeps under `uniqueId`; `promises` names the columns that a test watches, as `<model>\n<column>`. */
export function modelOf(uniqueId: string, node: JsonObject, promises: ReadonlySet<string>): Model {
  const config = objectOr(node["config"]);
  const name = textOr(node["name"], "");
  const tags = textsOf(node["tags"]);
  return {
    uniqueId,
    name,
    file: textOr(node["original_file_path"], textOr(node["path"], "")),
    description: textOr(node["description"], ""),
    tags: tags.length > 0 ? tags : textsOf(config["tags"]),
    schema: textOr(node["schema"], ""),
    alias: textOr(node["alias"], "") || name,
    deprecationDate: instantOf(node["deprecation_date"]),
    successor: successorOf(uniqueId, node),
    columns: columnsOf(node, (column) => promises.has(`${uniqueId}\n${column}`)),
    api: apiOf(node, config),
  };
}

/** dbt writes a date, or a date and time with its zone; what is neither is passed over. */
function instantOf(value: unknown): string | null {
  const date = new Date(textOr(value, ""));
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

/** The columns in the order of `schema.yml`. */
function columnsOf(node: JsonObject, isTested: (column: string) => boolean): readonly ModelColumn[] {
  const constrained = new Set(constraintsOf(node).flatMap(({ columns }) => textsOf(columns)));
  const columns = Object.entries(objectOr(node["columns"])).map(([key, value]) => {
    const column = objectOr(value);
    const name = textOr(column["name"], "") || key;
    return {
      name,
      type: textOr(column["data_type"], "").trim() || null,
      notNull: isTested(name) || constrained.has(name) || constraintsOf(column).length > 0,
      description: textOr(column["description"], ""),
    };
  });
  return firstOfEachName(columns);
}

export function firstOfEachName(columns: readonly ModelColumn[]): readonly ModelColumn[] {
  const seen = new Set<string>();
  return columns.filter(({ name }) => !seen.has(name) && seen.add(name));
}

/** The constraints of a column, or of a whole model with the columns named in them, that forbid null. */
function constraintsOf({ constraints }: JsonObject): readonly JsonObject[] {
  if (!Array.isArray(constraints) || constraints.length === 0) return NO_CONSTRAINTS;
  return constraints.map(objectOr).filter(({ type }) => type === "not_null" || type === "primary_key");
}

/** Most columns have none, and there are tens of thousands. */
const NO_CONSTRAINTS: readonly JsonObject[] = [];

/** `config.meta.api` wins over `meta.api` (decisions.md §A). */
function apiOf(node: JsonObject, config: JsonObject): Model["api"] {
  const places = [
    { meta: objectOr(config["meta"]), path: "$.config.meta.api" },
    { meta: objectOr(node["meta"]), path: "$.meta.api" },
  ];
  const place = places.find(({ meta }) => Object.hasOwn(meta, "api"));
  return place ? { value: place.meta["api"], path: place.path } : null;
}
