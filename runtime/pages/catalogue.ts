import { setImmediate } from "node:timers/promises";
import { operatorsOf } from "../model/column-filters.js";
import type { Endpoint } from "../model/endpoint.js";
import { type CallerAccess, allows, mayCall, type Tier, TIERS } from "../model/tier.js";
import type {
  Build,
  CatalogueBody,
  CatalogueColumn,
  CatalogueEndpoint,
  CatalogueParameter,
  CatalogueScope,
  LineageNode,
} from "./catalogue-body.js";
import { buildOf, type DbtResults, NO_RESULTS, testsOf } from "./dbt-results.js";
import {
  type EndpointRecord,
  type LineageFile,
  type LineageNodes,
  parseObject,
  readCatalogue,
} from "./read-catalogue.js";

/** The input of a release's catalogue (runtime/docs/catalogue.md). */
export interface CatalogueSource {
  /** Title of the API. */
  readonly title: string;
  readonly endpoints: Iterable<Endpoint>;
  /** Text of `catalogue.json`: descriptions. */
  readonly catalogue: string;
  /** Text of `lineage.json`. */
  readonly lineage: string;
  readonly results: DbtResults;
  /** The lowest tier that sees names of upstream nodes; null: none. */
  readonly lineageTier: Tier | null;
  readonly scope: CatalogueScope;
}

/** The catalogue for a caller, as an object and as JSON. */
export async function catalogueFor(source: CatalogueSource, caller: CallerAccess) {
  const body = await catalogueBody(source, caller);
  const { endpoints, lineage, ...rest } = body;
  const listOf = async (items: readonly object[]): Promise<string> =>
    `[${(await mapInSlices(items, (item) => JSON.stringify(item))).join(",")}]`;
  const lists = `"endpoints":${await listOf(endpoints)},"lineage":${lineage ? await listOf(lineage) : "null"}`;
  return { body, text: `${JSON.stringify(rest).slice(0, -1)},${lists}}` };
}

async function catalogueBody(source: CatalogueSource, caller: CallerAccess): Promise<CatalogueBody> {
  const { tier } = caller;
  const isCallable = (endpoint: Endpoint): boolean => mayCall(caller, endpoint.path, endpoint.tier);
  const file = await readCatalogue(source.catalogue);
  const records = new Map(file.endpoints?.map((record) => [record.path, record]));
  await setImmediate();
  const lineage = (parseObject(source.lineage) as LineageFile).nodes ?? {};
  const all = [...source.endpoints];
  const visible = source.scope === "public" ? all : all.filter(isCallable);
  const endpoints = await mapInSlices(visible, (endpoint) => {
    const record = records.get(endpoint.path);
    return isCallable(endpoint)
      ? endpointOf(endpoint, record, lineage, source.results)
      : withoutData(endpointOf(endpoint, record, {}, NO_RESULTS));
  });
  const categories = new Set(endpoints.map(({ category }) => category));
  const seesLineage = source.lineageTier !== null && allows(tier, source.lineageTier);
  return {
    title: source.title,
    tier,
    endpoints,
    locked: lockedCounts(all, tier),
    categories: Object.fromEntries(
      Object.entries(file.categories ?? {}).filter(([name]) => categories.has(name)),
    ),
    lineage: seesLineage
      ? await withAncestors(
          endpoints.filter(({ callable }) => callable).map(({ node }) => node),
          lineage,
          source.results,
        )
      : null,
  };
}

/** What a caller may see of an endpoint that it may not call. */
function withoutData(endpoint: CatalogueEndpoint): CatalogueEndpoint {
  const columns = endpoint.columns.map((column) => ({ ...column, example: undefined }));
  return { ...endpoint, callable: false, columns };
}

/** The part of a catalogue that its caller may call. */
export function callablePart(body: CatalogueBody): CatalogueBody {
  const endpoints = body.endpoints.filter(({ callable }) => callable);
  const present = new Set(endpoints.map(({ category }) => category));
  const categories = Object.entries(body.categories).filter(([name]) => present.has(name));
  return { ...body, endpoints, categories: Object.fromEntries(categories) };
}

function endpointOf(
  endpoint: Endpoint,
  record: EndpointRecord | undefined,
  lineage: LineageNodes,
  results: DbtResults,
): CatalogueEndpoint {
  const { model, path, tier, methods, legacy, pagination, sort, sortableFields, upstreamNodes } = endpoint;
  const node = record?.uniqueId ?? model;
  const [, , category = "", resource = ""] = path.split("/");
  return {
    path,
    model,
    node,
    category: record?.category ?? category,
    resource: record?.resource ?? resource,
    granularity: record?.granularity ?? null,
    window: record?.window ?? null,
    tier,
    callable: true,
    description: record?.description ?? "",
    synonyms: record?.synonyms ?? [],
    methods,
    columns: columnsOf(endpoint, record),
    parameters: legacy ? null : parametersOf(endpoint, record),
    ...(endpoint.filters && {
      filters: endpoint.filters.map(({ column, type }) => ({ column, operators: operatorsOf(type) })),
    }),
    ...(endpoint.fields && { fields: endpoint.fields }),
    ...(endpoint.cursor && { cursor: endpoint.cursor }),
    ...(endpoint.rows && { own_rows: { column: endpoint.rows.column } }),
    require_any_of: requiredOf(endpoint),
    pagination: pagination && {
      default_limit: pagination.defaultLimit,
      max_limit: pagination.maxLimit,
      response: pagination.response,
    },
    sort,
    sortable_fields: sortableFields,
    deprecation_date: endpoint.deprecationDate,
    successor: endpoint.successor,
    ...(endpoint.formerPaths && { former_paths: endpoint.formerPaths }),
    data_as_of: results.dataAsOf(upstreamNodes),
    last_build: ownBuild(endpoint, buildOf(node, results)),
    tests: testsOf(ownValue(lineage, node)?.tests, results),
  };
}

function columnsOf({ columns }: Endpoint, record: EndpointRecord | undefined): readonly CatalogueColumn[] {
  const records = new Map(record?.columns.map((column) => [column.name, column]));
  return columns.map(({ name, type }) => {
    const { description = "", acceptedValues, example } = records.get(name) ?? {};
    return {
      name,
      type,
      description,
      ...(acceptedValues && { accepted_values: acceptedValues }),
      ...(example !== undefined && { example }),
    };
  });
}

function parametersOf(
  { parameters }: Endpoint,
  record: EndpointRecord | undefined,
): readonly CatalogueParameter[] {
  const descriptions = new Map(record?.parameters.map(({ name, description }) => [name, description]));
  return parameters.map((parameter) => {
    const { name, column, operator, type } = parameter;
    const description = descriptions.get(name) ?? "";
    const values = "values" in parameter ? parameter.values : undefined;
    return { name, column, operator, type, description, ...(values && { accepted_values: values }) };
  });
}

/** The number of rows of all organizations is no caller's. */
function ownBuild({ rows }: Endpoint, build: Build | null): Build | null {
  return rows === undefined || build === null ? build : { ...build, rows: null };
}

function requiredOf({
  requireAnyOf,
  allowUnfiltered,
  parameters,
  filters = [],
}: Endpoint): readonly string[] {
  if (requireAnyOf.length > 0 || allowUnfiltered) return requireAnyOf;
  return [...parameters.map(({ name }) => name), ...filters.map(({ column }) => column)];
}

/** Number of endpoints of each higher tier. */
function lockedCounts(endpoints: readonly Endpoint[], tier: Tier): Partial<Record<Tier, number>> {
  const counts = TIERS.filter((each) => !allows(tier, each)).map((each) => [
    each,
    endpoints.filter((endpoint) => endpoint.tier === each).length,
  ]);
  return Object.fromEntries(counts.filter(([, count]) => count !== 0)) as Partial<Record<Tier, number>>;
}

/** The models and all nodes that they depend on, with their builds and tests. */
function withAncestors(
  models: readonly string[],
  lineage: LineageNodes,
  results: DbtResults,
): Promise<readonly LineageNode[]> {
  const reached = new Set(models);
  // The iteration includes ids that are added during it.
  for (const id of reached) for (const parent of ownValue(lineage, id)?.parents ?? []) reached.add(parent);
  return mapInSlices([...reached].sort(), (id) => {
    const [kind = "", , ...name] = id.split(".");
    const { parents = [], tests } = ownValue(lineage, id) ?? {};
    return {
      id,
      name: name.join(".") || id,
      kind,
      parents,
      last_build: buildOf(id, results)?.completed_at ?? null,
      tests: testsOf(tests, results),
    };
  });
}

/** Items per slice; other requests run between slices. */
const SLICE = 200;

/** Maps a long list without blocking the event loop for long. */
async function mapInSlices<T, U>(items: readonly T[], map: (item: T) => U): Promise<U[]> {
  const mapped: U[] = [];
  for (const item of items) {
    mapped.push(map(item));
    if (mapped.length % SLICE === 0) await setImmediate();
  }
  return mapped;
}

/** The value of an own property: dbt ids could also name inherited ones, such as `constructor`. */
function ownValue<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
