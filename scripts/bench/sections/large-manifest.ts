import { SCHEMA } from "../api.js";

/** `rollup_of` of the roll-up by day and country. */
export const SETTINGS = {
  semantic_model: "sales",
  group_by: { day: { column: "day", grain: "day" }, country: "country" },
  measures: { volume: "volume_sum" },
};

const metric = (name: string, type: string, parameters: object): object => ({
  [`metric.bench.${name}`]: {
    name,
    type,
    type_params: parameters,
    config: {
      tags: ["production", "shop", `api:${name}`],
      meta: { routewright: { group_by: ["metric_time", "sale__country"] } },
    },
  },
});

/** Sum, distinct count and running total of sales. */
export const SEMANTICS = {
  semantic_models: {
    "semantic_model.bench.sales": {
      name: "sales",
      depends_on: { nodes: ["model.bench.sales"] },
      node_relation: { alias: "sales", schema_name: SCHEMA },
      defaults: { agg_time_dimension: "day" },
      entities: [{ name: "sale", type: "primary", expr: "customer" }],
      dimensions: [
        { name: "day", type: "time", type_params: { time_granularity: "day" } },
        { name: "country", type: "categorical" },
      ],
      measures: [
        { name: "volume", agg: "sum", expr: "amount" },
        { name: "buyers", agg: "count_distinct", expr: "customer" },
      ],
    },
  },
  metrics: {
    ...metric("volume", "simple", { measure: { name: "volume" } }),
    ...metric("buyers", "simple", { measure: { name: "buyers" } }),
    ...metric("running", "cumulative", {
      measure: { name: "volume" },
      cumulative_type_params: { period_agg: "last" },
    }),
  },
  saved_queries: {},
};

const built = (name: string, second: number) => {
  const at = (add: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second + add)).toISOString();
  return {
    unique_id: `model.bench.${name}`,
    status: "success",
    timing: [{ name: "execute", started_at: at(0), completed_at: at(1) }],
  };
};

/** The roll-up is built after its rows. */
export const RUN_RESULTS = JSON.stringify({
  metadata: {
    dbt_schema_version: "https://schemas.getdbt.com/dbt/run-results/v6.json",
    generated_at: "2026-01-01T00:01:00Z",
  },
  results: [built("days", 0), built("sales", 0), built("sales_by_day", 10)],
});
