import { COLUMN_FILTER_TYPES, TIERS } from "@routewright/runtime/model";

const text = { type: "string" } as const;
const textOrNull = { type: ["string", "null"] } as const;
const flag = { type: "boolean" } as const;
const texts = { type: "array", items: text } as const;
const count = { type: "integer", minimum: 1 } as const;
const tier = { enum: TIERS } as const;

/** An object of exactly these properties; those in `optional` may be missing. */
function record<Properties extends Record<string, object>>(
  properties: Properties,
  optional: readonly (keyof Properties)[] = [],
) {
  const required = Object.keys(properties).filter((key) => !optional.includes(key));
  return { type: "object", properties, required, additionalProperties: false } as const;
}

const column = record(
  {
    name: text,
    type: textOrNull,
    timezone: text,
    description: text,
    notNull: { enum: ["constraint", "test"] },
    acceptedValues: texts,
    private: flag,
    wide: flag,
    unique: flag,
    minimum: { type: "number" },
    maximum: { type: "number" },
    exclusive: flag,
    references: text,
    example: {},
  },
  [
    ...["timezone", "description", "notNull", "acceptedValues", "private"],
    ...["wide", "unique", "minimum", "maximum", "exclusive", "references", "example"],
  ] as never,
);

const parameter = record(
  {
    name: text,
    column: text,
    operator: { enum: ["=", "ILIKE", ">=", "<=", "IN"] },
    type: { enum: ["string", "date", "string_list"] },
    case: { enum: ["lower", "upper"] },
    maxItems: count,
    maxLength: count,
    values: texts,
    description: text,
  },
  ["case", "maxItems", "maxLength", "values", "description"],
);

const pagination = record({
  defaultLimit: count,
  maxLimit: count,
  response: { enum: ["list", "envelope"] },
});

const endpoint = record(
  {
    path: { type: "string", pattern: "^/v1/" },
    model: text,
    uniqueId: text,
    file: text,
    category: text,
    resource: text,
    granularity: textOrNull,
    window: textOrNull,
    tier,
    hasTierTag: flag,
    private: flag,
    description: text,
    synonyms: texts,
    relation: { type: "array", items: text, minItems: 2, maxItems: 2 },
    columns: { type: "array", items: column },
    numbers: { enum: ["string"] },
    methods: { type: "array", items: { enum: ["GET", "POST"] }, minItems: 1 },
    legacy: flag,
    parameters: { type: "array", items: parameter },
    filters: { type: "array", items: record({ column: text, type: { enum: COLUMN_FILTER_TYPES } }) },
    fields: { const: true },
    cursor: texts,
    rows: record({ column: text, equals: { const: "org" } }),
    allowUnfiltered: flag,
    requireAnyOf: texts,
    pagination: { anyOf: [pagination, { type: "null" }] },
    sort: {
      type: "array",
      items: { type: "array", items: text, minItems: 2, maxItems: 2 },
    },
    sortableFields: texts,
    deprecationDate: textOrNull,
    successor: textOrNull,
    formerPaths: {
      type: "array",
      items: record({ path: { type: "string", pattern: "^/v1/" }, sunset: textOrNull }),
    },
    upstreamNodes: { anyOf: [texts, { type: "null" }] },
  },
  ["numbers", "filters", "fields", "cursor", "rows", "formerPaths", "synonyms"],
);

const skipped = record({
  model: text,
  file: text,
  reason: { enum: ["invalid", "path-taken", "excluded"] },
  problems: { type: "array", items: record({ model: text, path: text, message: text, hint: text }) },
});

/** Shape of `catalogue.json`; `npm run build` compiles it. */
export const CATALOGUE_SCHEMA = record(
  {
    "x-generated-by": text,
    schemaVersion: { type: "integer" },
    digest: text,
    title: textOrNull,
    defaultTier: tier,
    adapter: text,
    endpoints: { type: "array", items: endpoint },
    skipped: { type: "array", items: skipped },
    categories: { type: "object", additionalProperties: text },
    sources: { type: "object", additionalProperties: text },
    files: { type: "object", additionalProperties: text },
  },
  ["adapter", "categories", "sources", "digest", "files"],
);
