import {
  ABOUT_SCHEMA,
  PLANS_SCHEMA,
  type FormerPath,
  type Json,
  type Relation,
  type SortKey,
  PARAMETER_OPERATORS,
  TIERS,
  VALUE_KINDS,
} from "@routewright/runtime/model";
import {
  flag,
  listOf,
  mapOf,
  number,
  oneOf,
  orNull,
  record,
  type Schema,
  text,
  textOrNull,
  type ValueOf,
  wholeNumber,
  yes,
} from "@routewright/runtime/model";
import { AGGREGATE_SCHEMA } from "./metrics/aggregate-schema.js";
import {
  type CatalogueEntry,
  type DescribedColumn,
  type DescribedParameter,
  FORMER_KEYS,
} from "./catalogue.js";

const texts = listOf(text);
const anyValue: Schema<Json> = {};
const count = wholeNumber(1);
const path = { ...text, pattern: "^/v1/" };
const pair = { ...texts, minItems: 2, maxItems: 2 } as Schema;

const column: Schema<DescribedColumn> = record(
  { name: text, type: textOrNull },
  {
    timezone: text,
    wide: yes,
    numbers: oneOf(["number", "string"]),
    description: text,
    sourceType: text,
    labels: texts,
    baseType: text,
    notNull: oneOf(["constraint", "test"]),
    acceptedValues: texts,
    minimum: number,
    maximum: number,
    exclusive: yes,
    unique: yes,
    references: text,
    private: flag,
    example: anyValue,
  },
);

const parameter = record(
  {
    name: text,
    column: text,
    operator: oneOf(PARAMETER_OPERATORS),
    type: oneOf(["string", "date", "string_list"]),
  },
  {
    case: oneOf(["lower", "upper"]),
    maxItems: count,
    maxLength: count,
    values: texts,
    description: text,
  },
) as Schema<DescribedParameter>;

/** An endpoint in the file; each description is next to its subject. */
const endpoint: Schema<CatalogueEntry> = record(
  {
    path,
    model: text,
    uniqueId: text,
    file: text,
    category: text,
    resource: text,
    granularity: textOrNull,
    window: textOrNull,
    tier: oneOf(TIERS),
    hasTierTag: flag,
    private: flag,
    description: text,
    relation: pair as Schema<Relation>,
    columns: listOf(column),
    methods: { ...listOf(oneOf(["GET", "POST"])), minItems: 1 },
    legacy: flag,
    parameters: listOf(parameter),
    allowUnfiltered: flag,
    requireAnyOf: texts,
    pagination: orNull(
      record({ defaultLimit: count, maxLimit: count, response: oneOf(["list", "envelope"]) }),
    ),
    sort: listOf(pair as Schema<SortKey>),
    sortableFields: texts,
    deprecationDate: textOrNull,
    successor: textOrNull,
  },
  {
    version: text,
    versionPath: path,
    successorChanges: texts,
    goneAt: text,
    title: text,
    owner: text,
    stability: oneOf(["preview"]),
    synonyms: texts,
    enforced: texts,
    numbers: oneOf(["string"]),
    filters: listOf(record({ column: text, type: oneOf(VALUE_KINDS) })),
    filter: yes,
    fields: yes,
    cursor: texts,
    aggregate: AGGREGATE_SCHEMA,
    rows: record({ column: text, equals: oneOf(["org"]) }),
    changes: oneOf(["on_build"]),
    freshness: record(
      {},
      { within: wholeNumber(1), by: text, warnAfter: wholeNumber(1), errorAfter: wholeNumber(1) },
    ),
    lastLoad: record({ latest: text }, { filter: text }),
    requireFresh: yes,
    onFailedTest: oneOf(["refuse"]),
    publicAge: record({ maxAge: wholeNumber(0), staleWhileRevalidate: wholeNumber(0) }),
    formerPaths: listOf(record({ path, sunset: textOrNull }) as Schema<FormerPath>),
    ...Object.fromEntries(FORMER_KEYS.map((key) => [key, orNull(texts)])),
  },
);

const skipped = record({
  model: text,
  file: text,
  reason: oneOf(["invalid", "path-taken", "excluded"]),
  problems: listOf(record({ model: text, path: text, message: text, hint: text })),
});

/** The content of `catalogue.json`. What is optional is absent where there is none, or in files of earlier versions. */
export const CATALOGUE_SCHEMA = record(
  {
    "x-generated-by": text,
    schemaVersion: { type: "integer" },
    title: textOrNull,
    defaultTier: oneOf(TIERS),
    endpoints: listOf(endpoint),
    skipped: listOf(skipped),
  },
  {
    /** What pages say of the API and its operator. */
    about: ABOUT_SCHEMA,
    /** Of organizations, by name. */
    plans: PLANS_SCHEMA,
    /** Version of the generator that wrote the folder. */
    generator: text,
    /** Digest of the code of that generator. */
    code: text,
    /** Of this file, for a server that reads it. */
    digest: text,
    /** Name of dbt's adapter. */
    adapter: text,
    /** Name of dbt's own adapter, where the relations are copies in another database. */
    copiedFrom: text,
    /** Descriptions of categories, by name. */
    categories: mapOf(text),
    /** What the project marks as private, by node. */
    marks: mapOf(texts),
    /** In files of earlier versions. */
    sources: mapOf(text),
    /** Digest of what an endpoint was read from, by model: one with the same need not be read again. */
    inputs: mapOf(text),
    /** Digest of each other file of the folder: a server refuses a folder with others. */
    files: mapOf(text),
  },
);

export type CatalogueRecord = ValueOf<typeof CATALOGUE_SCHEMA>;
