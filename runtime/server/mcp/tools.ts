import type { Tool } from "@modelcontextprotocol/server";
import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { viewMeta } from "./apps.js";
import { GRAINS } from "../../core/model/aggregate/grains.js";
import { COMPARISONS } from "../../core/model/aggregate/group-options.js";
import { FILTER_OPERATORS, operatorOf } from "../../core/model/operators.js";
import {
  described,
  flag,
  listOf,
  mapOf,
  type ObjectSchema,
  oneOf,
  openRecord,
  record,
  type Schema,
  text,
  texts,
  wholeNumber,
} from "../../core/model/schema.js";

/** Rows per call, by default and at most: more would fill a model's context. */
export const DEFAULT_ROWS = 20;
export const MAX_ROWS = 100;

/** Characters of rows per call, about 5,000 tokens. */
export const MAX_CHARACTERS = 20_000;

export const DEFAULT_FOUND = 20;
const MAX_FOUND = 50;

const count = wholeNumber(0);
const value: Schema<Value> = { type: ["string", "number", "boolean"] };

const path = described("As search_endpoints returns it.", text);
const limit = { ...wholeNumber(1, MAX_ROWS), default: DEFAULT_ROWS };
const offset = described("Skip this many: next_offset of the call before.", count);
const cursor = described(
  "Instead of offset: next_cursor of the call before, with the same parameters.",
  text,
);
const operators = [...FILTER_OPERATORS].map(([name, operator]) => `${name}: ${operatorOf(operator).text}`);
const parameters = described(
  `The endpoint's own parameters, \`column[operator]\` for its filters (${operators.join("; ")}), and where it has them sort_by, sort_direction and filter, which combines conditions in OData's grammar: status eq 'paid' or amount gt 10. A list: several values.`,
  mapOf<Value | readonly Value[]>({ anyOf: [value, listOf(value)] }),
);

/** Outputs are open objects: a later version may add members. */
function tool(name: string, description: string, inputSchema: ObjectSchema, outputSchema: ObjectSchema) {
  const annotations = { readOnlyHint: true, openWorldHint: false };
  return { name, description, inputSchema, outputSchema, annotations };
}

/** Rows of a query. */
const ROWS = openRecord(
  {
    returned: count,
    has_more: flag,
    rows: described("Numbers of more than 15 digits are texts here.", listOf({})),
  },
  {
    next_offset: count,
    next_cursor: text,
    total: described("The number of rows on all pages.", count),
    data_as_of: described("When the rows were built.", text),
    units: described("What numbers are counted in, by column, where that is known: $, %, ms.", mapOf(text)),
    grains: described("The period that a time stands for, by column.", mapOf(text)),
  },
);

/** The tools of `/mcp` (runtime/docs/mcp.md). */
export const TOOLS = [
  tool(
    "list_categories",
    "List the categories of this data API and how many endpoints of each your key may call.",
    record({}),
    openRecord({ categories: listOf(openRecord({ category: text, endpoints: count })) }),
  ),
  tool(
    "search_endpoints",
    "Find endpoints of this data API with a question or some words, best first. Without a query: all of them.",
    record(
      {},
      {
        query: described("Plain English, or words of paths and columns.", { ...text, maxLength: 500 }),
        category: described("Only endpoints of this category.", text),
        limit: { ...wholeNumber(1, MAX_FOUND), default: DEFAULT_FOUND },
        offset,
      },
    ),
    openRecord(
      {
        found: count,
        endpoints: listOf(
          openRecord({ path: text, title: text, columns: texts }, { description: text, tier: text }),
        ),
      },
      {
        nearest: described(
          "Where no endpoint fits: those that have a word of the query, and are about something else.",
          listOf(openRecord({ path: text, title: text })),
        ),
        locked: described(
          "Endpoints that fit the query and that this key may not call.",
          listOf(openRecord({ path: text, needs: text })),
        ),
        next_offset: count,
        hint: text,
      },
    ),
  ),
  tool(
    "describe_endpoint",
    "Describe one endpoint: columns with types, parameters, required filters, page sizes, sorting, freshness, tests.",
    record({ path }),
    openRecord({ path: text, columns: listOf({}) }, { description: text }),
  ),
  tool(
    "list_values",
    "List the values of one column, the most frequent first, so that a filter asks for one that exists.",
    record(
      { path, column: described("A column of the rows; a group where an endpoint has no rows.", text) },
      {
        prefix: described("Only values that begin with this text, in any letter case.", text),
        parameters: described("Filters of the endpoint, as query_endpoint takes them.", parameters),
        limit,
      },
    ),
    openRecord({
      values: listOf(
        openRecord({ value: { type: ["string", "number", "boolean", "null"] } }, { rows: count }),
      ),
      more: described("Whether there are others: give a prefix or filters.", flag),
    }),
  ),
  tool(
    "query_endpoint",
    `Query one endpoint and get rows as JSON. At most ${String(MAX_ROWS)} rows and ${String(MAX_CHARACTERS)} characters ` +
      "a call: filter and sort rather than read everything. Describe the endpoint first: unknown parameters are refused.",
    record(
      { path },
      {
        parameters,
        limit,
        offset,
        cursor,
        count: described(
          "Whether to count the rows on all pages, as total. One page has its total anyway.",
          flag,
        ),
      },
    ),
    ROWS,
  ),
  tool(
    "query_metrics",
    `Sum and count by group: an endpoint whose description has an \`aggregate\`. At most ${String(MAX_ROWS)} rows and ` +
      `${String(MAX_CHARACTERS)} characters a call. Describe the endpoint first: it lists measures, groups with grains, and filters.`,
    record(
      { path },
      {
        measures: described("Names of its measures or metrics. Default: all.", texts),
        group_by: described(
          "Names of its groups, a time with its grain: metric_time__month. Default: none, the total.",
          texts,
        ),
        filters: described(
          `By group, \`group[operator]\`, or by the result of a measure that is asked: ${operators.join("; ")}. Without an operator: is the value.`,
          parameters,
        ),
        start_date: described("First day of metrics, YYYY-MM-DD.", text),
        end_date: described("Last day of metrics, inclusive.", text),
        sort_by: described("A group or a measure that is asked.", text),
        sort_direction: oneOf(["ASC", "DESC"]),
        top: described(
          "Only so many groups, the greatest by sort_by; with sort_direction ASC the least.",
          count,
        ),
        other: described("With top: one row for all other groups, marked by the column `other`.", flag),
        totals: described(
          "Rows for totals too, in the order of group_by; the column `level` counts a row's groups.",
          flag,
        ),
        compare: described(
          "Adds each value in an earlier period, and the change. Needs both dates.",
          oneOf(COMPARISONS),
        ),
        limit,
        offset,
        cursor,
      },
    ),
    ROWS,
  ),
  tool(
    "chart_endpoint",
    "Add up columns of one endpoint at each value of another, over the rows of all pages: the points of a chart. " +
      `A time in its order, else the largest first; at most ${String(MAX_CHARACTERS)} characters a call.`,
    record(
      {
        path,
        x: described("The column along the axis.", text),
        y: described("Columns of numbers that are added up.", { ...texts, minItems: 1 }),
      },
      {
        by: described("Columns whose values divide each point.", texts),
        grain: described("Period of a time `x`. Default: each of its values.", oneOf(GRAINS)),
        parameters: described("Filters of the endpoint, as query_endpoint takes them.", parameters),
      },
    ),
    openRecord({
      points: described(
        "In the order of `y` and `by`; count: values that are not null, by which a sum becomes an average.",
        listOf(openRecord({ x: {}, by: listOf({}), sum: listOf({}), count: listOf({}) })),
      ),
      more: described("Whether there are others: choose a coarser grain, or filter.", flag),
    }),
  ),
  tool(
    "summarize_endpoint",
    "Count the rows of one endpoint on all pages and find the first and last value of its dates, without reading the rows.",
    record({ path }, { parameters }),
    openRecord({ count, dates: described("By column.", mapOf(openRecord({ min: {}, max: {} }))) }),
  ),
];

/** As the protocol lists them: its types know a schema as JSON alone. */
export const LISTED_TOOLS = TOOLS.map((each) => ({ ...each, ...viewMeta(each.name) })) as unknown as Tool[];

/** Arguments of all tools; each tool's schema says which it takes. */
export interface Arguments {
  readonly path: string;
  readonly column?: string;
  readonly x?: string;
  readonly y?: readonly string[];
  readonly by?: readonly string[];
  readonly grain?: string;
  readonly prefix?: string;
  readonly query?: string;
  readonly category?: string;
  readonly parameters?: ToolParameters;
  readonly limit?: number;
  readonly offset?: number;
  readonly cursor?: string;
  readonly count?: boolean;
  readonly measures?: readonly string[];
  readonly group_by?: readonly string[];
  readonly filters?: ToolParameters;
  readonly start_date?: string;
  readonly end_date?: string;
  readonly sort_by?: string;
  readonly sort_direction?: string;
  readonly top?: number;
  readonly other?: boolean;
  readonly totals?: boolean;
  readonly compare?: string;
}

export type ToolParameters = Readonly<Record<string, Value | readonly Value[]>>;

export type Value = string | number | boolean;

/** Bounded by the tools. */
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
