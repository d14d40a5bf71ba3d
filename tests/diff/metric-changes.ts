import { type Edit, type Raw, row, type Row } from "./feature-model.js";
import { ROLL_UP_CHANGE } from "./roll-up-change.js";

const tags = (resource: string): readonly string[] => ["production", "shop", `api:${resource}`, "tier1"];

function semanticModel(name: string, more: object): Raw {
  return {
    name,
    depends_on: { nodes: [`model.shop.${name}`] },
    node_relation: { alias: name, schema_name: "analytics" },
    measures: [],
    dimensions: [],
    ...more,
  };
}

function metric(name: string, type: string, type_params: object, more: object = {}): Raw {
  return {
    [`metric.shop.${name}`]: {
      name,
      label: name,
      type,
      type_params,
      config: { tags: tags(name), meta: { routewright: { group_by: "all" } } },
      ...more,
    },
  };
}

/** Metrics beside the model: their rows are joined to customers. */
const measured: Edit = (_, manifest) => {
  const node = (name: string, more: object = {}): Raw => ({
    resource_type: "model",
    name,
    alias: name,
    schema: "analytics",
    tags: [],
    columns: {},
    config: { materialized: "table", meta: {} },
    ...more,
  });
  Object.assign(manifest.nodes, {
    "model.shop.orders": node("orders", {
      columns: {
        amount: { name: "amount", data_type: "numeric" },
        ordered_on: { name: "ordered_on", data_type: "date" },
      },
    }),
    "model.shop.customers": node("customers", {
      config: { meta: { routewright: { rows: { column: "org_id", equals: "org" } } } },
    }),
    "model.shop.days": node("days", {
      columns: { day: { name: "day", granularity: "day" } },
      time_spine: { standard_granularity_column: "day" },
    }),
  });
  manifest.semantic_models = {
    "semantic_model.shop.orders": semanticModel("orders", {
      defaults: { agg_time_dimension: "ordered_on" },
      entities: [
        { name: "order", type: "primary", expr: "order_id" },
        { name: "customer", type: "foreign", expr: "customer_id" },
      ],
      dimensions: [
        { name: "status", type: "categorical" },
        { name: "ordered_on", type: "time", type_params: { time_granularity: "day" } },
      ],
      measures: [
        { name: "amount", agg: "sum", expr: "amount" },
        { name: "orders", agg: "count", expr: "order_id" },
      ],
    }),
    "semantic_model.shop.customers": semanticModel("customers", {
      entities: [{ name: "customer", type: "primary", expr: "id" }],
      dimensions: [{ name: "region", type: "categorical" }],
    }),
  };
  manifest.metrics = {
    ...metric("revenue", "simple", { measure: { name: "amount" } }),
    ...metric(
      "paid",
      "simple",
      { measure: { name: "amount", fill_nulls_with: 0, join_to_timespine: true } },
      { filter: { where_filters: [{ where_sql_template: "{{ Dimension('order__status') }} = 'paid'" }] } },
    ),
    ...metric("running", "cumulative", {
      measure: { name: "amount" },
      cumulative_type_params: { window: { count: 7, granularity: "day" } },
    }),
    ...metric("growth", "derived", {
      expr: "now - before",
      metrics: [
        { name: "revenue", alias: "now" },
        { name: "revenue", alias: "before", offset_window: { count: 1, granularity: "month" } },
      ],
    }),
  };
  manifest.saved_queries = {
    "saved_query.shop.by_region": {
      name: "by_region",
      query_params: {
        metrics: ["revenue"],
        group_by: ["Dimension('customer__region')"],
        order_by: ["-revenue"],
        limit: 10,
      },
      config: { tags: tags("by_region") },
    },
  };
};

const metrics = (
  change: string,
  edit: (manifest: Raw) => void,
  there: readonly string[] | string,
  back: readonly string[] | string = there,
) => row(change, (_, manifest) => edit(manifest), there, back, measured);

const typeOf = (manifest: Raw, name: string): Raw => manifest.metrics[`metric.shop.${name}`].type_params;
const modelOf = (manifest: Raw, name: string): Raw => manifest.semantic_models[`semantic_model.shop.${name}`];
const queryOf = (manifest: Raw): Raw => manifest.saved_queries["saved_query.shop.by_region"].query_params;

const partsOfDays = (time: string): readonly string[] =>
  ["day", "dow", "doy"].map((part) => `${time}__extract_${part}`);

const extracts = (time: string): readonly string[] => [
  ...partsOfDays(time),
  ...["month", "quarter", "year"].map((part) => `${time}__extract_${part}`),
];

/** Changes of dbt metrics and saved queries. */
export const METRIC_CHANGES: readonly Row[] = [
  metrics(...ROLL_UP_CHANGE),
  metrics(
    "a metric goes",
    ({ metrics }) => delete metrics["metric.shop.running"],
    ["endpoint-removed"],
    ["endpoint-added"],
  ),
  metrics(
    "a metric joins the path of another",
    ({ metrics }) => (metrics["metric.shop.running"].config.tags = tags("revenue")),
    ["default-measures-narrowed", "endpoint-removed", "measure-added running", "description-changed"],
    ["measure-removed running", "description-changed", "endpoint-added"],
  ),
  row(
    "a private metric joins the path of another",
    (_, { metrics }) => (metrics["metric.shop.running"].config.tags = tags("revenue")),
    ["measure-exposed running", "default-measures-narrowed", "endpoint-removed", "description-changed"],
    ["measure-removed running", "description-changed", "endpoint-added"],
    (model, manifest) => {
      measured(model, manifest);
      manifest.metrics["metric.shop.running"].config.meta.pii = true;
    },
  ),
  metrics(
    "the expression of a measure changes",
    (m) => (modelOf(m, "orders").measures[0].expr = "amount * 2"),
    [
      "meaning-changed revenue",
      "column-retyped revenue",
      "meaning-changed growth",
      "meaning-changed paid",
      "column-retyped paid",
      "meaning-changed running",
      "column-retyped running",
    ],
    [
      "meaning-changed revenue",
      "meaning-changed growth",
      "meaning-changed paid",
      "meaning-changed running",
      "column-narrowed revenue",
      "column-narrowed paid",
      "column-narrowed running",
    ],
  ),
  metrics(
    "the filter of a metric changes",
    ({ metrics }) =>
      (metrics["metric.shop.paid"].filter.where_filters[0].where_sql_template =
        "{{ Dimension('order__status') }} = 'open'"),
    ["meaning-changed paid"],
    ["meaning-changed paid"],
  ),
  metrics(
    "a join is by another key",
    (m) => (modelOf(m, "orders").entities[1].expr = "buyer_id"),
    ["meaning-changed customer__region", "meaning-changed customer", "meaning-changed order__customer"],
    ["meaning-changed customer__region", "meaning-changed customer", "meaning-changed order__customer"],
  ),
  metrics(
    "a joined dimension is another column",
    (m) => (modelOf(m, "customers").dimensions[0].expr = "area"),
    ["meaning-changed customer__region"],
    ["meaning-changed customer__region"],
  ),
  metrics(
    "null is filled with another number",
    (m) => (typeOf(m, "paid").measure.fill_nulls_with = 1),
    ["meaning-changed paid"],
    ["meaning-changed paid"],
  ),
  metrics(
    "periods without rows are left out",
    (m) => (typeOf(m, "paid").measure.join_to_timespine = false),
    ["meaning-changed paid"],
    ["meaning-changed paid"],
  ),
  metrics(
    "a window is longer",
    (m) => (typeOf(m, "running").cumulative_type_params.window.count = 28),
    ["meaning-changed running"],
    ["meaning-changed running"],
  ),
  metrics(
    "a formula changes",
    (m) => (typeOf(m, "growth").expr = "(now - before) / before"),
    ["meaning-changed growth"],
    ["meaning-changed growth"],
  ),
  metrics(
    "an offset is longer",
    (m) => (typeOf(m, "growth").metrics[1].offset_window.count = 3),
    ["meaning-changed growth"],
    ["meaning-changed growth"],
  ),
  metrics(
    "the time spine is another table",
    ({ nodes }) => (nodes["model.shop.days"].alias = "calendar"),
    ["relation-changed days"],
    ["relation-changed calendar"],
  ),
  metrics(
    "the time of a metric is coarser",
    (m) => (modelOf(m, "orders").dimensions[1].type_params.time_granularity = "month"),
    [
      "meaning-changed revenue",
      ...partsOfDays("group-removed metric_time"),
      ...partsOfDays("group-removed order__ordered_on"),
      "grain-removed metric_time__day",
      "grain-removed metric_time__week",
      "grain-removed order__ordered_on__day",
      "grain-removed order__ordered_on__week",
      "default-grain-changed metric_time",
      "default-grain-changed order__ordered_on",
      "meaning-changed growth",
      "meaning-changed order__ordered_on",
      "meaning-changed paid",
      "meaning-changed running",
    ],
    [
      "meaning-changed revenue",
      "default-grain-changed metric_time",
      "default-grain-changed order__ordered_on",
      "meaning-changed growth",
      "meaning-changed order__ordered_on",
      "meaning-changed paid",
      "meaning-changed running",
      ...partsOfDays("group-added metric_time"),
      ...partsOfDays("group-added order__ordered_on"),
      "grain-added metric_time__day",
      "grain-added metric_time__week",
      "grain-added order__ordered_on__day",
      "grain-added order__ordered_on__week",
    ],
  ),
  metrics(
    "a group is no longer declared",
    ({ metrics }) =>
      (metrics["metric.shop.revenue"].config.meta.routewright.group_by = ["metric_time", "order__status"]),
    [
      "own-rows-removed",
      "group-removed customer",
      "group-removed customer__region",
      ...extracts("group-removed metric_time"),
      "group-removed order",
      "group-removed order__customer",
      "group-removed order__ordered_on",
      ...extracts("group-removed order__ordered_on"),
    ],
    [
      "own-rows-added",
      "group-added customer",
      "group-added customer__region",
      ...extracts("group-added metric_time"),
      "group-added order",
      "group-added order__customer",
      "group-added order__ordered_on",
      ...extracts("group-added order__ordered_on"),
    ],
  ),
  metrics(
    "joined rows are no longer kept apart",
    ({ nodes }) => delete nodes["model.shop.customers"].config.meta.routewright,
    ["own-rows-removed"],
    ["own-rows-added"],
  ),
  metrics(
    "joined rows are kept apart by another column",
    ({ nodes }) => (nodes["model.shop.customers"].config.meta.routewright.rows.column = "tenant"),
    ["own-rows-changed"],
    ["own-rows-changed"],
  ),
  metrics(
    "the fact moves to another schema",
    ({ nodes }) => (nodes["model.shop.orders"].schema = "mart"),
    ["relation-changed orders"],
    ["relation-changed orders"],
  ),
  metrics(
    "the joined model is published at a higher tier",
    ({ nodes }) => (nodes["model.shop.customers"].tags = ["production", "shop", "api:customers", "tier2"]),
    ["tier-raised"],
    ["tier-lowered"],
  ),
  metrics(
    "a saved query has a lower limit",
    (m) => (queryOf(m).limit = 5),
    ["meaning-changed"],
    ["meaning-changed"],
  ),
  metrics(
    "a saved query has a filter",
    (m) =>
      (queryOf(m).where = {
        where_filters: [{ where_sql_template: "{{ Dimension('order__status') }} = 'paid'" }],
      }),
    ["meaning-changed"],
    ["meaning-changed"],
  ),
  metrics(
    "a saved query is ordered by its group",
    (m) => (queryOf(m).order_by = ["customer__region"]),
    ["sort-changed"],
    ["sort-changed"],
  ),
  metrics(
    "a saved query has another group",
    (m) => (queryOf(m).group_by = ["TimeDimension('metric_time', 'month')"]),
    ["own-rows-removed", "meaning-changed"],
    ["own-rows-added", "meaning-changed"],
  ),
  metrics(
    "a saved query has a metric more",
    (m) => queryOf(m).metrics.push("paid"),
    ["measure-added paid"],
    ["measure-removed paid"],
  ),
  metrics(
    "a metric is called by another label",
    ({ metrics }) => (metrics["metric.shop.revenue"].label = "Sales"),
    ["description-changed label of revenue", "description-changed"],
    ["description-changed label of revenue", "description-changed"],
  ),
];
