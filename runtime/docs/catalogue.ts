import type { Endpoint, Parameter } from "../model/endpoint.js";
import { allows, type Tier, TIERS } from "../model/tier.js";

/** What the catalogue of a release is made from (runtime/README.md, Catalogue). */
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
}

/** What dbt's `run_results.json` have said so far. */
export interface DbtResults {
  buildOf(node: string): {
    readonly completedAt: number;
    readonly rows?: number | null;
    readonly failed?: true;
  } | null;
  testRun(test: string): TestResult | null;
  /** When the rows of an endpoint were last built, RFC 3339; null where that is not known. */
  dataAsOf(upstreamNodes: readonly string[] | null): string | null;
}

interface TestResult {
  readonly status: "pass" | "warn" | "fail" | "error";
  readonly completedAt: number;
  readonly failures: number | null;
}

/** Body of `GET /v1/system/catalogue`. */
export interface CatalogueBody {
  readonly title: string;
  /** The caller's. */
  readonly tier: Tier;
  /** Endpoints that the caller may call, in the documented order. */
  readonly endpoints: readonly CatalogueEndpoint[];
  /** How many more endpoints each higher tier opens. */
  readonly locked: Readonly<Partial<Record<Tier, number>>>;
  /** Text about each category that has one. */
  readonly categories: Readonly<Record<string, string>>;
  /** The nodes that the endpoints' models are made from; null where the caller's tier does not see them. */
  readonly lineage: readonly LineageNode[] | null;
}

export interface CatalogueEndpoint {
  readonly path: string;
  readonly model: string;
  /** The model's `id` in `lineage`. */
  readonly node: string;
  readonly category: string;
  readonly resource: string;
  readonly granularity: string | null;
  readonly window: string | null;
  readonly tier: Tier;
  readonly description: string;
  readonly methods: readonly string[];
  readonly columns: readonly CatalogueColumn[];
  /** Null for an endpoint that takes no parameters at all. */
  readonly parameters: readonly CatalogueParameter[] | null;
  /** At least one of these is required; empty: none. */
  readonly require_any_of: readonly string[];
  readonly pagination: {
    readonly default_limit: number;
    readonly max_limit: number;
    readonly response: "list" | "envelope";
  } | null;
  readonly sort: readonly (readonly [column: string, direction: string])[];
  readonly sortable_fields: readonly string[];
  readonly deprecation_date: string | null;
  readonly successor: string | null;
  /** As in `X-Data-As-Of`. */
  readonly data_as_of: string | null;
  readonly last_build: Build | null;
  /** Null where the model has no tests. */
  readonly tests: TestSummary | null;
}

export interface CatalogueColumn {
  readonly name: string;
  /** The database type; null where the model declares none. */
  readonly type: string | null;
  readonly description: string;
  readonly accepted_values?: readonly string[];
}

export interface CatalogueParameter {
  readonly name: string;
  readonly column: string;
  readonly operator: Parameter["operator"];
  readonly type: Parameter["type"];
  readonly description: string;
  /** The only values that are accepted. */
  readonly accepted_values?: readonly string[];
}

export interface Build {
  /** RFC 3339, in UTC. */
  readonly completed_at: string;
  /** Rows that the build wrote; null where dbt does not say. */
  readonly rows: number | null;
  /** It failed while it ran: the rows may be those of before. */
  readonly failed: boolean;
}

export interface TestSummary {
  readonly passed: number;
  readonly warned: number;
  /** Failed, or could not run. */
  readonly failed: number;
  /** No result is known. */
  readonly unknown: number;
  /** When the last of them ran; null where none has. */
  readonly completed_at: string | null;
  /** Those that did not pass. */
  readonly problems: readonly {
    readonly name: string;
    readonly status: "warn" | "fail" | "error";
    readonly failures: number | null;
  }[];
}

export interface LineageNode {
  /** dbt's `unique_id`. */
  readonly id: string;
  readonly name: string;
  /** `model`, `seed`, `snapshot`, `source`, … */
  readonly kind: string;
  readonly parents: readonly string[];
  readonly last_build: string | null;
  readonly tests: TestSummary | null;
}

/** The catalogue as a caller of a tier sees it. */
export function catalogueBody(source: CatalogueSource, tier: Tier): CatalogueBody {
  const file = parsed(source.catalogue) as CatalogueFile;
  const records = new Map(file.endpoints?.map((record) => [record.path, record]));
  const lineage = (parsed(source.lineage) as LineageFile).nodes ?? {};
  const all = [...source.endpoints];
  const visible = all.filter((endpoint) => allows(tier, endpoint.tier));
  const endpoints = visible.map((endpoint) =>
    endpointOf(endpoint, records.get(endpoint.path), lineage, source.results),
  );
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
      ? nodesAbove(
          endpoints.map(({ node }) => node),
          lineage,
          source.results,
        )
      : null,
  };
}

/** What of `catalogue.json` is read; the endpoint itself comes from the module in service. */
interface CatalogueFile {
  readonly endpoints?: readonly EndpointRecord[];
  readonly categories?: Readonly<Record<string, string>>;
}

interface EndpointRecord {
  readonly path: string;
  readonly uniqueId: string;
  readonly category: string;
  readonly resource: string;
  readonly granularity: string | null;
  readonly window: string | null;
  readonly description: string;
  readonly columns: readonly {
    readonly name: string;
    readonly description?: string;
    readonly acceptedValues?: readonly string[];
  }[];
  readonly parameters: readonly { readonly name: string; readonly description?: string }[];
}

interface LineageFile {
  readonly nodes?: LineageNodes;
}

type LineageNodes = Readonly<
  Record<string, { readonly parents: readonly string[]; readonly tests: readonly string[] }>
>;

/** The generator wrote these files; one that was damaged since then describes nothing. */
function parsed(text: string): object {
  try {
    return JSON.parse(text) as object;
  } catch {
    return {};
  }
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
    description: record?.description ?? "",
    methods,
    columns: columnsOf(endpoint, record),
    parameters: legacy ? null : parametersOf(endpoint, record),
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
    data_as_of: results.dataAsOf(upstreamNodes),
    last_build: buildOf(node, results),
    tests: testsOf(own(lineage, node)?.tests, results),
  };
}

function columnsOf({ columns }: Endpoint, record: EndpointRecord | undefined): readonly CatalogueColumn[] {
  const records = new Map(record?.columns.map((column) => [column.name, column]));
  return columns.map(({ name, type }) => {
    const { description = "", acceptedValues } = records.get(name) ?? {};
    return { name, type, description, ...(acceptedValues && { accepted_values: acceptedValues }) };
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

function requiredOf({ requireAnyOf, allowUnfiltered, parameters }: Endpoint): readonly string[] {
  if (requireAnyOf.length > 0 || allowUnfiltered) return requireAnyOf;
  return parameters.map(({ name }) => name);
}

function lockedCounts(endpoints: readonly Endpoint[], tier: Tier): Partial<Record<Tier, number>> {
  const counts = TIERS.filter((each) => !allows(tier, each)).map((each) => [
    each,
    endpoints.filter((endpoint) => endpoint.tier === each).length,
  ]);
  return Object.fromEntries(counts.filter(([, count]) => count !== 0)) as Partial<Record<Tier, number>>;
}

function nodesAbove(
  models: readonly string[],
  lineage: LineageNodes,
  results: DbtResults,
): readonly LineageNode[] {
  const reached = new Set(models);
  // A set can be extended while it is walked.
  for (const id of reached) for (const parent of own(lineage, id)?.parents ?? []) reached.add(parent);
  return [...reached].sort().map((id) => {
    const [kind = "", , ...name] = id.split(".");
    const { parents = [], tests } = own(lineage, id) ?? {};
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

function own<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function buildOf(node: string, results: DbtResults): Build | null {
  const build = results.buildOf(node);
  if (build === null) return null;
  const { completedAt, rows = null, failed = false } = build;
  return { completed_at: instant(completedAt), rows, failed };
}

function testsOf(tests: readonly string[] | undefined, results: DbtResults): TestSummary | null {
  if (tests === undefined || tests.length === 0) return null;
  const runs = tests.flatMap((test) => {
    const run = results.testRun(test);
    return run === null ? [] : [{ name: nameOfTest(test), ...run }];
  });
  const count = (...statuses: readonly string[]): number =>
    runs.filter(({ status }) => statuses.includes(status)).length;
  return {
    passed: count("pass"),
    warned: count("warn"),
    failed: count("fail", "error"),
    unknown: tests.length - runs.length,
    completed_at: runs.length === 0 ? null : instant(Math.max(...runs.map(({ completedAt }) => completedAt))),
    problems: runs.flatMap(({ name, status, failures }) =>
      status === "pass" ? [] : [{ name, status, failures }],
    ),
  };
}

/** `test.shop.not_null_orders_id.cf6c17daed` → `not_null_orders_id`. */
function nameOfTest(test: string): string {
  return test.split(".")[2] ?? test;
}

function instant(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
