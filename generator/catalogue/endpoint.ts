import {
  type Column,
  DEFAULT_MAX_LENGTH,
  type Method,
  operatorOf,
  type Parameter,
} from "@routewright/runtime/model";
import type { ModelColumn } from "../manifest/model-columns.js";
import type { Graph } from "../manifest/graph.js";
import { type Model, servedColumns } from "../manifest/model.js";
import {
  type CatalogueEntry,
  type Complaint,
  complaint,
  type DescribedColumn,
  type Problem,
  type Skipped,
  type SkipReason,
  type Warning,
} from "./catalogue.js";
import { isWideNumber } from "./types/data-type.js";
import { jsonKindOf } from "./types/json-schema.js";
import { dataTypeOf } from "./types/read-type.js";
import { canBeNaN } from "./types/type-facts.js";
import { enforcedOf } from "./enforced.js";
import { modelAggregate } from "./metrics/model-aggregate.js";
import type { DeclaredRollUp } from "./metrics/roll-ups.js";
import type { ModelInput, SharedInput } from "./model-input.js";
import type { NearKeys } from "./near-keys.js";
import { type ModelTags, resourceOf, type VersionOfPath } from "./path.js";
import { freshnessOf } from "./settings/freshness.js";
import { goneAtOf } from "./settings/gone-after.js";
import { isExcluded } from "./settings/meta-api.js";
import { type ReadSettings, readSettingsOf } from "./settings/read.js";
import { readTags } from "./tags.js";

/** Path → its model: the first by `unique_id`, valid or not, so that fixing a model never moves a path. */
type Owners = Map<string, string>;

/** What models and metrics of a manifest are read with. */
export interface Context extends SharedInput {
  readonly graph: Graph;
  readonly owners: Owners;
  /** By `unique_id`. */
  readonly versions: ReadonlyMap<string, VersionOfPath>;
  readonly rollUps: readonly DeclaredRollUp[];
}

type ModelReading = { readonly warnings: readonly Warning[] } & (
  { readonly entry: CatalogueEntry } | { readonly skipped: Skipped }
);

/** What a published model is read from. */
export function inputOf(model: Model, context: Context): ModelInput {
  const { defaultTier, nullableByDefault, publicAge, versions } = context;
  return { model, version: versions.get(model.uniqueId), defaultTier, nullableByDefault, publicAge };
}

/** The reading of an entry that was read before; null where its node has misspelt keys, or another model its path now. */
export function knownReading(entry: CatalogueEntry, nearKeys: NearKeys, owners: Owners): ModelReading | null {
  if (nearKeys.problems.length + nearKeys.warnings.length > 0) return null;
  const paths = [entry.path, ...(entry.versionPath === undefined ? [] : [entry.versionPath])];
  if (paths.some((path) => owners.has(path))) return null;
  for (const path of paths) owners.set(path, entry.uniqueId);
  return { warnings: [], entry };
}

/** Reads a published model: its node, its tags, its settings, its endpoint. All problems are reported together. */
export function readModel(input: ModelInput, nearKeys: NearKeys, owners: Owners): ModelReading {
  const { model } = input;
  if (isExcluded(model)) return { warnings: [], skipped: skip(model, "excluded", []) };
  const { tags, path, versionPath, ...ofTags } = readTags(model, input.version);
  const { settings, ...ofSettings } = readSettingsOf(model, path, input.nullableByDefault);
  const of = <Each extends Complaint>(each: Each) => ({ model: model.uniqueId, ...each });
  const problems = [
    ...ofTags.problems,
    ...nodeProblems(model),
    ...nearKeys.problems,
    ...ofSettings.problems,
  ].map(of);
  const noColumns = problems.length === 0 ? withoutColumns(model) : [];
  const warnings = [...ofSettings.warnings, ...nearKeys.warnings, ...ofTags.warnings, ...noColumns].map(of);
  const taken = [path, versionPath].flatMap((each) => (each == null ? [] : takePath(each, model, owners)));
  if (settings === null || problems.length > 0)
    return { warnings, skipped: skip(model, "invalid", [...problems, ...taken]) };
  if (taken.length > 0) return { warnings, skipped: skip(model, "path-taken", taken) };
  const place = { path: path ?? "", ...(versionPath !== undefined && { versionPath }) };
  return { warnings, entry: entryOf(model, place, tags, settings, input) };
}

function nodeProblems(model: Model): readonly Complaint[] {
  return [...ephemeral(model), ...relationProblems(model)];
}

function ephemeral({ materialized }: Model): readonly Complaint[] {
  if (materialized !== "ephemeral") return [];
  return complaint(
    "$.config.materialized",
    "An ephemeral model has no relation to serve.",
    "Materialize it as a view or a table, or remove its api: tag.",
  );
}

function relationProblems(model: Model): readonly Complaint[] {
  const names = [
    { path: "$.schema", name: model.schema },
    { path: "$.alias", name: model.alias },
  ];
  return names.flatMap(({ path, name }) => {
    const message = identifierError(name);
    return message ? [{ path, message, hint: "Give the name that the relation has in the warehouse." }] : [];
  });
}

function identifierError(name: string): string | null {
  if (name === "") return "The name is missing or empty.";
  return name.includes("\0") ? "The name contains the character U+0000, which no identifier can." : null;
}

function withoutColumns({ columns }: Model): readonly Complaint[] {
  if (columns.length > 0) return [];
  const message = "The model declares no columns: every column of its relation is served.";
  return [{ path: "$.columns", message, hint: "List the columns in the model's schema.yml." }];
}

/** The first model by `unique_id` keeps a path (generator/docs/tags.md, Paths). */
function takePath(path: string, model: Model, owners: Owners): Problem[] {
  const owner = owners.get(path);
  if (owner === undefined) owners.set(path, model.uniqueId);
  return owner === undefined ? [] : [pathTaken(model, path, owner)];
}

function skip(model: Model, reason: SkipReason, problems: readonly Problem[]): Skipped {
  return { model: model.uniqueId, file: model.file, reason, problems };
}

function pathTaken(model: Model, path: string, owner: string): Problem {
  const isVersion = unversioned(owner) === unversioned(model.uniqueId);
  return {
    model: model.uniqueId,
    path: "$.tags",
    message: `The path ${path} belongs to ${owner}${isVersion ? ", another version of this model" : ""}.`,
    hint: isVersion
      ? "Give each version its own resource: set `config.tags` under the version, such as api:name_v2."
      : "Give one of the two another resource, granularity or window tag, or set meta.api.exclude_from_api.",
  };
}

/** `model.shop.orders.v2` → `model.shop.orders`. */
function unversioned(uniqueId: string): string {
  return uniqueId.replace(/\.v[^.]+$/, "");
}

/** Its keys are in the order of `catalogue.json`. */
function entryOf(
  model: Model,
  place: Pick<CatalogueEntry, "path" | "versionPath">,
  tags: ModelTags,
  settings: ReadSettings,
  context: SharedInput,
): CatalogueEntry {
  const { category, granularity, window, tier } = tags;
  const { methods, legacy, parameters, ...api } = settings.api;
  const {
    numbers,
    cursor,
    filter,
    filters,
    fields,
    rows,
    former_paths: formerPaths,
    changes,
    require_fresh: requireFresh,
    on_failed_test: onFailedTest,
  } = settings.routewright;
  const { stability, title, fresh_within: within, fresh_by: by } = settings.routewright;
  const requiredTier = tier ?? context.defaultTier;
  const { max_age: ownAge = context.publicAge } = settings.routewright;
  // A folder may set it: it counts where every caller gets the same rows.
  const promised = freshnessOf(within, by);
  const freshness = promised ?? model.loadBounds;
  const lastLoad = promised === undefined && freshness !== null ? model.lastLoad : null;
  const publicAge = requiredTier === "tier0" && rows === undefined ? ownAge : null;
  const { aggregate } = settings.routewright;
  const words = synonymsOf(model, settings);
  const enforced = enforcedOf(model);
  const entry: CatalogueEntry = {
    ...place,
    model: model.name,
    uniqueId: model.uniqueId,
    file: model.file,
    category,
    resource: place.versionPath === undefined ? resourceOf(tags) : tags.resource,
    granularity,
    window,
    ...(model.version !== null && { version: model.version }),
    tier: requiredTier,
    hasTierTag: tier !== null,
    private: model.isPrivate,
    description: model.description,
    ...(title !== undefined && { title }),
    ...(model.owner !== null && { owner: model.owner }),
    ...(stability && { stability }),
    ...(words.length > 0 && { synonyms: words }),
    ...(enforced.length > 0 && { enforced }),
    relation: [model.schema, model.alias],
    columns: servedColumns(model).map((column) => columnOf(column, settings, context)),
    methods,
    legacy,
    parameters: parameters.map(({ description, ...parameter }) => ({
      ...withValues(parameter, model, methods),
      ...(description !== undefined && { description }),
    })),
    ...(numbers && { numbers }),
    ...api,
    ...(cursor && { cursor }),
    ...(filters.length > 0 && { filters }),
    ...(filter && { filter }),
    ...(fields && { fields }),
    ...(rows && { rows }),
    deprecationDate: model.deprecationDate,
    ...goneAtOf(model.deprecationDate, settings.routewright.gone_after),
    successor: null,
    ...(formerPaths.length > 0 && { formerPaths }),
    ...(changes && { changes }),
    ...(freshness && { freshness }),
    ...(lastLoad && { lastLoad }),
    ...(requireFresh && { requireFresh }),
    ...(onFailedTest && { onFailedTest }),
    ...(publicAge && { publicAge }),
  };
  if (aggregate === undefined) return entry;
  return { ...entry, aggregate: modelAggregate(model, aggregate, entry, !context.nullableByDefault) };
}

/** The model's, then its columns'. */
function synonymsOf({ columns }: Model, settings: ReadSettings): readonly string[] {
  const ofColumns = columns.flatMap(({ name }) => settings.columns.get(name)?.synonyms ?? []);
  return [...new Set([...settings.routewright.synonyms, ...ofColumns])];
}

/** Adds the values of an `accepted_values` test to an equality filter, where requests can send them as text. */
function withValues(parameter: Parameter, { columns }: Model, methods: readonly Method[]): Parameter {
  if (operatorOf(parameter.operator).value !== "typed") return parameter;
  const { acceptedValues = null, type = null } = columns.find(({ name }) => name === parameter.column) ?? {};
  const kind = jsonKindOf(dataTypeOf(type));
  if (acceptedValues === null || !HAS_TEXTS.has(kind)) return parameter;
  const values = acceptedValues.filter((value) => canBeSent(value, parameter, methods));
  return values.length === 0 ? parameter : ({ ...parameter, values } as Parameter);
}

/**
 * Whether a request can send a value: blanks around a value are dropped, an empty one counts as absent, and a list in a query string
 * ends a value at a comma.
 */
function canBeSent(value: string, parameter: Parameter, methods: readonly Method[]): boolean {
  const { maxLength = DEFAULT_MAX_LENGTH } = parameter as { readonly maxLength?: number };
  if (value === "" || value !== value.trim() || value.includes("\0")) return false;
  if (parameter.type === "string_list" && value.includes(",") && !methods.includes("POST")) return false;
  return Array.from(value).length <= maxLength;
}

const HAS_TEXTS: ReadonlySet<string> = new Set(["string", "enum", "integer", "unknown"]);

function columnOf(column: ModelColumn, settings: ReadSettings, context: SharedInput): DescribedColumn {
  const { name, type, sourceType, labels, baseType } = column;
  const { description, notNull, acceptedValues, guarantees, isPrivate } = column;
  const example = settings.columns.get(name)?.example;
  return {
    name,
    type: typeOf(column, context),
    ...zoneOf(column, settings),
    ...(isWideNumber(dataTypeOf(type)) && { wide: true }),
    ...numbersOf(name, settings),
    ...(sourceType !== undefined && { sourceType }),
    ...(labels && { labels }),
    ...(baseType !== undefined && { baseType }),
    ...(description.trim() !== "" && { description }),
    ...(notNull && { notNull }),
    ...(acceptedValues && { acceptedValues }),
    ...guarantees,
    ...(isPrivate && { private: true }),
    ...(example !== undefined && !isPrivate && { example }),
  };
}

/** How the column's wide numbers are written, where that is not as the model's are. */
function numbersOf(name: string, { columns, routewright }: ReadSettings): Pick<Column, "numbers"> {
  const own = columns.get(name)?.numbers;
  return own === undefined || own === (routewright.numbers ?? "number") ? {} : { numbers: own };
}

/** The time zone of a timestamp without one, where it is not UTC: the column's own, else the model's. */
function zoneOf({ name, type }: ModelColumn, { columns, routewright }: ReadSettings): { timezone?: string } {
  const timezone = columns.get(name)?.timezone ?? routewright.timezone ?? "UTC";
  const isZoneless = /^(?:timestamp|datetime)(?!tz)(?!.*with time zone)/i.test(type ?? "");
  return isZoneless && timezone !== "UTC" && jsonKindOf(dataTypeOf(type)) === "dateTime" ? { timezone } : {};
}

/** The declared type; `text null`, as in SQL, for a column that may be served as null. */
function typeOf(column: ModelColumn, { nullableByDefault }: SharedInput): string | null {
  const { type, notNull } = column;
  if (type === null) return null;
  const isNullable = nullableByDefault && notNull === null;
  return isNullable || (canBeNaN(dataTypeOf(type), nullableByDefault) && !isProvenFinite(column))
    ? `${type} null`
    : type;
}

/** Whether tests rule out NaN and infinities. Some comparisons hold for them: it takes both bounds. */
function isProvenFinite({ acceptedValues, guarantees: { minimum, maximum } }: ModelColumn): boolean {
  if (minimum !== undefined && maximum !== undefined) return true;
  return acceptedValues?.every((value) => Number.isFinite(Number(value))) === true;
}
