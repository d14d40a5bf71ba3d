import type { ApiAbout } from "../core/model/about.js";
import { operatorsOf } from "../core/model/column-operators.js";
import type { Aggregate } from "../core/model/aggregate/aggregate.js";
import type { ColumnFilter, Endpoint } from "../core/model/endpoint.js";
import { type Caller, mayCall } from "../core/model/caller.js";
import { allows, type Tier, TIERS } from "../core/model/tier.js";
import { type LineageNodes, lineageIn } from "../core/model/served-lineage.js";
import { endpointTitle } from "../core/model/endpoint-title.js";
import { ownValue } from "../core/model/own-value.js";
import { rowOf } from "../core/response/read-rows.js";
import { qualityOf } from "../core/warehouse/data-quality.js";
import { BuildRecords } from "../core/warehouse/data-versions.js";
import type {
  Build,
  CatalogueBody,
  CatalogueColumn,
  CatalogueEndpoint,
  CatalogueParameter,
  CatalogueScope,
  UpstreamNode,
} from "./catalogue-body.js";
import { freshnessOf, testsOf, withTests } from "./summaries.js";

/** The part of `catalogue.json` that is read; the endpoint itself comes from the active release. */
interface EndpointRecord {
  readonly path: string;
  readonly uniqueId: string;
  readonly category: string;
  readonly resource: string;
  readonly granularity: string | null;
  readonly window: string | null;
  readonly description: string;
  readonly title?: string;
  readonly synonyms?: readonly string[];
  readonly stability?: "preview";
  readonly enforced?: readonly string[];
  readonly version?: string;
  readonly successorChanges?: readonly string[];
  readonly columns: readonly {
    readonly name: string;
    readonly description?: string;
    readonly acceptedValues?: readonly string[];
    readonly example?: unknown;
  }[];
  readonly parameters: readonly { readonly name: string; readonly description?: string }[];
  readonly aggregate?: {
    readonly measures: readonly {
      readonly name: string;
      readonly label?: string;
      readonly description?: string;
    }[];
  };
}

/** The input of a release's catalogue (runtime/docs/catalogue.md). */
export interface CatalogueSource {
  /** Title of the API. */
  readonly title: string;
  readonly about: ApiAbout;
  readonly endpoints: Iterable<Endpoint>;
  /** Text of `catalogue.json`: descriptions. */
  readonly catalogue: string;
  /** Text of `lineage.json`. */
  readonly lineage: string;
  readonly results: BuildRecords;
  /** A real row of a public endpoint, as JSON; null where there is none. */
  readonly exampleAt: (path: string) => string | null;
  /** The lowest tier that sees names of upstream nodes; null: none. */
  readonly lineageTier: Tier | null;
  readonly scope: CatalogueScope;
}

/** The catalogue for a caller. */
export function catalogueFor(
  source: CatalogueSource,
  caller: Pick<Caller, "tier" | "allowed">,
): CatalogueBody {
  const { tier } = caller;
  const isCallable = (endpoint: Endpoint): boolean => mayCall(caller, endpoint.path, endpoint.tier);
  const file = parseObject(source.catalogue) as {
    readonly endpoints?: readonly EndpointRecord[];
    readonly categories?: Readonly<Record<string, string>>;
  };
  const records = new Map(file.endpoints?.map((record) => [record.path, record]));
  const {
    nodes: lineage = {},
    upstreamNodes = {},
    rowNodes = {},
    tests = {},
    checkedNodes = {},
  } = lineageIn(source.lineage);
  const seesLineage = source.lineageTier !== null && allows(tier, source.lineageTier);
  const all = [...source.endpoints];
  const visible = source.scope === "public" ? all : all.filter(isCallable);
  const names = new Set<string | null>(visible.map(({ path }) => path));
  const endpoints = visible.map((each) => {
    const known = records.get(each.path);
    const isNamed = source.scope === "public" || names.has(each.successor);
    const endpoint = isNamed ? each : { ...each, successor: null };
    const record = isNamed ? known : withoutSuccessor(known);
    if (!isCallable(endpoint))
      return { ...endpointOf(endpoint, record, {}, new BuildRecords(), null), callable: false };
    const { path } = endpoint;
    const nodes = ownValue(upstreamNodes, path) ?? [];
    const data_as_of = source.results.dataAsOf(path, nodes);
    const tested = ownValue(tests, path) ?? {};
    const quality = qualityOf(source.results, path, Object.keys(tested), nodes);
    const row = source.exampleAt(endpoint.path);
    const freshness = freshnessOf(endpoint, source.results, seesLineage, {
      rowNodes: ownValue(rowNodes, path) ?? [],
      checkedNodes: ownValue(checkedNodes, path) ?? [],
    });
    const described = endpointOf(endpoint, record, lineage, source.results, row);
    return {
      ...described,
      ...freshness,
      ...(quality && { quality: quality.state }),
      data_as_of,
      columns: withTests(described.columns, tested, source.results),
    };
  });
  const models = endpoints.filter(({ callable }) => callable).map(({ node }) => node);
  return {
    title: source.title,
    about: aboutOf(source.about),
    tier,
    categories: [...new Set(endpoints.map(({ category }) => category))].map((name) => ({
      name,
      description: ownValue(file.categories ?? {}, name) ?? "",
    })),
    endpoints,
    locked: lockedCounts(all, tier),
    lineage: seesLineage ? withAncestors(models, lineage, source.results) : null,
  };
}

/** What changes for those who move, to an endpoint of which the caller does not know. */
function withoutSuccessor(record: EndpointRecord | undefined): EndpointRecord | undefined {
  if (record === undefined) return undefined;
  const members = Object.entries(record).filter(([name]) => name !== "successorChanges");
  return Object.fromEntries(members) as unknown as EndpointRecord;
}

function aboutOf({ description = "", contact, termsOfService }: ApiAbout): CatalogueBody["about"] {
  return { description, contact: contact ?? null, terms_of_service: termsOfService ?? null };
}

function endpointOf(
  endpoint: Endpoint,
  record: EndpointRecord | undefined,
  lineage: LineageNodes,
  results: BuildRecords,
  row: string | null,
): CatalogueEndpoint {
  const { model, path, tier, methods, legacy, pagination, sort, sortableFields, columns } = endpoint;
  const node = record?.uniqueId ?? model;
  const [, , category = "", resource = ""] = path.split("/");
  const build = buildOf(node, results);
  const parts = {
    category: record?.category ?? category,
    resource: record?.resource ?? resource,
    granularity: record?.granularity ?? null,
    window: record?.window ?? null,
  };
  return {
    path,
    title: endpointTitle({ ...parts, columns, ...(record?.title && { title: record.title }) }),
    model,
    node,
    ...parts,
    tier,
    callable: true,
    description: record?.description ?? "",
    synonyms: record?.synonyms ?? [],
    ...(record?.stability && { stability: record.stability }),
    ...(record?.enforced && { enforced: record.enforced }),
    methods,
    columns: columnsOf(endpoint, record, row),
    parameters: legacy ? null : parametersOf(endpoint, record),
    ...(endpoint.filters && {
      filters: endpoint.filters.map(filterOf),
    }),
    ...(endpoint.filter && { filter: endpoint.filter }),
    ...(endpoint.aggregate && { aggregate: aggregateOf(endpoint.aggregate, record) }),
    ...(endpoint.fields && { fields: endpoint.fields }),
    ...(endpoint.onFailedTest && { on_failed_test: endpoint.onFailedTest }),
    ...(endpoint.requireFresh && { require_fresh: true as const }),
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
    ...(endpoint.goneAt && { gone_at: endpoint.goneAt }),
    successor: endpoint.successor,
    ...(record?.successorChanges && { successor_changes: record.successorChanges }),
    ...(record?.version !== undefined && { version: record.version }),
    ...(endpoint.versionPath && { version_path: endpoint.versionPath }),
    ...(endpoint.formerPaths && { former_paths: endpoint.formerPaths }),
    data_as_of: null,
    // The number of rows of all organizations is no caller's.
    last_build: build && endpoint.rows ? { ...build, rows: null } : build,
    tests: testsOf(ownValue(lineage, node)?.tests, results),
  };
}

const filterOf = ({ column, type }: ColumnFilter) => ({ column, type, operators: operatorsOf(type) });

/** What can be summed and counted by group; a saved query has its own groups. */
function aggregateOf(
  { of, rows, saved, measures, filters }: Aggregate,
  record: EndpointRecord | undefined,
): NonNullable<CatalogueEndpoint["aggregate"]> {
  const records = new Map(record?.aggregate?.measures.map((measure) => [measure.name, measure]));
  const groups = new Map(
    measures.flatMap((measure) => measure.groups.map((group) => [group.name, group] as const)),
  );
  const own = saved?.groups.map(({ name, grain }) => ({ name, ...(grain && { grains: [grain] }) }));
  return {
    of,
    rows: of === "measures" && rows !== false,
    is_saved: saved !== undefined,
    groups: own ?? [...groups.values()].map(({ name, grains }) => ({ name, ...(grains && { grains }) })),
    measures: measures.map(({ name, groups: all }) => {
      const { label = null, description = "" } = records.get(name) ?? {};
      return { name, label, description, groups: (own ?? all).map((group) => group.name) };
    }),
    filters: filters.map(filterOf),
  };
}

/** Examples are those of a real row, else the project's own. */
function columnsOf(
  { columns }: Endpoint,
  record: EndpointRecord | undefined,
  row: string | null,
): readonly CatalogueColumn[] {
  const shown = row === null ? {} : rowOf(row);
  const records = new Map(record?.columns.map((column) => [column.name, column]));
  return columns.map(({ name, type }) => {
    const { description = "", acceptedValues: values, example: own } = records.get(name) ?? {};
    const example = ownValue(shown, name) ?? own;
    return {
      ...{ name, type, description, ...(values && { accepted_values: values }) },
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
  const counts: Partial<Record<Tier, number>> = {};
  for (const each of TIERS)
    if (!allows(tier, each) && endpoints.some((endpoint) => endpoint.tier === each))
      counts[each] = endpoints.filter((endpoint) => endpoint.tier === each).length;
  return counts;
}

/** The models and all nodes that they depend on, with their builds and tests. */
function withAncestors(
  models: readonly string[],
  lineage: LineageNodes,
  results: BuildRecords,
): readonly UpstreamNode[] {
  const reached = new Set(models);
  // The iteration includes ids that are added during it.
  for (const id of reached) for (const parent of ownValue(lineage, id)?.parents ?? []) reached.add(parent);
  return [...reached].sort().map((id) => {
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

function buildOf(node: string, results: BuildRecords): Build | null {
  const build = results.builds.get(node);
  if (build === undefined) return null;
  const { completedAt, rows = null, failed = false } = build;
  return { completed_at: new Date(completedAt).toISOString(), rows, failed };
}

/** A damaged file counts as empty. */
function parseObject(text: string): object {
  try {
    return JSON.parse(text) as object;
  } catch {
    return {};
  }
}
