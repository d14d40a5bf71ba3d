import type { ProjectFiles } from "../../support/dbt.js";

export type Json = Readonly<Record<string, unknown>>;

export const time = (name: string, grain: string, expr = name): Json => ({
  name,
  type: "time",
  expr,
  type_params: { time_granularity: grain },
});
export const category = (name: string, expr = name): Json => ({ name, type: "categorical", expr });
export const entity = (name: string, type: string, expr: string): Json => ({ name, type, expr });
export const measure = (name: string, agg: string, expr: string, more: Json = {}): Json => ({
  name,
  agg,
  expr,
  ...more,
});

export function spine(name: string, column: string, granularity: string): Json {
  return {
    name,
    time_spine: { standard_granularity_column: column },
    columns: [{ name: column, granularity }],
  };
}

export const SPINE = (from: string, to: string, step: string, type: string, name: string): string =>
  `{{ config(materialized='table') }} select n::${type} as ${name} from generate_series(timestamp '${from}', timestamp '${to}', interval '${step}') as n`;

/** A metric at the path that all metrics of a project share. */
export function metric(name: string, type: string, params: Json, filter?: string): Json {
  const config = { tags: ["production", "all", "api:all"], meta: { routewright: { group_by: "all" } } };
  return { name, label: name, type, type_params: params, config, ...(filter !== undefined && { filter }) };
}

export const simple = (name: string, of: Json | string, filter?: string): Json =>
  metric(name, "simple", { measure: of }, filter);
export const derived = (name: string, expr: string, metrics: readonly (Json | string)[]): Json =>
  metric(name, "derived", { expr, metrics });
export const cumulative = (name: string, of: Json | string, params: Json): Json =>
  metric(name, "cumulative", { measure: of, cumulative_type_params: params });

interface Semantics {
  readonly models: readonly Json[];
  readonly spines: readonly Json[];
  readonly metrics: readonly Json[];
}

export const files = (sql: ProjectFiles, { models, spines, metrics }: Semantics): ProjectFiles => ({
  ...sql,
  "models/semantics.yml": JSON.stringify({ models: spines, semantic_models: models, metrics }),
});
