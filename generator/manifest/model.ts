import { hash } from "node:crypto";
import { type JsonObject, objectOr, textOr, textsOf } from "./json.js";

/** A column that `schema.yml` declares or `catalog.json` lists. */
export interface ModelColumn {
  readonly name: string;
  /** Its type as the database writes it; null if none is declared. */
  readonly type: string | null;
  /** What guarantees that values are not null: a constraint, a dbt test that fails the build, or nothing. */
  readonly notNull: "constraint" | "test" | null;
  /** The values that an `accepted_values` test allows; null without one. */
  readonly acceptedValues: readonly string[] | null;
  /** Guarantees of other tests that fail the build. */
  readonly guarantees: ColumnGuarantees;
  /** Whether the project marks the column as private data. */
  readonly isPrivate: boolean;
  /** `meta.routewright.timezone` as written; undefined without one. */
  readonly timezone?: unknown;
  /** `meta.routewright.example` as written; undefined without one. */
  readonly example?: unknown;
  readonly description: string;
}

/** What tests other than `not_null` and `accepted_values` guarantee; a key without such a test is absent. */
export interface ColumnGuarantees {
  readonly unique?: true;
  readonly minimum?: number;
  readonly maximum?: number;
  /** Whether the range excludes `minimum` and `maximum` themselves. */
  readonly exclusive?: true;
  /** `model.column` that has each value (a `relationships` test). */
  readonly references?: string;
}

/** What the tests of a column guarantee. */
export interface ColumnTests {
  readonly notNull: boolean;
  readonly acceptedValues: readonly string[] | null;
  readonly guarantees: ColumnGuarantees;
}

/** The parts of a dbt model that its endpoint is made from. */
export interface Model {
  readonly uniqueId: string;
  readonly name: string;
  /** Path of the SQL file in its dbt project. */
  readonly file: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly schema: string;
  /** Name of the relation in the database. */
  readonly alias: string;
  readonly columns: readonly ModelColumn[];
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

/** Reads a model's node; `testsOf` finds the tests of its columns. */
export function modelOf(
  uniqueId: string,
  node: JsonObject,
  testsOf: (model: string, column: string) => ColumnTests | undefined,
): Model {
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
    deprecationDate: timestampOf(node["deprecation_date"]),
    successor: successorOf(uniqueId, node),
    columns: columnsOf(node, (column) => testsOf(uniqueId, column)),
    isPrivate: isPrivate(node),
    materialized: textOr(config["materialized"], "") || "view",
    routewright: routewrightOf(node),
    api: apiOf(node, config),
    digest: [...tags, ...textsOf(config["tags"])].some((tag) => tag.startsWith("api:"))
      ? digestOf(uniqueId, node, testsOf)
      : "",
  };
}

/** Keys of a node that an endpoint depends on; none changes with an upstream model or dbt's version. */
const DECLARED = [
  "name",
  "alias",
  "schema",
  "description",
  "tags",
  "meta",
  "columns",
  "constraints",
  "deprecation_date",
];
/** Keys of the node's `config`, likewise. */
const CONFIGURED = ["tags", "meta", "contract", "materialized"];

function digestOf(
  uniqueId: string,
  node: JsonObject,
  testsOf: (model: string, column: string) => ColumnTests | undefined,
): string {
  const tests = Object.keys(objectOr(node["columns"])).map((column) => testsOf(uniqueId, column));
  const config = objectOr(node["config"]);
  const facts = [DECLARED.map((key) => node[key]), CONFIGURED.map((key) => config[key]), tests];
  return hash("sha256", jsonOrEmpty(facts)).slice(0, 16);
}

/** Empty if the nesting overflows the stack, as in a hostile manifest. */
function jsonOrEmpty(facts: unknown): string {
  try {
    return JSON.stringify(facts);
  } catch {
    return "";
  }
}

/** dbt writes a date or a date and time, which is UTC without a zone. Null for anything else. */
function timestampOf(value: unknown): string | null {
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

/** The columns in the order of `schema.yml`. */
function columnsOf(
  node: JsonObject,
  testsOf: (column: string) => ColumnTests | undefined,
): readonly ModelColumn[] {
  const constrained = new Set(constraintsOf(node).flatMap(({ columns }) => textsOf(columns)));
  const columns = Object.entries(objectOr(node["columns"])).map(([key, value]): ModelColumn => {
    const column = objectOr(value);
    const name = textOr(column["name"], "") || key;
    const tests = testsOf(name);
    const isConstrained = constrained.has(name) || constraintsOf(column).length > 0;
    return {
      name,
      type: textOr(column["data_type"], "").trim() || null,
      notNull: isConstrained ? "constraint" : tests?.notNull ? "test" : null,
      acceptedValues: tests?.acceptedValues ?? null,
      guarantees: tests?.guarantees ?? NO_GUARANTEES,
      isPrivate: isPrivate(column),
      ...columnSettings(column),
      description: textOr(column["description"], ""),
    };
  });
  return firstOfEachName(columns);
}

/** For a column without such tests. */
export const NO_GUARANTEES: ColumnGuarantees = {};

export function firstOfEachName(columns: readonly ModelColumn[]): readonly ModelColumn[] {
  const seen = new Set<string>();
  return columns.filter(({ name }) => !seen.has(name) && seen.add(name));
}

/** The constraints of a column or a model that forbid null. */
function constraintsOf({ constraints }: JsonObject): readonly JsonObject[] {
  if (!Array.isArray(constraints) || constraints.length === 0) return NO_CONSTRAINTS;
  return constraints.map(objectOr).filter(({ type }) => type === "not_null" || type === "primary_key");
}

/** Shared: most columns have none, and there may be tens of thousands. */
const NO_CONSTRAINTS: readonly JsonObject[] = [];

/** `config.meta.api` wins over `meta.api`. */
function apiOf(node: JsonObject, config: JsonObject): Model["api"] {
  const candidates = [
    { meta: objectOr(config["meta"]), path: "$.config.meta.api" },
    { meta: objectOr(node["meta"]), path: "$.meta.api" },
  ];
  const found = candidates.find(({ meta }) => Object.hasOwn(meta, "api"));
  return found ? { value: found.meta["api"], path: found.path } : null;
}

/** `meta.routewright` and `config.meta.routewright`, merged; the latter wins. */
function routewrightOf(node: JsonObject): JsonObject {
  const metas = [node["meta"], objectOr(node["config"])["meta"]].map(objectOr);
  return Object.assign({}, ...metas.map(({ routewright }) => objectOr(routewright))) as JsonObject;
}

function columnSettings(column: JsonObject): Pick<ModelColumn, "timezone" | "example"> {
  const { timezone, example } = routewrightOf(column);
  return { ...(timezone !== undefined && { timezone }), ...(example !== undefined && { example }) };
}

/** Keys of `meta`, and a tag, that mark private data in dbt projects. */
export const PRIVATE_KEYS = ["pii", "contains_pii", "privacy_tier"] as const;
export const PRIVATE_TAG = "pii";

/** Whether a model or a column is marked as private: by the tag, or by a key of its `meta` whose value does not deny it. */
function isPrivate(node: JsonObject): boolean {
  const config = objectOr(node["config"]);
  const tags = [...textsOf(node["tags"]), ...textsOf(config["tags"])];
  const metas = [objectOr(config["meta"]), objectOr(node["meta"])];
  return (
    tags.some((tag) => tag.toLowerCase() === PRIVATE_TAG) ||
    metas.some((meta) => PRIVATE_KEYS.some((key) => Object.hasOwn(meta, key) && !isNegative(meta[key])))
  );
}

/** Names of a node's declared private columns: all of them if the node itself is private. */
export function privateColumnsOf(node: JsonObject): readonly string[] {
  const isNodePrivate = isPrivate(node);
  return Object.entries(objectOr(node["columns"])).flatMap(([key, value]) => {
    const column = objectOr(value);
    return isNodePrivate || isPrivate(column) ? [textOr(column["name"], "") || key] : [];
  });
}

const NEGATIVE: ReadonlySet<string> = new Set(["", "0", "false", "no", "none", "null", "public", "tier0"]);

/** Whether the value of a privacy key denies it: `pii: false`, `privacy_tier: public`. */
function isNegative(mark: unknown): boolean {
  if (Array.isArray(mark)) return mark.length === 0;
  if (typeof mark === "string") return NEGATIVE.has(mark.trim().toLowerCase());
  return mark === null || mark === false || mark === 0;
}
