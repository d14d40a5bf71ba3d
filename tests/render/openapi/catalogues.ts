import type { Column, Endpoint, Parameter } from "@routewright/runtime/model";
import { type Catalogue, type CatalogueEntry, NO_LINEAGE } from "../../../generator/catalogue/catalogue.js";
import { openApiBytes } from "../../../generator/render/openapi/document.js";

/** What a test says of an endpoint; the rest is the plainest there is. */
export interface Sketch extends Partial<Endpoint> {
  readonly category?: string;
  readonly resource?: string;
  readonly granularity?: string | null;
  readonly window?: string | null;
  readonly description?: string;
  readonly columnWords?: Readonly<Record<string, string>>;
  readonly parameterWords?: Readonly<Record<string, string>>;
}

/** An entry whose path follows from its segments, metadata-driven and open to all. */
export function entry(sketch: Sketch = {}): CatalogueEntry {
  const { category = "bridges", resource = "volume", granularity = null, window = null, ...rest } = sketch;
  const { description = "", columnWords = {}, parameterWords = {}, ...endpoint } = rest;
  const { columns = PLAIN.columns, parameters = [] } = endpoint;
  const segments = ["", "v1", category, resource, granularity, window].filter((part) => part !== null);
  const model = endpoint.model ?? `api_${resource}`;
  return {
    ...PLAIN,
    model,
    path: segments.join("/"),
    relation: ["dbt", model],
    ...endpoint,
    columns: columns.map((column) => ({ ...column, ...described(columnWords, column.name) })),
    parameters: parameters.map((parameter) => ({
      ...parameter,
      ...described(parameterWords, parameter.name),
    })),
    uniqueId: `model.project.${model}`,
    file: `models/${model}.sql`,
    category,
    resource,
    granularity,
    window,
    hasTierTag: false,
    private: false,
    description,
  };
}

const described = (words: Readonly<Record<string, string>>, name: string) =>
  Object.hasOwn(words, name) ? { description: words[name] ?? "" } : {};

const PLAIN = {
  tier: "tier0",
  columns: [{ name: "value", type: "UInt64" }],
  methods: ["GET"],
  legacy: false,
  parameters: [],
  allowUnfiltered: true,
  requireAnyOf: [],
  pagination: null,
  sort: [],
  sortableFields: [],
  deprecationDate: null,
  successor: null,
} as const satisfies Partial<Endpoint>;

export function catalogue(...entries: readonly CatalogueEntry[]): Catalogue {
  return {
    entries,
    skipped: [],
    warnings: [],
    lineage: NO_LINEAGE,
    defaultTier: "tier0",
    adapter: null,
    categories: {},
  };
}

/** Columns of a text such as `date Date, action Nullable(String)`. */
export function columns(...texts: readonly string[]): readonly Column[] {
  return texts.map((text) => {
    const [name = "", type = null] = text.split(/ (.*)/);
    return { name, type };
  });
}

export const PARAMETERS: readonly Parameter[] = [
  { name: "token", column: "token", operator: "IN", type: "string_list", maxItems: 3, case: "upper" },
  { name: "bridge", column: "bridge", operator: "ILIKE", type: "string" },
  { name: "start_date", column: "date", operator: ">=", type: "date" },
  { name: "end_date", column: "date", operator: "<=", type: "date" },
  { name: "action", column: "action", operator: "=", type: "string" },
];

/** An endpoint with everything that an endpoint can have. */
export const FULL = entry({
  resource: "netflow_per_token",
  granularity: "daily",
  tier: "tier1",
  description: "Net flow per token and day.",
  columns: columns("date Date", "token String", "bridge String", "action Nullable(String)", "value UInt64"),
  columnWords: { date: "Day of the flow.", value: "Net flow." },
  methods: ["GET", "POST"],
  parameters: PARAMETERS,
  parameterWords: { token: "Symbol of the token." },
  allowUnfiltered: false,
  requireAnyOf: ["token", "bridge"],
  pagination: { defaultLimit: 50, maxLimit: 500, response: "envelope" },
  sort: [["date", "DESC"]],
  sortableFields: ["date", "value"],
});

export const LEGACY = entry({ resource: "legacy", granularity: "latest", legacy: true });

/** Parsed JSON of unknown shape: a test that reads what is not there fails by itself. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Parsed = any;

/** The document of these entries as a consumer reads it. */
export function documentOf(...entries: readonly CatalogueEntry[]): Parsed {
  return JSON.parse(openApiBytes(catalogue(...entries)).toString());
}
