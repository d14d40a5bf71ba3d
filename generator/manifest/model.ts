import { hash } from "node:crypto";
import { isObject, type JsonObject, objectOr, objectsOf, textOr, textsOf } from "./json.js";
import { byText } from "./strings.js";

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
  /** `meta.routewright.synonyms` as written; undefined without one. */
  readonly synonyms?: unknown;
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
  /** `config.tags`, where dbt writes the same again. */
  readonly configTags: readonly string[];
  /** What is no text among the tags, with its path in the node: it could be a tier. */
  readonly malformedTags: readonly { readonly path: string; readonly value: unknown }[];
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

/** The node's file in its dbt project, with `/` on every system; empty where the manifest does not name it. */
export function fileOf(node: JsonObject): string {
  return textOr(node["original_file_path"], textOr(node["path"], "")).replaceAll("\\", "/");
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
  const configTags = tagsOf(config["tags"]);
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
    deprecationDate: timestampOf(node["deprecation_date"]),
    successor: successorOf(uniqueId, node),
    columns: columnsOf(node, (column) => testsOf(uniqueId, column)),
    isPrivate: isPrivate(node),
    materialized: textOr(config["materialized"], "") || "view",
    routewright: routewrightOf(node),
    api: apiOf(node, config),
    digest: [...tags, ...configTags].some((tag) => tag.startsWith("api:"))
      ? digestOf(uniqueId, node, testsOf)
      : "",
  };
}

/** dbt allows a single tag without a list in `config`. */
function tagsOf(value: unknown): readonly string[] {
  return typeof value === "string" ? [value] : textsOf(value);
}

function malformedTags(path: string, value: unknown = []): Model["malformedTags"] {
  if (!Array.isArray(value)) return [{ path, value }];
  return value.flatMap((tag: unknown, i) =>
    typeof tag === "string" ? [] : [{ path: `${path}[${String(i)}]`, value: tag }],
  );
}

/**
 * Digest of what the project declares of a model: it changes neither with an upstream model nor with the version of dbt,
 * which adds keys, moves `meta` and `tags` into `config`, and writes empty values or leaves them out.
 */
function digestOf(
  uniqueId: string,
  node: JsonObject,
  testsOf: (model: string, column: string) => ColumnTests | undefined,
): string {
  const columns = Object.entries(objectOr(node["columns"])).map(([key, value]) => {
    const { data_type, constraints, ...column } = objectOr(value);
    return [key, data_type, declaredBy(column), constraintsOf(constraints), testsOf(uniqueId, key)];
  });
  const { name, alias, schema, constraints, deprecation_date: date } = node;
  const { materialized } = objectOr(node["config"]);
  const storage = [materialized, isContracted(node), constraintsOf(constraints)];
  const facts = [
    name,
    textOr(alias, "") || name,
    schema,
    declaredBy(node),
    columns,
    storage,
    timestampOf(date),
  ];
  return hash("sha256", jsonOrEmpty(facts)).slice(0, 16);
}

/** Description, tags and `meta` of a node or a column, wherever dbt writes them. */
function declaredBy(json: JsonObject): JsonObject {
  const config = objectOr(json["config"]);
  const tags = textsOf(json["tags"]);
  return {
    description: json["description"],
    tags: tags.length > 0 ? tags : textsOf(config["tags"]),
    meta: { ...objectOr(json["meta"]), ...objectOr(config["meta"]) },
  };
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
  const isEnforced = enforcesConstraints(node);
  const ofModel = isEnforced ? objectsOf(node["constraints"]) : NO_CONSTRAINTS;
  const columns = Object.entries(objectOr(node["columns"])).map(([key, value]): ModelColumn => {
    const column = objectOr(value);
    const name = textOr(column["name"], "") || key;
    const tests = testsOf(name);
    const own = isEnforced ? objectsOf(column["constraints"]) : NO_CONSTRAINTS;
    const constraints = [...own, ...ofModel.filter(({ columns }) => textsOf(columns).includes(name))];
    const guarantees = constraintGuarantees(constraints);
    return {
      name,
      type: textOr(column["data_type"], "").trim() || null,
      notNull: constraints.some(forbidsNull) ? "constraint" : tests?.notNull ? "test" : null,
      // Tests that have no value in common document none.
      acceptedValues: tests?.acceptedValues?.length === 0 ? null : (tests?.acceptedValues ?? null),
      guarantees: { ...guarantees, ...tests?.guarantees },
      isPrivate: isPrivate(column),
      ...columnSettings(column),
      description: textOr(column["description"], ""),
    };
  });
  return firstOfEachName(columns);
}

/** Materializations on which dbt builds the constraints of an enforced contract; on a view it builds none. */
const CONSTRAINED: ReadonlySet<unknown> = new Set([
  "table",
  "incremental",
  "distributed_table",
  "distributed_incremental",
]);

/** Whether the relation has the constraints that the model declares. */
function enforcesConstraints(node: JsonObject): boolean {
  return isContracted(node) && CONSTRAINED.has(objectOr(node["config"])["materialized"]);
}

function isContracted({ config, contract }: JsonObject): boolean {
  return (objectOr(objectOr(config)["contract"])["enforced"] ?? objectOr(contract)["enforced"]) === true;
}

function forbidsNull({ type }: JsonObject): boolean {
  return type === "not_null" || type === "primary_key";
}

/** What the constraints of a column guarantee, besides that its values are not null. */
function constraintGuarantees(constraints: readonly JsonObject[]): ColumnGuarantees {
  // A constraint on several columns says nothing of one of them.
  const single = constraints.filter(({ columns }) => textsOf(columns).length <= 1);
  const isUnique = single.some(({ type }) => type === "unique" || type === "primary_key");
  const [references] = single.filter(({ type }) => type === "foreign_key").flatMap(referenceOf);
  return { ...(isUnique && { unique: true as const }), ...(references !== undefined && { references }) };
}

/** `customers.id` of `{to: "ref('customers')", to_columns: [id]}`, where dbt may write the relation's name for the `ref`. */
function referenceOf({ to, to_columns }: JsonObject): readonly string[] {
  const target = textOr(to, "");
  const model = refOf(target) ?? /"?([^".]+)"?\s*$/.exec(target)?.[1];
  const [column] = textsOf(to_columns);
  return model === undefined || column === undefined ? [] : [`${model}.${column}`];
}

/** The model that `ref('model')`, `ref('package', 'model')` or `ref('model', v=1)` names. */
export function refOf(text: string): string | null {
  return /\bref\((?:[^()]*,)?\s*['"]([^'"]+)['"]\s*(?:,\s*v(?:ersion)?\s*=[^()]*)?\)/.exec(text)?.[1] ?? null;
}

/** For a column without such tests. */
export const NO_GUARANTEES: ColumnGuarantees = {};

export function firstOfEachName(columns: readonly ModelColumn[]): readonly ModelColumn[] {
  const seen = new Set<string>();
  return columns.filter(({ name }) => !seen.has(name) && seen.add(name));
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

function columnSettings(column: JsonObject): Pick<ModelColumn, "timezone" | "example" | "synonyms"> {
  const { timezone, example, synonyms } = routewrightOf(column);
  return {
    ...(timezone !== undefined && { timezone }),
    ...(example !== undefined && { example }),
    ...(synonyms !== undefined && { synonyms }),
  };
}

/** Keys of `meta`, and a tag, that mark private data in dbt projects. */
export const PRIVATE_KEYS = [
  "pii",
  "contains_pii",
  "privacy_tier",
  "sensitive",
  "classification",
  "data_classification",
] as const;
export const PRIVATE_TAG = "pii";

/** Whether a model or a column is marked as private: by the tag, or by a key of its `meta` whose value does not deny it. */
export function isPrivate(node: JsonObject): boolean {
  const config = objectOr(node["config"]);
  const tags = [...textsOf(node["tags"]), ...textsOf(config["tags"])];
  const metas = [objectOr(config["meta"]), objectOr(node["meta"])];
  return (
    tags.some((tag) => tag.toLowerCase() === PRIVATE_TAG) ||
    metas.some((meta) => privateMarks(meta, PRIVATE_KEYS).some(([, mark]) => !isNegative(mark)))
  );
}

/** The members of a `meta` that mark private data; keys count in any letter case. */
export function privateMarks(
  meta: JsonObject,
  keys: readonly string[],
): readonly (readonly [string, unknown])[] {
  const known = keys.map((key) => key.toLowerCase());
  return Object.entries(meta).filter(([key]) => known.includes(key.toLowerCase()));
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
