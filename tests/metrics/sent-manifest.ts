import { engine, type Engine } from "../support/engines.js";

/** Payments of customers, by day; running sums read the days of a time spine. */
export function sentManifest(schema: string, adapter: Engine = engine): unknown {
  const node = (name: string, columns: readonly string[], more: object = {}) => ({
    [`model.test.${name}`]: {
      resource_type: "model",
      name,
      alias: name,
      schema,
      tags: [],
      config: { materialized: "table" },
      columns: Object.fromEntries(
        columns.map((column) => [
          column,
          { name: column, data_type: adapter === "clickhouse" ? "Date" : "date" },
        ]),
      ),
      ...more,
    },
  });
  const semantic = (name: string, more: object) => ({
    [`semantic_model.test.${name}`]: {
      name,
      depends_on: { nodes: [`model.test.${name}`] },
      node_relation: { alias: name, schema_name: schema },
      ...more,
    },
  });
  const metric = (name: string, type: string, parameters: object) => ({
    [`metric.test.${name}`]: {
      name,
      type,
      type_params: parameters,
      config: {
        tags: ["production", "pay", `api:${name}`, "tier0"],
        meta: { routewright: { group_by: ["metric_time", "customer__region", "payment__token"] } },
      },
    },
  });
  return {
    metadata: {
      dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json",
      adapter_type: adapter,
      project_name: "test",
    },
    nodes: {
      ...node("payments", []),
      ...node("customers", []),
      ...node("days", ["day"], { time_spine: { standard_granularity_column: "day" } }),
    },
    semantic_models: {
      ...semantic("payments", {
        defaults: { agg_time_dimension: "paid_on" },
        entities: [
          { name: "payment", type: "primary", expr: "payment_id" },
          { name: "customer", type: "foreign", expr: "customer_id" },
        ],
        dimensions: [
          { name: "paid_on", type: "time", type_params: { time_granularity: "day" } },
          { name: "token", type: "categorical" },
        ],
        measures: [{ name: "amount", agg: "sum" }],
      }),
      ...semantic("customers", {
        entities: [{ name: "customer", type: "primary", expr: "customer_id" }],
        dimensions: [{ name: "region", type: "categorical" }],
        measures: [],
      }),
    },
    metrics: {
      ...metric("sent", "simple", { measure: { name: "amount" } }),
      ...metric("running", "cumulative", { measure: { name: "amount" }, cumulative_type_params: {} }),
    },
  };
}
