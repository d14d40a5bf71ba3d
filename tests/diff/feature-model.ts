/** Raw JSON of a manifest: the rows of the table know what is in it. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Raw = any;
export type Edit = (model: Raw, manifest: Raw) => void;

/** A manifest whose one endpoint uses every feature, and what else a row needs. */
export function feature(): Raw {
  const column = (name: string, data_type: string, constraints: unknown[] = []) => ({
    name,
    data_type,
    constraints,
  });
  const columns = [
    column("id", "integer", [{ type: "not_null" }]),
    column("shop", "text"),
    column("amount", "numeric(20,4)"),
    column("quantity", "integer"),
    column("total", "bigint"),
    column("ratio", "double precision"),
    column("code", "varchar(10)"),
    column("sold_at", "timestamptz"),
    column("local_time", "timestamp"),
    column("day", "date"),
    column("status", "text"),
    column("reference", "uuid"),
    column("labels", "text[]"),
    column("payload", "jsonb"),
  ];
  const test = (name: string, column_name: string, kwargs = {}, namespace?: string) => ({
    resource_type: "test",
    attached_node: "model.shop.sales",
    column_name,
    test_metadata: { name, kwargs, namespace },
    config: {},
  });
  return {
    metadata: {
      dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json",
      adapter_type: "postgres",
    },
    nodes: {
      "model.shop.sales": {
        resource_type: "model",
        name: "sales",
        alias: "sales",
        schema: "analytics",
        description: "Sales.",
        original_file_path: "models/sales.sql",
        tags: ["production", "tier1", "shop", "api:sales", "granularity:daily"],
        columns: Object.fromEntries(
          columns.map((one) => [one.name, { ...one, description: `The ${one.name}.` }]),
        ),
        config: {
          materialized: "table",
          contract: { enforced: true },
          meta: {
            api: {
              methods: ["GET", "POST"],
              allow_unfiltered: true,
              parameters: [
                { name: "shop", column: "shop", operator: "=", type: "string", description: "A shop." },
                { name: "code", column: "code", operator: "=", type: "string", case: "lower" },
                { name: "ids", column: "id", operator: "IN", type: "string_list", max_items: 5 },
                { name: "search", column: "status", operator: "ILIKE", type: "string" },
                { name: "from", column: "day", operator: ">=", type: "date" },
                { name: "to", column: "day", operator: "<=", type: "date" },
              ],
              pagination: { enabled: true, default_limit: 10, max_limit: 100, response: "list" },
              sort: [{ column: "day", direction: "DESC" }],
              sortable_fields: ["amount", "day"],
            },
          },
        },
      },
      "test.shop.not_null_shop": test("not_null", "shop"),
      "test.shop.values_status": test("accepted_values", "status", { values: ["paid", "open"] }),
      "test.shop.range_ratio": test("accepted_range", "ratio", { min_value: 0, max_value: 1 }, "dbt_utils"),
      "test.shop.unique_id": test("unique", "id"),
      "test.shop.shop_in_shops": test("relationships", "shop", { to: "ref('shops')", field: "id" }),
    },
  };
}

export const api =
  (change: (settings: Raw) => void): Edit =>
  (model) =>
    change(model.config.meta.api);
export const parameter = (name: string, values: object): Edit =>
  api(({ parameters }) =>
    Object.assign(
      parameters.find((one: Raw) => one.name === name),
      values,
    ),
  );
export const type =
  (column: string, data_type: string | null): Edit =>
  ({ columns }) =>
    (columns[column].data_type = data_type);
export const routewright =
  (settings: object): Edit =>
  (model) =>
    (model.config.meta.routewright = { ...model.config.meta.routewright, ...settings });
export const tag =
  (from: string, to: string | null): Edit =>
  (model) =>
    (model.tags = model.tags.flatMap((one: string) => (one === from ? (to === null ? [] : [to]) : [one])));
export const field =
  (values: object): Edit =>
  (model) =>
    Object.assign(model, values);
export const requires = (...names: string[]): Edit => api((settings) => (settings.require_any_of = names));
export const unfiltered = (allowed: boolean): Edit =>
  api((settings) => (settings.allow_unfiltered = allowed));
export const sunset = (date: string | null): Edit => field({ deprecation_date: date });
export const all =
  (...edits: Edit[]): Edit =>
  (model, manifest) =>
    edits.forEach((edit) => edit(model, manifest));
export const range =
  (kwargs: object): Edit =>
  (_, { nodes }) =>
    (nodes["test.shop.range_ratio"].test_metadata.kwargs = kwargs);
export const config =
  (values: object): Edit =>
  (model) =>
    Object.assign(model.config, values);
export const nothing: Edit = () => undefined;

export interface Row {
  readonly change: string;
  /** Applied to base and head. */
  readonly given?: Edit;
  readonly edit: Edit;
  readonly forwards: readonly string[];
  readonly backwards: readonly string[];
}

export const row = (
  change: string,
  edit: Edit,
  forwards: readonly string[] | string,
  backwards: readonly string[] | string,
  given = nothing,
): Row => ({ change, given, edit, forwards: [forwards].flat(), backwards: [backwards].flat() });
/** A column whose type changes; the kinds of the changes without `column-`. */
export function retype(
  column: string,
  to: string | null,
  forwards: string,
  backwards: string,
  given = nothing,
) {
  const [there, back] = [forwards, backwards].map((kind) => (kind === "" ? [] : `column-${kind} ${column}`));
  return row(`column ${column} becomes ${to ?? "untyped"}`, type(column, to), there!, back!, given);
}

export function manifestWith(...edits: readonly Edit[]): Raw {
  const manifest = feature();
  for (const edit of edits) edit(manifest.nodes["model.shop.sales"], manifest);
  return manifest;
}
