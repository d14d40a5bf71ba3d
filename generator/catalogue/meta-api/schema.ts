import {
  flag,
  HINT,
  listOf,
  name,
  oneOf,
  openRecord,
  text,
  type ValueOf,
  wholeNumber,
} from "../../manifest/json-schema.js";

/** From 1 to the maximum of a PostgreSQL `integer`. */
const positive = wholeNumber(1, 2_147_483_647);
const column = { ...name, [HINT]: "Name a column of the model." };

const parameter = openRecord(
  {
    name: { ...name, [HINT]: "Name the query parameter." },
    column,
    operator: oneOf(["=", ">=", "<=", "ILIKE", "IN"]),
    type: oneOf(["string", "date", "string_list"]),
  },
  {
    description: text,
    case: oneOf(["lower", "upper"]),
    max_items: positive,
    max_length: positive,
  },
);

const limits = {
  default_limit: { [HINT]: "Give the number of rows on a page without `limit`." },
  max_limit: { [HINT]: "Give the largest `limit` that a request may send." },
};

const pagination = {
  ...openRecord(
    { enabled: flag },
    { default_limit: positive, max_limit: positive, response: oneOf(["list", "envelope"]) },
  ),
  if: { properties: { enabled: { const: true } }, required: ["enabled"] },
  then: { required: Object.keys(limits), properties: limits },
};

const sortKey = openRecord({ column, direction: oneOf(["ASC", "DESC"]) });

/** The shape of `meta.api`; rules.ts checks what depends on several values. */
export const META_API_SCHEMA = openRecord(
  {},
  {
    exclude_from_api: flag,
    methods: { ...listOf(oneOf(["GET", "POST"])), minItems: 1 },
    allow_unfiltered: flag,
    require_any_of: listOf(name),
    parameters: listOf(parameter),
    pagination,
    sort: listOf(sortKey),
    sortable_fields: listOf(name),
  },
);

export type MetaApi = ValueOf<typeof META_API_SCHEMA>;
export type MetaParameter = ValueOf<typeof parameter>;
export type MetaPagination = ValueOf<typeof pagination>;

const keysOf = ({ properties }: { readonly [keyword: string]: unknown }): readonly string[] =>
  Object.keys(properties as object);

/** The known keys of each object. Any other key is probably misspelled. */
export const KNOWN_KEYS = {
  api: keysOf(META_API_SCHEMA),
  parameter: keysOf(parameter),
  pagination: keysOf(pagination),
  sort: keysOf(sortKey),
} as const;
