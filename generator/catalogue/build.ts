import type { Plans, Tier } from "@routewright/runtime/model";
import type { GraphNode } from "../manifest/graph.js";
import type { Manifest, OtherNode } from "../manifest/manifest.js";
import type { Model } from "../manifest/model.js";
import type { ModelColumn } from "../manifest/model-columns.js";
import { type ServedEngine, typeInCopy } from "./types/type-in-copy.js";
import { byText } from "../manifest/strings.js";
import { type Catalogue, type CatalogueEntry, complaint, type Skipped, type Warning } from "./catalogue.js";
import { type Context, inputOf, knownReading, readModel } from "./endpoint.js";
import { isWritten, refusedModels, withoutNamedPrivacy } from "./named-models.js";
import { withInheritedPrivacy } from "./inherited-privacy.js";
import { lineageOf } from "./lineage.js";
import { marksIn } from "./private-marks.js";
import { metricEndpoints } from "./metrics/metric-endpoints.js";
import { nearKeysOf } from "./near-keys.js";
import { inputDigest, isWholeInJson, type KnownEntries } from "./model-input.js";
import { declaredRollUps } from "./metrics/roll-ups.js";
import { privateMeasures } from "./metrics/private-measures.js";
import { SemanticIndex } from "./metrics/semantic-index.js";
import { inDocumentedOrder } from "./path.js";
import { withoutPrivateFilters } from "./private-filters.js";
import { withoutClaimedPaths } from "./settings/former-paths.js";
import { type MaxAge, publicAgeOf } from "./settings/max-age.js";
import { versionsOfPaths } from "./version-paths.js";
import { hasResource, isPublished } from "../manifest/publishing.js";

/** One schema for all relations, or the schema that serves in place of each of the manifest's; `*` in a key stands for any text. */
export type SchemaMap = string | Readonly<Record<string, string>>;

export interface CatalogueOptions {
  /** Tier of an endpoint whose model has no tier tag. */
  readonly defaultTier?: Tier;
  /** The schemas that serve in place of the manifest's. */
  readonly schemas?: SchemaMap;
  /** The engine that serves a copy of the relations; without it that of the manifest's adapter. */
  readonly engine?: ServedEngine | undefined;
  /** How long shared caches keep the rows of public endpoints whose models do not say. Default 0. */
  readonly publicMaxAge?: MaxAge;
  /** Of organizations, by name. */
  readonly plans?: Plans;
  /** Paths of a generated folder by model: of the models that only `publish` names, these are served. Left out: all. */
  readonly written?: ReadonlyMap<string, string>;
  readonly known?: KnownEntries | undefined;
}

/** Builds the catalogue of a manifest. Pure: same manifest, same catalogue. */
export function catalogueOf(read: Manifest, options: CatalogueOptions = {}): Catalogue {
  const manifest = withServedSchemas(withServedEngine(read, options.engine), options.schemas ?? {});
  const valid: CatalogueEntry[] = [];
  const skipped: Skipped[] = [];
  const warnings: Warning[] = [];
  const { rules } = manifest.publishing;
  const [named, others] = partition(manifest.models, ({ uniqueId }) => rules.has(uniqueId));
  const tagged = others.filter(({ tags }) => isPublished(tags));
  const index = new SemanticIndex(manifest);
  const { rollUps, warnings: ofRollUps } = declaredRollUps(index);
  warnings.push(...ofRollUps);
  const context: Context = {
    defaultTier: options.defaultTier ?? "tier0",
    // Elsewhere columns are nullable unless declared otherwise.
    nullableByDefault: manifest.adapter !== "clickhouse",
    publicAge: publicAgeOf(options.publicMaxAge ?? 0),
    graph: manifest.graph,
    owners: new Map(),
    versions: versionsOfPaths(tagged),
    rollUps,
  };
  const inputs = new Map<CatalogueEntry, string>();
  const add = (model: Model): void => {
    const input = inputOf(model, context);
    const digest = inputDigest(input);
    const known = digest === null ? undefined : options.known?.entryOf(model.uniqueId, digest);
    const nearKeys = nearKeysOf(manifest.graph.get(model.uniqueId)?.json ?? {});
    const { owners } = context;
    const reading = (known && knownReading(known, nearKeys, owners)) ?? readModel(input, nearKeys, owners);
    warnings.push(...reading.warnings);
    if ("skipped" in reading) {
      skipped.push(reading.skipped);
      return;
    }
    const { entry, warnings: withheld } = withoutPrivateFilters(reading.entry, model, manifest);
    warnings.push(...withheld);
    const problems = privateMeasures(model, entry, manifest);
    // A warning is one of each run, and what others change of an entry is not in its input.
    const isOfInput = reading.warnings.length === 0 && entry === reading.entry && isWholeInJson(entry);
    if (isOfInput && digest !== null) inputs.set(entry, digest);
    if (problems.length === 0) valid.push(entry);
    else skipped.push({ model: model.uniqueId, file: model.file, reason: "invalid", problems });
  };
  for (const model of tagged) add(model);
  const ofMetrics = metricEndpoints(index, context);
  valid.push(...ofMetrics.entries);
  skipped.push(...ofMetrics.skipped);
  warnings.push(...ofMetrics.warnings);
  // After all that their authors have tagged: a folder takes nobody's path.
  for (const model of named) if (isWritten(model, options.written)) add(model);
  const claimed = withoutClaimedPaths(valid, context.owners);
  skipped.push(...claimed.skipped, ...refusedModels(manifest));
  skipped.push(...manifest.others.filter(({ tags }) => hasResource(tags)).map(notServable));
  const published = withInheritedPrivacy(withSuccessors(claimed.entries, manifest), manifest);
  const open = withoutNamedPrivacy(published, manifest);
  skipped.push(...open.skipped);
  const entries = open.entries.toSorted(inDocumentedOrder);
  const marks = marksIn(index);
  return {
    entries,
    skipped,
    warnings,
    lineage: lineageOf(entries, manifest),
    defaultTier: context.defaultTier,
    adapter: manifest.adapter,
    ...(Object.keys(options.plans ?? {}).length > 0 && options.plans && { plans: options.plans }),
    ...(read.adapter !== null && read.adapter !== manifest.adapter && { copiedFrom: read.adapter }),
    categories: categoriesOf(entries, manifest),
    inputs,
    ...(marks.size > 0 && { marks }),
  };
}

function partition<Value>(
  all: readonly Value[],
  has: (value: Value) => boolean,
): readonly [readonly Value[], readonly Value[]] {
  return [all.filter(has), all.filter((value) => !has(value))];
}

function categoriesOf(
  entries: readonly CatalogueEntry[],
  { categories }: Manifest,
): Readonly<Record<string, string>> {
  const names = [...new Set(entries.map(({ category }) => category))].sort(byText);
  return Object.fromEntries(
    names.flatMap((name) => {
      const text = categories.get(name.toLowerCase());
      return text === undefined ? [] : [[name, text]];
    }),
  );
}

/** The manifest as if the engine's own adapter had built it: a type that a copy cannot have is not known. */
export function withServedEngine(manifest: Manifest, engine: ServedEngine | undefined): Manifest {
  const { adapter, models, warehouseColumns } = manifest;
  if (engine === undefined || engine === adapter) return manifest;
  const served = (column: ModelColumn): ModelColumn =>
    column.type === null || column.isServedType === true
      ? column
      : {
          ...column,
          type: typeInCopy(adapter ?? "", engine, column.type, column.notNull !== null),
          sourceType: column.type,
        };
  const copied = models.map((model) => ({
    ...model,
    columns: model.columns.map(served),
    undeclared: model.undeclared.map(served),
  }));
  const real = [...warehouseColumns].map(([id, columns]) => [id, columns.map(served)] as const);
  return { ...manifest, adapter: engine, models: copied, warehouseColumns: new Map(real) };
}

/** The manifest with the schemas that serve. */
export function withServedSchemas(manifest: Manifest, schemas: SchemaMap): Manifest {
  const models = manifest.models.map((model) => ({ ...model, schema: servedSchema(model.schema, schemas) }));
  const graph = new Map(
    [...manifest.graph].map(([id, node]): [string, GraphNode] => {
      const [schema, name] = node.relation;
      return [id, { ...node, relation: [servedSchema(schema, schemas), name] }];
    }),
  );
  const { semantics } = manifest;
  const served = <Of extends { readonly relation: readonly [string, string] }>(of: Of): Of => ({
    ...of,
    relation: [servedSchema(of.relation[0], schemas), of.relation[1]],
  });
  const mapped = { ...semantics, models: semantics.models.map(served), spines: semantics.spines.map(served) };
  return { ...manifest, models, graph, semantics: mapped };
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
