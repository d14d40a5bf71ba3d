import type { Freshness, LastLoadSql } from "@routewright/runtime/model";
import { type Constraint, constraintsOf, enforcesContract } from "./constraints.js";
import { columnsOf, type ModelColumn } from "./model-columns.js";
import { type JsonObject, objectOr, textOr, textsOf } from "./json.js";
import { apiOf, isPrivate, lastLoadOf, loadBoundsOf, ownerOf, routewrightOf } from "./node-meta.js";
import { relationOf } from "./relation-name.js";
import { columnTestsOf, type ModelContext, provenKeysOf } from "./tests.js";

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
  /** Schema of the relation in the database. */
  readonly schema: string;
  /** Name of the relation in the database. */
  readonly alias: string;
  /** Declared columns. */
  readonly columns: readonly ModelColumn[];
  /** The relation's other columns, as a catalog lists them: settings may name them. Empty without a catalog. */
  readonly undeclared: readonly ModelColumn[];
  /** Names of declared columns that the relation lacks, by a catalog. Empty without one. */
  readonly absent: readonly string[];
  /** Lists of columns whose combined values are never null and differ in every row, as tests or constraints prove. */
  readonly provenKeys: readonly (readonly string[])[];
  /** Whether dbt refuses to build other names and types of columns. */
  readonly hasContract: boolean;
  /** What the database enforces. */
  readonly constraints: readonly Constraint[];
  /** Whether the project marks the whole model as private data. */
  readonly isPrivate: boolean;
  /** dbt's materialization; `view` by default. */
  readonly materialized: string;
  /** Who answers for it: `meta.owner`, else dbt's `group`; null without either. */
  readonly owner: string | null;
  /** Keys of `meta.routewright` as written. */
  readonly routewright: JsonObject;
  /** dbt's `deprecation_date`, when the model may be removed: an RFC 3339 timestamp in UTC, or null. */
  readonly deprecationDate: string | null;
  /** dbt's bounds of the age of its rows: dbt 2 checks models as it does sources. */
  readonly loadBounds: Pick<Freshness, "warnAfter" | "errorAfter"> | null;
  /** How the database says when its rows were last loaded. */
  readonly lastLoad: LastLoadSql | null;
  /** dbt's version of the model; null for a model without versions. */
  readonly version: string | null;
  /** `unique_id` of the latest version of the model; null for the latest version itself and for a model without versions. */
  readonly successor: string | null;
  /** `meta.api` as written and its path in the node; null for a legacy model. */
  readonly api: { readonly value: unknown; readonly path: string } | null;
}

/** The node's file in its dbt project, with `/` on every system; empty where the manifest does not name it. */
export function fileOf(node: JsonObject): string {
  return textOr(node["original_file_path"], textOr(node["path"], "")).replaceAll("\\", "/");
}

/** Reads a model's node. */
export function modelOf(uniqueId: string, node: JsonObject, context: ModelContext): Model {
  const config = objectOr(node["config"]);
  const name = textOr(node["name"], "");
  const tags = textsOf(node["tags"]);
  const configTags = tagList(config["tags"]);
  const constraints = constraintsOf(node, context.adapter);
  const columns = columnsOf(node, columnTestsOf(context.tests), constraints);
  const [schema, alias] = relationOf(node, context.adapter);
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
    schema,
    alias,
    deprecationDate: timestampOf(node["deprecation_date"]),
    loadBounds: loadBoundsOf(node),
    lastLoad: lastLoadOf(node),
    version: versionText(node["version"]),
    successor: successorOf(uniqueId, node),
    columns,
    undeclared: [],
    absent: [],
    provenKeys: provenKeysOf(columns, constraints, context),
    hasContract: enforcesContract(node),
    constraints,
    isPrivate: isPrivate(node),
    materialized: textOr(config["materialized"], "") || "view",
    owner: ownerOf(node),
    routewright: routewrightOf(node),
    api: apiOf(node),
  };
}

/** dbt allows a single tag without a list in `config`. */
function tagList(value: unknown): readonly string[] {
  return typeof value === "string" ? [value] : textsOf(value);
}

function malformedTags(path: string, written: unknown): Model["malformedTags"] {
  const value = written ?? [];
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
  const [own, last] = [versionText(version), versionText(latest)];
  if (own === null || last === null || own === last) return null;
  const unversioned = unversionedId(uniqueId, own);
  return unversioned === null ? null : `${unversioned}.v${last}`;
}

/** `model.project.name.v1` → `model.project.name`; null for an id that does not end in the version. */
export function unversionedId(uniqueId: string, version: string): string | null {
  const ending = `.v${version}`;
  return uniqueId.endsWith(ending) ? uniqueId.slice(0, -ending.length) : null;
}

/** dbt writes a number or a text. */
function versionText(version: unknown): string | null {
  return typeof version === "string" || typeof version === "number" ? String(version) : null;
}

/** Columns that settings may name. */
export function knownColumns({ columns, undeclared }: Model): readonly ModelColumn[] {
  return undeclared.length === 0 ? columns : [...columns, ...undeclared];
}

/**
 * The columns of a row. What a model declares decides: other columns of its relation are not public. A model that declares
 * none is served whole, as is one with `meta.routewright.undeclared: serve`.
 */
export function servedColumns(model: Model): readonly ModelColumn[] {
  const isWhole = model.columns.length === 0 || model.routewright["undeclared"] === "serve";
  return isWhole ? knownColumns(model) : model.columns;
}
