import { groupedBy, servedPaths } from "@routewright/runtime/model";
import { loadMetrics, type RecordedUsage, type Warehouse } from "@routewright/runtime/server";
import { catalogueOf, type CatalogueOptions } from "../catalogue/build.js";
import type { Catalogue, CatalogueEntry } from "../catalogue/catalogue.js";
import { type JsonObject, objectOr, textOr } from "../manifest/json.js";
import type { Manifest } from "../manifest/manifest.js";
import { recordedShapes } from "../diff/recorded-shapes.js";
import { suggestFilters } from "./filter-columns.js";
import type { RelationGroups } from "./group-counts.js";
import { suggestIndexes } from "./indexes.js";
import { suggestTextIndexes } from "./text-indexes.js";
import { suggestRollUps } from "./roll-ups.js";
import { suggestSettings } from "./settings.js";
import {
  type EndpointUsage,
  META,
  type ModelEdit,
  NO_FACTS,
  type RelationFacts,
  type Suggestion,
} from "./suggestion.js";

/** A database as a run reads it. */
export interface SuggestDatabase extends RelationGroups {
  readonly factsOf: (entry: CatalogueEntry) => Promise<RelationFacts>;
  readonly commentsOf: (entry: CatalogueEntry) => ReadonlyMap<string, string>;
  /** Paths of endpoints whose rows only builds change. */
  readonly couldPromise: ReadonlySet<string>;
  readonly usesIndex: Warehouse["usesIndex"];
  /** Whether its relation is there. */
  readonly has: (entry: CatalogueEntry) => boolean;
}

export interface SuggestInput {
  readonly manifest: Manifest;
  readonly options: CatalogueOptions;
  readonly dbtVersion: string | null;
  /** Null without one: what YAML says alone. */
  readonly database: SuggestDatabase | null;
  readonly usage: { readonly recorded: RecordedUsage; readonly days: number } | null;
}

/** What models and database should declare, by endpoint in the catalogue's order. */
export async function suggestionsFor(
  input: SuggestInput,
  progress: (done: number, total: number) => void = () => undefined,
): Promise<readonly Suggestion[]> {
  const catalogue = catalogueOf(input.manifest, input.options);
  const models = new Map(input.manifest.models.map((model) => [model.uniqueId, model]));
  const usageAt = usageOf(catalogue, input.usage);
  const facts = new Map<string, RelationFacts>();
  const found: Suggestion[] = [];
  const entries = catalogue.entries.filter(({ uniqueId }) => models.has(uniqueId));
  for (const [i, entry] of entries.entries()) {
    progress(i, entries.length);
    const model = models.get(entry.uniqueId);
    if (model === undefined) continue;
    const { database } = input;
    const known = database?.has(entry) === true ? await database.factsOf(entry) : NO_FACTS;
    facts.set(entry.uniqueId, known);
    found.push(
      ...suggestFilters(entry, known, usageAt(entry)),
      ...suggestSettings(entry, {
        model,
        graph: input.manifest.graph,
        semantics: input.manifest.semantics,
        facts: known,
        comments: database?.commentsOf(entry) ?? new Map(),
        couldPromise: database?.couldPromise.has(entry.path) === true,
        dbtVersion: input.dbtVersion,
      }),
    );
  }
  const settings = accepted(found, input, catalogue);
  return [
    ...settings,
    ...(await indexesFor(settings, facts, input)),
    ...(await rollUpsFor(catalogue, input)),
  ];
}

async function rollUpsFor(catalogue: Catalogue, input: SuggestInput): Promise<readonly Suggestion[]> {
  const isOfMetrics = catalogue.entries.some(({ aggregate }) => aggregate?.of === "metrics");
  if (input.database === null || !isOfMetrics) return [];
  const { loadRolledUp } = await loadMetrics();
  return suggestRollUps(catalogue, input, input.database, await loadRolledUp());
}

/** Indexes serve the filters that are suggested, too. */
async function indexesFor(
  settings: readonly Suggestion[],
  facts: ReadonlyMap<string, RelationFacts>,
  { manifest, options, database }: SuggestInput,
): Promise<readonly Suggestion[]> {
  if (database === null) return [];
  const { entries } = catalogueOf(withSettings(manifest, settings), options);
  const found: Suggestion[] = [];
  for (const entry of entries) {
    const node = manifest.graph.get(entry.uniqueId);
    const known = facts.get(entry.uniqueId);
    if (node === undefined || known === undefined || !database.has(entry)) continue;
    const { materialized, json } = node;
    const { usesIndex } = database;
    const config = objectOr(json["config"]);
    const context = { facts: known, materialized, config, usesIndex };
    found.push(...(await suggestIndexes(entry, context)), ...(await suggestTextIndexes(entry, context)));
  }
  return found;
}

/** Those with which every model is served as before: of a model that would be skipped each is tried alone. */
function accepted(
  all: readonly Suggestion[],
  { manifest, options }: SuggestInput,
  { entries }: Catalogue,
): readonly Suggestion[] {
  const isServed = (suggestions: readonly Suggestion[]): ((model: string) => boolean) => {
    const served = new Map(
      catalogueOf(withSettings(manifest, suggestions), options).entries.map((entry) => [
        entry.uniqueId,
        entry.path,
      ]),
    );
    return (model) => entries.every((entry) => entry.uniqueId !== model || served.get(model) === entry.path);
  };
  const together = isServed(all);
  return all.filter((each) => together(each.model) || isServed([each])(each.model));
}

/** The manifest as if the settings stood in it. */
function withSettings(manifest: Manifest, suggestions: readonly Suggestion[]): Manifest {
  const byModel = groupedBy(suggestions, ({ model }) => model);
  const models = manifest.models.map((model) => {
    const edits = (byModel.get(model.uniqueId) ?? []).flatMap((suggestion) => suggestion.edits);
    const { api } = model;
    return {
      ...model,
      routewright: edited(model.routewright, "routewright", edits),
      api: api && { ...api, value: edited(api.value, "api", edits) },
    };
  });
  return { ...manifest, models };
}

/** The keys of `meta.routewright` or `meta.api` as if the edits were made. */
function edited(written: unknown, place: "routewright" | "api", edits: readonly ModelEdit[]): JsonObject {
  const settings = new Map<string, unknown>(Object.entries(objectOr(written)));
  for (const { at, value, how } of edits) {
    const [meta, own, key] = at;
    if (meta !== META || own !== place || typeof key !== "string") continue;
    const known = settings.get(key);
    settings.set(key, how === "set" ? value : [...(Array.isArray(known) ? (known as unknown[]) : []), value]);
  }
  return Object.fromEntries(settings);
}

function usageOf(
  catalogue: Catalogue,
  usage: SuggestInput["usage"],
): (entry: CatalogueEntry) => EndpointUsage | null {
  if (usage === null) return () => null;
  const { recorded, days } = usage;
  const shapes = recordedShapes(catalogue, recorded.shapes ?? [], recorded.lines);
  const byRoute = groupedBy(
    recorded.lines.filter(({ parameter }) => parameter === null),
    ({ route }) => route,
  );
  return (entry) => {
    const paths = servedPaths(entry);
    const names = new Set([...entry.parameters.map(({ name }) => name), "filter"]);
    const columns = (entry.filters ?? []).map(({ column }) => column);
    const isFilter = (name: string): boolean =>
      names.has(name) || columns.some((column) => name.startsWith(`${column}[`));
    const own = paths.flatMap((path) => shapes.get(path) ?? []);
    const sum = (all: readonly { readonly requests: number }[]): number =>
      all.reduce((total, { requests }) => total + requests, 0);
    const unfiltered = own.filter((one) => ![...one.usage.byParameter.keys()].some(isFilter));
    return {
      days,
      requests: sum(paths.flatMap((path) => byRoute.get(path) ?? [])),
      unfiltered: sum(unfiltered),
    };
  };
}

/** dbt's version, as the text of a manifest that was read says it. */
export function dbtVersionIn(manifest: string): string | null {
  return textOr(objectOr(objectOr(JSON.parse(manifest))["metadata"])["dbt_version"], "") || null;
}
