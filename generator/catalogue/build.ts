import type { Endpoint, Tier } from "@routewright/runtime/model";
import { byText } from "../manifest/json.js";
import type { Manifest } from "../manifest/manifest.js";
import type { Model, ModelColumn } from "../manifest/model.js";
import { upstreamNodesOf } from "./upstream-nodes.js";
import type {
  Catalogue,
  CatalogueEntry,
  ColumnFacts,
  Documentation,
  ModelFacts,
  Problem,
  Skipped,
  SkipReason,
} from "./catalogue.js";
import { checkModel, isExcluded } from "./check.js";
import { granularityRank, pathOf } from "./path.js";
import type { Settings } from "./settings.js";
import { isPublished, readTags, type ModelTags } from "./tags.js";

export interface CatalogueOptions {
  /** Tier of an endpoint whose model has no tier tag. */
  readonly defaultTier?: Tier;
}

/** What a manifest publishes, and every published model that it cannot. Pure: same manifest, same catalogue. */
export function catalogueOf(manifest: Manifest, options: CatalogueOptions = {}): Catalogue {
  const entries: CatalogueEntry[] = [];
  const skipped: Skipped[] = [];
  const warnings: Problem[] = [];
  const context = {
    defaultTier: options.defaultTier ?? "tier0",
    nullableByDefault: manifest.nullableByDefault,
    holders: new Map<string, string>(),
  };
  for (const model of manifest.models) {
    if (!isPublished(model.tags)) continue;
    const outcome = readModel(model, context);
    warnings.push(...outcome.warnings);
    if ("skipped" in outcome) skipped.push(outcome.skipped);
    else entries.push(outcome.entry);
  }
  const linked = withBuilds(withSuccessors(entries, manifest), manifest);
  return { entries: linked.sort(inDocumentedOrder), skipped, warnings, defaultTier: context.defaultTier };
}

/** Points older versions of a model to the endpoint of the latest one, where that has one. */
function withSuccessors(entries: readonly CatalogueEntry[], { models }: Manifest): CatalogueEntry[] {
  const paths = new Map(entries.map(({ uniqueId, endpoint }) => [uniqueId, endpoint.path]));
  const successors = new Map(models.map(({ uniqueId, successor }) => [uniqueId, paths.get(successor ?? "")]));
  return entries.map((entry) => {
    const successor = successors.get(entry.uniqueId) ?? null;
    return successor === null ? entry : { ...entry, endpoint: { ...entry.endpoint, successor } };
  });
}

/** Tells each endpoint the builds that alone change its rows. */
function withBuilds(entries: readonly CatalogueEntry[], { graph }: Manifest): CatalogueEntry[] {
  const builds = upstreamNodesOf(
    entries.map(({ uniqueId }) => uniqueId),
    graph,
  );
  return entries.map((entry) => {
    const upstreamNodes = builds.get(entry.uniqueId) ?? null;
    return { ...entry, endpoint: { ...entry.endpoint, upstreamNodes } };
  });
}

type Outcome = { readonly warnings: readonly Problem[] } & (
  { readonly entry: CatalogueEntry } | { readonly skipped: Skipped }
);

/** What holds for all models of a manifest. */
interface Context {
  readonly defaultTier: Tier;
  readonly nullableByDefault: boolean;
  /** The model that each path belongs to: the first, though it be invalid, so that mending it moves nobody's path. */
  readonly holders: Map<string, string>;
}

function readModel(model: Model, context: Context): Outcome {
  if (isExcluded(model)) return { warnings: [], skipped: skip(model, "excluded", []) };
  const tags = readTags(model.tags);
  const { path, settings, descriptions, problems, warnings } = checkModel(model, tags);
  const taken = path === null ? [] : takePath(path, model, context);
  if (settings === null) return { warnings, skipped: skip(model, "invalid", [...problems, ...taken]) };
  if (taken.length > 0) return { warnings, skipped: skip(model, "path-taken", taken) };
  const entry = {
    ...placeOf(tags),
    uniqueId: model.uniqueId,
    facts: factsOf(model, tags),
    documentation: documentationOf(model, descriptions),
  };
  return { warnings, entry: { ...entry, endpoint: endpointOf(model, tags, settings, context) } };
}

/** The first model by `unique_id` keeps a path (decisions.md §A). */
function takePath(path: string, model: Model, { holders }: Context): Problem[] {
  const holder = holders.get(path);
  if (holder === undefined) holders.set(path, model.uniqueId);
  return holder === undefined ? [] : [pathTaken(model, path, holder)];
}

function skip(model: Model, reason: SkipReason, problems: readonly Problem[]): Skipped {
  return { model: model.uniqueId, file: model.file, reason, problems };
}

function pathTaken(model: Model, path: string, holder: string): Problem {
  return {
    model: model.uniqueId,
    path: "$.tags",
    message: `The path ${path} belongs to ${holder} already.`,
    hint: "Give one of the two another resource, granularity or window tag, or set meta.api.exclude_from_api.",
  };
}

function placeOf({ category, resource, granularity, window }: ModelTags) {
  return { category, resource, granularity, window };
}

function endpointOf(model: Model, tags: ModelTags, settings: Settings, context: Context): Endpoint {
  return {
    model: model.name,
    path: pathOf(tags),
    tier: tags.tier ?? context.defaultTier,
    relation: [model.schema, model.alias],
    columns: model.columns.map((column) => ({ name: column.name, type: typeOf(column, context) })),
    ...settings,
    deprecationDate: model.deprecationDate,
    successor: null,
    upstreamNodes: null,
  };
}

function factsOf({ file, isPrivate, columns }: Model, { tier }: ModelTags): ModelFacts {
  const known = columns.filter((column) => column.notNull ?? column.acceptedValues ?? column.isPrivate);
  const facts = known.map(({ name, notNull, acceptedValues, ...column }): [string, ColumnFacts] => [
    name,
    { notNull, acceptedValues, isPrivate: column.isPrivate },
  ]);
  return { file, hasTierTag: tier !== null, isPrivate, columns: new Map(facts) };
}

/** Where null is the rule, a type says so as SQL does: `text null`. */
function typeOf({ type, notNull }: ModelColumn, { nullableByDefault }: Context): string | null {
  return type !== null && nullableByDefault && notNull === null ? `${type} null` : type;
}

function documentationOf(model: Model, parameters: ReadonlyMap<string, string>): Documentation {
  const described = model.columns.filter(({ description }) => description.trim() !== "");
  return {
    description: model.description,
    columns: new Map(described.map(({ name, description }) => [name, description])),
    parameters,
  };
}

/** Category, resource, then the order of granularities that data-api.md §4.1 gives. */
function inDocumentedOrder(a: CatalogueEntry, b: CatalogueEntry): number {
  return (
    byText(a.category, b.category) ||
    byText(a.resource, b.resource) ||
    granularityRank(a.granularity) - granularityRank(b.granularity) ||
    byText(a.granularity ?? "", b.granularity ?? "") ||
    byText(a.window ?? "", b.window ?? "")
  );
}
