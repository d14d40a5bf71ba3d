import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { FILTER_OPERATORS, operatorOf } from "../model/operators.js";

/** Rows per call, by default and at most: more would fill a model's context. */
export const DEFAULT_ROWS = 20;
export const MAX_ROWS = 100;

/** Characters of rows per call, about 5,000 tokens. */
export const MAX_CHARACTERS = 20_000;

export const DEFAULT_FOUND = 20;
const MAX_FOUND = 50;

const text = { type: "string" } as const;
const count = { type: "integer", minimum: 0 } as const;
const flag = { type: "boolean" } as const;
const value = { type: ["string", "number", "boolean"] } as const;

const path = { ...text, description: "As search_endpoints returns it." } as const;
const offset = { ...count, description: "Skip this many: next_offset of the call before." } as const;
const cursor = {
  ...text,
  description: "Instead of offset: next_cursor of the call before, with the same parameters.",
} as const;
const operators = [...FILTER_OPERATORS].map(([name, operator]) => `${name}: ${operatorOf(operator).text}`);
const parameters = {
  type: "object",
  description: `The endpoint's own parameters, \`column[operator]\` for its filters (${operators.join("; ")}), and where it has them sort_by and sort_direction. A list: several values.`,
  additionalProperties: { anyOf: [value, { type: "array", items: value }] },
} as const;

/** Further members are allowed, as a later version may have them. */
function object<Properties extends object>(properties: Properties, required: readonly (keyof Properties)[]) {
  return { type: "object" as const, properties, required: [...required] as string[] };
}

function tool<Input extends object>(
  name: string,
  description: string,
  input: Input,
  required: readonly (keyof Input)[],
  outputSchema: { readonly type: "object" },
) {
  const inputSchema = { ...object(input, required), additionalProperties: false };
  const annotations = { readOnlyHint: true, openWorldHint: false };
  return { name, description, inputSchema, outputSchema, annotations };
}

const names = { type: "array", items: text } as const;

/** Rows of a query. */
const ROWS = object(
  {
    returned: count,
    has_more: flag,
    next_offset: count,
    next_cursor: text,
    rows: { type: "array", description: "Numbers of more than 15 digits are texts here." },
  },
  ["returned", "has_more", "rows"],
);

/** The tools of `/mcp` (runtime/docs/mcp.md). */
export const TOOLS = [
  tool(
    "list_categories",
    "List the categories of this data API and how many endpoints of each your key may call.",
    {},
    [],
    object(
      {
        categories: {
          type: "array",
          items: object({ category: text, endpoints: count }, ["category", "endpoints"]),
        },
      },
      ["categories"],
    ),
  ),
  tool(
    "search_endpoints",
    "Find endpoints of this data API with a question or some words, best first. Without a query: all of them.",
    {
      query: { ...text, description: "Plain English, or words of paths and columns.", maxLength: 500 },
      category: { ...text, description: "Only endpoints of this category." },
      limit: { type: "integer", minimum: 1, maximum: MAX_FOUND, default: DEFAULT_FOUND },
      offset,
    },
    [],
    object(
      {
        found: count,
        endpoints: {
          type: "array",
          items: object(
            { path: text, description: text, tier: text, columns: { type: "array", items: text } },
            ["path", "columns"],
          ),
        },
        locked: {
          type: "array",
          description: "Endpoints that fit the query and that this key may not call.",
          items: object({ path: text, needs: text }, ["path", "needs"]),
        },
        next_offset: count,
        hint: text,
      },
      ["found", "endpoints"],
    ),
  ),
  tool(
    "describe_endpoint",
    "Describe one endpoint: columns with types, parameters, required filters, page sizes, sorting, freshness, tests.",
    { path },
    ["path"],
    object({ path: text, description: text, columns: { type: "array" } }, ["path", "columns"]),
  ),
  tool(
    "list_values",
    "List the values of one column, the most frequent first, so that a filter asks for one that exists.",
    {
      path,
      column: { ...text, description: "A column of the rows; a group where an endpoint has no rows." },
      prefix: { ...text, description: "Only values that begin with this text, in any letter case." },
      parameters: { ...parameters, description: "Filters of the endpoint, as query_endpoint takes them." },
      limit: { type: "integer", minimum: 1, maximum: MAX_ROWS, default: DEFAULT_ROWS },
    },
    ["path", "column"],
    object(
      {
        values: {
          type: "array",
          items: object({ value: { type: ["string", "number", "boolean", "null"] }, rows: count }, ["value"]),
        },
        more: { ...flag, description: "Whether there are others: give a prefix or filters." },
      },
      ["values", "more"],
    ),
  ),
  tool(
    "query_endpoint",
    `Query one endpoint and get rows as JSON. At most ${String(MAX_ROWS)} rows and ${String(MAX_CHARACTERS)} characters ` +
      "a call: filter and sort rather than read everything. Describe the endpoint first: unknown parameters are refused.",
    {
      path,
      parameters,
      limit: { type: "integer", minimum: 1, maximum: MAX_ROWS, default: DEFAULT_ROWS },
      offset,
      cursor,
    },
    ["path"],
    ROWS,
  ),
  tool(
    "query_metrics",
    `Sum and count by group: an endpoint whose description has an \`aggregate\`. At most ${String(MAX_ROWS)} rows and ` +
      `${String(MAX_CHARACTERS)} characters a call. Describe the endpoint first: it lists measures, groups with grains, and filters.`,
    {
      path,
      measures: { ...names, description: "Names of its measures or metrics. Default: all." },
      group_by: {
        ...names,
        description:
          "Names of its groups, a time with its grain: metric_time__month. Default: none, the total.",
      },
      filters: {
        ...parameters,
        description: `By group, \`group[operator]\`: ${operators.join("; ")}. Without an operator: is the value.`,
      },
      start_date: { ...text, description: "First day of metrics, YYYY-MM-DD." },
      end_date: { ...text, description: "Last day of metrics, inclusive." },
      sort_by: { ...text, description: "A group or a measure that is asked." },
      sort_direction: { enum: ["ASC", "DESC"] },
      limit: { type: "integer", minimum: 1, maximum: MAX_ROWS, default: DEFAULT_ROWS },
      offset,
      cursor,
    },
    ["path"],
    ROWS,
  ),
  tool(
    "summarize_endpoint",
    "Count the rows of one endpoint on all pages and find the first and last value of its dates, without reading the rows.",
    { path, parameters },
    ["path"],
    object(
      {
        count,
        dates: {
          type: "object",
          description: "By column.",
          additionalProperties: object({ min: {}, max: {} }, ["min", "max"]),
        },
      },
      ["count", "dates"],
    ),
  ),
] as const;

/** Arguments of all tools; each tool's schema says which it takes. */
export interface Arguments {
  readonly path: string;
  readonly column?: string;
  readonly prefix?: string;
  readonly query?: string;
  readonly category?: string;
  readonly parameters?: ToolParameters;
  readonly limit?: number;
  readonly offset?: number;
  readonly cursor?: string;
  readonly measures?: readonly string[];
  readonly group_by?: readonly string[];
  readonly filters?: ToolParameters;
  readonly start_date?: string;
  readonly end_date?: string;
  readonly sort_by?: string;
  readonly sort_direction?: string;
}

export type ToolParameters = Readonly<Record<string, Value | readonly Value[]>>;

export type Value = string | number | boolean;

const validators = new Map<string, ValidateFunction>();

/** Why a tool cannot take these arguments; null when it can. */
export function argumentProblem(name: string, given: unknown): string | null {
  const tool = TOOLS.find((each) => each.name === name);
  if (tool === undefined) return `Unknown tool. There are: ${TOOLS.map((each) => each.name).join(", ")}.`;
  const validate = validators.get(name) ?? new Ajv({ allowUnionTypes: true }).compile(tool.inputSchema);
  validators.set(name, validate);
  if (validate(given)) return null;
  const [error] = validate.errors ?? [];
  return `Invalid arguments: ${problemOf(error, Object.keys(tool.inputSchema.properties))}.`;
}

function problemOf(error: ErrorObject | undefined, known: readonly string[]): string {
  const unknown: unknown = error?.params["additionalProperty"];
  if (typeof unknown === "string")
    return `unknown argument '${unknown}'; the tool takes ${known.join(", ") || "none"}`;
  return `${error?.instancePath.slice(1) || "they"} ${error?.message ?? "do not match"}`;
}
