/** The three tables that all synthetic endpoints show, by their number of rows. */
export const TABLE_ROWS = [1, 100, 1000] as const;
export type TableRows = (typeof TABLE_ROWS)[number];

export const SCHEMA = "bench";
export const tableName = (rows: TableRows): string => `rows_${String(rows)}`;

/**
 * Views on the tables, so that endpoints do not all ask the same question, which Routewright would ask the database once
 * for all of them. A multiple of the tables, and more than there are connections under load.
 */
export const VIEWS = 501;
export const rowsOfView = (view: number): TableRows => TABLE_ROWS[view % TABLE_ROWS.length] ?? 1;
export const viewName = (view: number): string => `${tableName(rowsOfView(view))}_${String(view)}`;

/** Columns of the tables, as a manifest declares them. */
export const COLUMNS = {
  day: "date",
  observed_at: "timestamptz",
  region: "text",
  category: "text",
  label: "text",
  amount_raw: "numeric(20,0)",
  amount_usd: "double precision",
  change_pct: "double precision",
} as const;

/** One synthetic endpoint. */
export interface SyntheticEndpoint {
  readonly path: string;
  readonly rows: TableRows;
  /** Name of its relation. */
  readonly view: string;
}

/** Categories, so that no folder holds everything. */
const CATEGORIES = 20;

/** The endpoints of a synthetic manifest, on so many of the views in turn. */
export function syntheticEndpoints(count: number, views = VIEWS): SyntheticEndpoint[] {
  return Array.from({ length: count }, (_, i) => ({
    path: `/v1/${categoryOf(i)}/${resourceOf(i)}/daily`,
    rows: rowsOfView(i % views),
    view: viewName(i % views),
  }));
}

/** A dbt manifest that generates those endpoints. */
export function syntheticManifest(count: number, views = VIEWS): unknown {
  const models = syntheticEndpoints(count, views).map(({ view }, i) => model(i, view));
  return {
    metadata: {
      dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json",
      adapter_type: "postgres",
      project_name: "bench",
    },
    nodes: Object.fromEntries(models.map((node) => [node.unique_id, node])),
  };
}

const categoryOf = (i: number): string => `category_${String(i % CATEGORIES)}`;
const resourceOf = (i: number): string => `series_${String(i).padStart(5, "0")}`;

function model(i: number, view: string) {
  const name = `api_${resourceOf(i)}_daily`;
  const tags = ["production", "tier1", categoryOf(i), `api:${resourceOf(i)}`, "granularity:daily"];
  return {
    resource_type: "model",
    unique_id: `model.bench.${name}`,
    name,
    alias: view,
    schema: SCHEMA,
    description: `Series ${String(i)} by day.`,
    original_file_path: `models/${name}.sql`,
    tags,
    columns: Object.fromEntries(
      Object.entries(COLUMNS).map(([column, type]) => [
        column,
        { name: column, data_type: type, description: `The ${column.replace("_", " ")} of the series.` },
      ]),
    ),
    config: { tags, materialized: "table", meta: { api: API } },
  };
}

/** An ordinary endpoint: a few filters, none of which a caller must give. */
const API = {
  allow_unfiltered: true,
  parameters: [
    { name: "region", column: "region", operator: "IN", type: "string_list", max_items: 10 },
    { name: "start_date", column: "day", operator: ">=", type: "date", description: "First day wanted." },
    { name: "end_date", column: "day", operator: "<=", type: "date", description: "Last day wanted." },
  ],
};
