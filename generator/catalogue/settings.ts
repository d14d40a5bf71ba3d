import type { Filter, Method, Pagination } from "@routewright/runtime/model";
import type { CatalogueEntry, DescribedParameter } from "./catalogue.js";
import type { MetaApi, MetaPagination, MetaParameter } from "./meta-api/schema.js";

/** The parts of an endpoint that `meta.api` decides. */
export type ApiSettings = Pick<
  CatalogueEntry["endpoint"],
  | "methods"
  | "legacy"
  | "parameters"
  | "allowUnfiltered"
  | "requireAnyOf"
  | "pagination"
  | "sort"
  | "sortableFields"
>;

/** A model without `meta.api`: GET only, no parameters, the whole table. */
export const LEGACY: ApiSettings = {
  methods: ["GET"],
  legacy: true,
  parameters: [],
  allowUnfiltered: true,
  requireAnyOf: [],
  pagination: null,
  sort: [],
  sortableFields: [],
};

/** Fills in the defaults of a checked `meta.api`. */
export function settingsOf(api: MetaApi): ApiSettings {
  const methods: readonly Method[] = api.methods?.includes("POST") ? ["GET", "POST"] : ["GET"];
  return {
    methods,
    legacy: false,
    parameters: (api.parameters ?? []).map(parameterOf),
    allowUnfiltered: api.allow_unfiltered ?? false,
    requireAnyOf: [...new Set(api.require_any_of)],
    pagination: paginationOf(api.pagination),
    sort: (api.sort ?? []).map(({ column, direction }) => [column, direction] as const),
    sortableFields: [...new Set(api.sortable_fields)],
  };
}

function parameterOf(meta: MetaParameter): DescribedParameter {
  const { name, column, description = "" } = meta;
  return { name, column, ...filterOf(meta), ...(description.trim() !== "" && { description }) };
}

/** Operator and type match: rules.ts has checked it. */
function filterOf({ operator, case: letterCase, max_items, max_length }: MetaParameter): Filter {
  const text = {
    ...(letterCase !== undefined && { case: letterCase }),
    ...(max_length !== undefined && { maxLength: max_length }),
  };
  switch (operator) {
    case "=":
    case "ILIKE":
      return { operator, type: "string", ...text };
    case ">=":
    case "<=":
      return { operator, type: "date" };
    case "IN":
      return {
        operator,
        type: "string_list",
        ...text,
        ...(max_items === undefined ? {} : { maxItems: max_items }),
      };
  }
}

function paginationOf(meta: MetaPagination | undefined): Pagination | null {
  if (!meta?.enabled || meta.default_limit === undefined || meta.max_limit === undefined) return null;
  return { defaultLimit: meta.default_limit, maxLimit: meta.max_limit, response: meta.response ?? "list" };
}
