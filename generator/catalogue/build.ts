import type { Parameter, Tier } from "@routewright/runtime/model";
import type { Manifest, OtherNode } from "../manifest/manifest.js";
import type { Model } from "../manifest/model.js";
import type { ModelColumn } from "../manifest/columns.js";
import { textsOf } from "../manifest/json.js";
import {
  type Catalogue,
  type CatalogueEntry,
  complaint,
  type DescribedColumn,
  type Problem,
  type Skipped,
  type SkipReason,
  type Warning,
} from "./catalogue.js";
import { checkModel, isExcluded, timezoneOf } from "./check.js";
import { canBeNaN, isWideNumber, parseColumnType } from "./column-types/column-type.js";
import { lineageOf, upstreamNodesOf, withInheritedPrivacy } from "./lineage.js";
import { formerPathsOf, inDocumentedOrder, pathOf, withoutClaimedPaths } from "./path.js";
import { querySettingsOf } from "./query-settings.js";
import type { ApiSettings } from "./meta-api/schema.js";
import { hasResource, isPublished, type ModelTags, readTags } from "./tags.js";

/** One schema for all relations, or the schema that serves in place of each of the manifest's; `*` in a key stands for any text. */
export type SchemaMap = string | Readonly<Record<string, string>>;

export interface CatalogueOptions {
  /** Tier of an endpoint whose model has no tier tag. */
  readonly defaultTier?: Tier;
  /** The schemas that serve in place of the manifest's. */
  readonly schemas?: SchemaMap;
}

/** Builds the catalogue of a manifest. Pure: same manifest, same catalogue. */
export function catalogueOf(read: Manifest, options: CatalogueOptions = {}): Catalogue {
  const manifest = withServedSchemas(read, options.schemas ?? {});
  const entries: CatalogueEntry[] = [];
  const skipped: Skipped[] = [];
  const warnings: Warning[] = [];
  const context = {
    defaultTier: options.defaultTier ?? "tier0",
    // Elsewhere columns are nullable unless declared otherwise.
    nullableByDefault: manifest.adapter !== "clickhouse",
    owners: new Map<string, string>(),
  };
  for (const model of manifest.models) {
    if (!isPublished(model.tags)) continue;
    const outcome = readModel(model, context);
    warnings.push(...outcome.warnings);
    if ("skipped" in outcome) skipped.push(outcome.skipped);
    else entries.push(outcome.entry);
  }
  const claimed = withoutClaimedPaths(entries, context.owners);
  skipped.push(...claimed.skipped);
  skipped.push(...manifest.others.filter(({ tags }) => hasResource(tags)).map(notServable));
  const published = withInheritedPrivacy(withSuccessors(claimed.entries, manifest), manifest);
  const linked = withUpstreamNodes(published, manifest);
  return {
    entries: linked.sort(inDocumentedOrder),
    skipped,
    warnings,
    lineage: lineageOf(
      linked.map(({ uniqueId }) => uniqueId),
      manifest,
    ),
    defaultTier: context.defaultTier,
    adapter: manifest.adapter,
  };
}

function withServedSchemas(manifest: Manifest, schemas: SchemaMap): Manifest {
  const models = manifest.models.map((model) => ({ ...model, schema: servedSchema(model.schema, schemas) }));
  return { ...manifest, models };
}

/** The schema that serves the relations of a schema of the manifest: that of the first key that matches, else the same. */
function servedSchema(schema: string, schemas: SchemaMap): string {
  if (typeof schemas === "string") return schemas;
  const [, served] = Object.entries(schemas).find(([pattern]) => matches(schema, pattern)) ?? [];
  return served ?? schema;
}

/** The schemas that a mapping leads to; null where it names none. */
export function mappedSchemas(schemas: SchemaMap): readonly string[] | null {
  const served = typeof schemas === "string" ? [schemas] : Object.values(schemas);
  return served.length === 0 ? null : served;
}

function matches(schema: string, pattern: string): boolean {
  const parts = pattern.split("*").map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s").test(schema);
}

/** Adds to older versions of a model the path of the latest version's endpoint. */
function withSuccessors(entries: readonly CatalogueEntry[], { models }: Manifest): CatalogueEntry[] {
  const paths = new Map(entries.map(({ uniqueId, path }) => [uniqueId, path]));
  const successors = new Map(models.map(({ uniqueId, successor }) => [uniqueId, paths.get(successor ?? "")]));
  return entries.map((entry) => {
    const successor = successors.get(entry.uniqueId) ?? null;
    return successor === null ? entry : { ...entry, successor };
  });
}

/** Adds the nodes whose builds change an endpoint's rows. */
function withUpstreamNodes(entries: readonly CatalogueEntry[], { graph }: Manifest): CatalogueEntry[] {
  const nodes = upstreamNodesOf(
    entries.map(({ uniqueId }) => uniqueId),
    graph,
  );
  return entries.map((entry) => ({ ...entry, upstreamNodes: nodes.get(entry.uniqueId) ?? null }));
}

type Outcome = { readonly warnings: readonly Warning[] } & (
  { readonly entry: CatalogueEntry } | { readonly skipped: Skipped }
);

/** State shared by all models of a manifest. */
interface Context {
  readonly defaultTier: Tier;
  readonly nullableByDefault: boolean;
  /** Path → its model: the first by `unique_id`, valid or not, so that fixing a model never moves a path. */
  readonly owners: Map<string, string>;
}

function readModel(model: Model, context: Context): Outcome {
  if (isExcluded(model)) return { warnings: [], skipped: skip(model, "excluded", []) };
  const tags = readTags(model.tags, categoryOf(model));
  const { path, settings, problems, warnings } = checkModel(model, tags);
  const taken = path === null ? [] : takePath(path, model, context);
  if (settings === null) return { warnings, skipped: skip(model, "invalid", [...problems, ...taken]) };
  if (taken.length > 0) return { warnings, skipped: skip(model, "path-taken", taken) };
  return { warnings, entry: entryOf(model, tags, settings, context) };
}

/** `meta.routewright.category` wins over the tags. A value that is not a string fails the check of path segments. */
function categoryOf({ routewright }: Model): string | null {
  const { category } = routewright;
  return category === undefined
    ? null
    : typeof category === "string"
      ? category
      : `meta.routewright.category=${JSON.stringify(category)}`;
}

/** The problem of a seed, snapshot, source, analysis or disabled model with an `api:` tag. */
function notServable({ uniqueId, file, kind }: OtherNode): Skipped {
  const complaints =
    kind === "disabled model"
      ? complaint("$.config.enabled", "The model is disabled.", "Enable it, or remove its api: tag.")
      : complaint(
          "$.tags",
          `A ${kind} cannot be an endpoint.`,
          "Tag a model that selects from it, or remove its api: tag.",
        );
  const problems = complaints.map((each) => ({ model: uniqueId, ...each }));
  return { model: uniqueId, file, reason: "invalid", problems };
}

/** The first model by `unique_id` keeps a path (generator/docs/tags.md, Paths). */
function takePath(path: string, model: Model, { owners }: Context): Problem[] {
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
function entryOf(model: Model, tags: ModelTags, settings: ApiSettings, context: Context): CatalogueEntry {
  const { category, resource, granularity, window, tier } = tags;
  const { methods, legacy, parameters, ...rest } = settings;
  const { routewright } = model;
  const synonyms = [routewright["synonyms"], ...model.columns.map((column) => column.synonyms)];
  const words = [...new Set(synonyms.flatMap(textsOf))];
  const formerPaths = formerPathsOf(model);
  return {
    path: pathOf(tags),
    model: model.name,
    uniqueId: model.uniqueId,
    file: model.file,
    category,
    resource,
    granularity,
    window,
    tier: tier ?? context.defaultTier,
    hasTierTag: tier !== null,
    private: model.isPrivate,
    description: model.description,
    ...(words.length > 0 && { synonyms: words }),
    relation: [model.schema, model.alias],
    columns: model.columns.map((column) => columnOf(column, model, context)),
    methods,
    legacy,
    parameters: parameters.map(({ description, ...parameter }) => ({
      ...withValues(parameter, model),
      ...(description !== undefined && { description }),
    })),
    ...(routewright["numbers"] === "string" && { numbers: "string" as const }),
    ...rest,
    ...querySettingsOf(model, settings),
    deprecationDate: model.deprecationDate,
    successor: null,
    ...(formerPaths.length > 0 && { formerPaths }),
    upstreamNodes: null,
  };
}

/** Adds the values of an `accepted_values` test to an equality filter, where requests can send them as text. */
function withValues(parameter: Parameter, { columns }: Model): Parameter {
  if (parameter.operator !== "=" && parameter.operator !== "IN") return parameter;
  const { acceptedValues = null, type = null } = columns.find(({ name }) => name === parameter.column) ?? {};
  const { kind } = parseColumnType(type);
  return acceptedValues === null || !HAS_TEXTS.has(kind)
    ? parameter
    : { ...parameter, values: acceptedValues };
}

const HAS_TEXTS: ReadonlySet<string> = new Set(["string", "enum", "integer", "unknown"]);

/** The time zone of a timestamp without one, where it is not UTC. */
function zoneOf(column: ModelColumn, model: Model): { timezone?: string } {
  const timezone = timezoneOf(model, column);
  const isZoneless = /^(?:timestamp|datetime)(?!tz)(?!.*with time zone)/i.test(column.type ?? "");
  const isTime = parseColumnType(column.type).kind === "dateTime" && isZoneless;
  return isTime && typeof timezone === "string" && timezone !== "UTC" ? { timezone } : {};
}

function columnOf(column: ModelColumn, model: Model, context: Context): DescribedColumn {
  const { name, type, description, notNull, acceptedValues, isPrivate } = column;
  return {
    name,
    type: typeOf(column, context),
    ...zoneOf(column, model),
    ...(isWideNumber(parseColumnType(type)) && { wide: true }),
    ...(description.trim() !== "" && { description }),
    ...(notNull && { notNull }),
    ...(acceptedValues && { acceptedValues }),
    ...(isPrivate && { private: true }),
  };
}

/** The declared type; `text null`, as in SQL, for a column that may be served as null. */
function typeOf(column: ModelColumn, { nullableByDefault }: Context): string | null {
  const { type, notNull } = column;
  if (type === null) return null;
  const isNullable = nullableByDefault && notNull === null;
  return isNullable || (canBeNaN(type, nullableByDefault) && !isProvenFinite(column)) ? `${type} null` : type;
}

/** Whether a test rules out NaN and infinities. */
function isProvenFinite({ acceptedValues }: ModelColumn): boolean {
  return acceptedValues?.every((value) => Number.isFinite(Number(value))) === true;
}
