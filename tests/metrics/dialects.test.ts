import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { catalogueOf } from "../../generator/catalogue/build.js";
import { parseManifest } from "../../generator/manifest/manifest.js";

type Json = Record<string, unknown>;

interface Metric extends Json {
  config: Json;
  type_params: Json & { cumulative_type_params?: Json | null };
}
interface Project extends Json {
  metadata: Json;
  nodes: Record<string, Json & { columns: Record<string, Json> }>;
  metrics: Record<string, Metric>;
  semantic_models: Record<string, Json & Record<"measures" | "dimensions" | "entities", Json[]>>;
}

const PAY = readFileSync(new URL("pay/manifest.json", import.meta.url), "utf8");

const mapValues = <T, U>(of: Record<string, T>, change: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(of).map(([key, value]) => [key, change(value)]));

/** With other filters. */
function filtered(project: Project, change: (filters: readonly Json[]) => Json): Project {
  const text = JSON.stringify(project, (_, value: unknown) => {
    const filters = (value as { readonly where_filters?: readonly Json[] } | null)?.where_filters;
    return filters === undefined ? value : change(filters);
  });
  return JSON.parse(text) as Project;
}

const SPINE = "model.pay.time_spine_daily";

/** The project pay, as far as all versions have it: a time spine by its name, one filter each, values of a period's first day. */
function common(): Project {
  const project = filtered(JSON.parse(PAY) as Project, (filters) => ({
    where_filters: filters.slice(0, 1),
  }));
  const { [SPINE]: spine, ...nodes } = project.nodes;
  const day = { ...spine?.columns["day"], name: "date_day" };
  const time_spine = { standard_granularity_column: "date_day", custom_granularities: [] };
  const metrics = Object.entries(project.metrics).filter(([, { type_params: parameters }]) => {
    const { period_agg: period = "first" } = parameters.cumulative_type_params ?? {};
    return period === "first";
  });
  return {
    ...project,
    nodes: {
      ...nodes,
      [SPINE]: { ...spine, name: "metricflow_time_spine", time_spine, columns: { date_day: day } },
    },
    metrics: mapValues(Object.fromEntries(metrics), (metric) => ({ ...metric, time_granularity: null })),
    saved_queries: {},
  };
}

/** Tags and `meta` stand beside `config`, windows beside measures; the time spine is known by its name. */
const of18 = (project: Project): Project => ({
  ...project,
  metrics: mapValues(project.metrics, ({ config: { tags, meta }, type_params: parameters, ...metric }) => {
    const { cumulative_type_params: own, ...others } = parameters;
    const accumulated = own ? { window: own["window"], grain_to_date: own["grain_to_date"] } : {};
    return { ...metric, tags, meta, config: { enabled: true }, type_params: { ...others, ...accumulated } };
  }),
  // JSON has no undefined.
  nodes: mapValues(project.nodes, (node) => ({
    ...node,
    time_spine: undefined,
    columns: mapValues(node.columns, (column) => ({ ...column, granularity: undefined })),
  })),
});

/** A filter is one text. */
const of16 = (project: Project): Project => filtered(of18(project), ([filter]) => filter ?? {});

function catalogue(project: Project) {
  const reading = parseManifest(JSON.stringify(project), "manifest.json");
  if (!reading.ok) throw new Error(reading.problems.join(" "));
  const { entries, skipped } = catalogueOf(reading.value, {});
  return { entries: entries.filter(({ aggregate }) => aggregate?.of === "metrics"), skipped };
}

it.each([
  ["1.8", "v12", of18],
  ["1.6", "v10", of16],
])("metrics of dbt %s give the same catalogue", (version, schema, written) => {
  const wanted = catalogue(common());
  expect(wanted.entries.length).toBeGreaterThan(40);
  const metadata = {
    ...common().metadata,
    dbt_version: `${version}.1`,
    dbt_schema_version: `https://schemas.getdbt.com/dbt/manifest/${schema}.json`,
  };
  const { entries, skipped } = catalogue({ ...written(common()), metadata });
  expect(skipped).toEqual(wanted.skipped);
  expect(entries.map(({ path }) => path)).toEqual(wanted.entries.map(({ path }) => path));
  for (const [i, entry] of entries.entries()) expect(entry).toEqual(wanted.entries[i]);
});

/** A project in which dbt 1.12.6 read `document.json` of Apache Ossie (0.1.1), and the same in YAML. */
const inOssie = (file: string): Project =>
  JSON.parse(readFileSync(new URL(`ossie/${file}.json`, import.meta.url), "utf8")) as Project;

/** With what a document of Ossie cannot say: the time of each metric. */
function timed(project: Project): Project {
  const text = JSON.stringify(project);
  return JSON.parse(
    text.replaceAll('"agg_time_dimension":null', '"agg_time_dimension":"ordered_at"'),
  ) as Project;
}

it("metrics of a document of Apache Ossie give the same catalogue, but for their time", () => {
  const yaml = catalogue(inOssie("manifest-yaml"));
  expect(yaml.entries.map(({ path }) => path)).toEqual(["/v1/shop/by_country", "/v1/shop/twice"]);
  expect(catalogue(timed(inOssie("manifest")))).toEqual(yaml);
  const { entries, skipped } = catalogue(inOssie("manifest"));
  expect(skipped).toEqual([]);
  const groups = entries.map(({ aggregate }) => aggregate?.measures[0]?.groups.map(({ name }) => name));
  const wanted = yaml.entries.map(({ aggregate }) =>
    aggregate?.measures[0]?.groups.flatMap(({ name }) => (name.startsWith("metric_time") ? [] : [name])),
  );
  expect(groups).toEqual(wanted);
});

it("private columns and own rows of models hold for metrics of Ossie", () => {
  const project = inOssie("manifest");
  const { ["model.shop.orders"]: orders } = project.nodes;
  const private_ = { name: "status", meta: { pii: true }, config: { meta: { pii: true } } };
  const rows = { routewright: { rows: { column: "customer_id", equals: "org" } } };
  const marked = {
    ...orders,
    columns: { status: private_, customer_id: { name: "customer_id", data_type: "text" } },
    config: { materialized: "table", meta: rows },
    meta: rows,
  };
  const { entries } = catalogue({ ...project, nodes: { ...project.nodes, "model.shop.orders": marked } });
  const twice = entries.find(({ path }) => path === "/v1/shop/twice");
  expect(twice?.aggregate?.measures[0]?.groups.map(({ name }) => name)).not.toContain("order_id__status");
  expect(twice?.aggregate?.relations.find(({ name }) => name === "orders")?.rows).toEqual({
    column: "customer_id",
    equals: "org",
  });
});

it("a metric with a calculation_method is skipped with what to do", () => {
  const volume = {
    name: "volume",
    calculation_method: "sum",
    expression: "amount",
    tags: ["production", "pay", "api:volume"],
    config: { enabled: true },
    type_params: {},
    depends_on: { nodes: ["model.pay.payments"] },
  };
  const { skipped } = catalogue({ ...common(), metrics: { "metric.pay.volume": volume } });
  expect(skipped.flatMap(({ problems }) => problems.map(({ message }) => message))).toEqual([
    "It has a calculation_method, as metrics before dbt 1.6. Write it as a metric of a semantic model (dbt 1.6 or later).",
  ]);
});
