/** A valid `meta.api`. rules.ts checks what depends on several values. */
export interface MetaApi {
  readonly exclude_from_api?: boolean;
  readonly methods?: readonly ("GET" | "POST")[];
  readonly allow_unfiltered?: boolean;
  readonly require_any_of?: readonly string[];
  readonly parameters?: readonly MetaParameter[];
  readonly pagination?: MetaPagination;
  readonly sort?: readonly { readonly column: string; readonly direction: "ASC" | "DESC" }[];
  readonly sortable_fields?: readonly string[];
}

export interface MetaParameter {
  readonly name: string;
  readonly column: string;
  readonly operator: "=" | ">=" | "<=" | "ILIKE" | "IN";
  readonly type: "string" | "date" | "string_list";
  readonly description?: string;
  readonly case?: "lower" | "upper";
  readonly max_items?: number;
  readonly max_length?: number;
}

export interface MetaPagination {
  readonly enabled: boolean;
  readonly default_limit?: number;
  readonly max_limit?: number;
  readonly response?: "list" | "envelope";
}

/** From 1 to the maximum of a PostgreSQL `integer`. */
const positiveInteger = { type: "integer", minimum: 1, maximum: 2_147_483_647 } as const;
const name = { type: "string", minLength: 1 } as const;
const names = { type: "array", items: name } as const;

const parameter = {
  type: "object",
  required: ["name", "column", "operator", "type"],
  properties: {
    name,
    column: name,
    operator: { enum: ["=", ">=", "<=", "ILIKE", "IN"] },
    type: { enum: ["string", "date", "string_list"] },
    description: { type: "string" },
    case: { enum: ["lower", "upper"] },
    max_items: positiveInteger,
    max_length: positiveInteger,
  },
} as const;

const pagination = {
  type: "object",
  required: ["enabled"],
  properties: {
    enabled: { type: "boolean" },
    default_limit: positiveInteger,
    max_limit: positiveInteger,
    response: { enum: ["list", "envelope"] },
  },
  if: { properties: { enabled: { const: true } }, required: ["enabled"] },
  then: { required: ["default_limit", "max_limit"] },
} as const;

const sortKey = {
  type: "object",
  required: ["column", "direction"],
  properties: { column: name, direction: { enum: ["ASC", "DESC"] } },
} as const;

export const META_API_SCHEMA = {
  type: "object",
  properties: {
    exclude_from_api: { type: "boolean" },
    methods: { type: "array", minItems: 1, items: { enum: ["GET", "POST"] } },
    allow_unfiltered: { type: "boolean" },
    require_any_of: names,
    parameters: { type: "array", items: parameter },
    pagination,
    sort: { type: "array", items: sortKey },
    sortable_fields: names,
  },
} as const;

/** The known keys of each object. Any other key is probably misspelled. */
export const KNOWN_KEYS = {
  api: Object.keys(META_API_SCHEMA.properties),
  parameter: Object.keys(parameter.properties),
  pagination: Object.keys(pagination.properties),
  sort: Object.keys(sortKey.properties),
} as const;
