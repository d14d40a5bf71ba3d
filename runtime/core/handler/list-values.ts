import { columnNamed } from "../model/column-names.js";
import { httpError, isHttpError, type Result } from "../model/errors.js";
import { DEFAULT_MAX_LENGTH, MAX_FACETS } from "../model/limits.js";
import type { RawFields, Selection } from "../model/query.js";
import type { ServedEndpoint } from "../model/served-endpoint.js";
import { readList } from "../request/request-fields.js";
import { filterToLoad, unsupported } from "../request/resolve-query.js";
import { loadMetrics, type ValuesQuestion } from "../warehouse/load-metrics.js";
import type { ResultColumn } from "../warehouse/warehouse.js";
import {
  askAll,
  askRows,
  type EndpointLookup,
  rowsRequest,
  type RowsQuestion,
  type RowsRequest,
} from "./ask-rows.js";
import type { Exchange } from "./exchange.js";

/** The values of a column. */
export interface ListedValues {
  readonly values: readonly ListedValue[];
  /** Whether there are others. */
  readonly more: boolean;
}

interface ListedValue {
  readonly value: unknown;
  /** How many rows have it; absent where rows are not served. */
  readonly rows?: number;
}

/** Longer lists are cut. */
const MAX_BYTES = 64 * 1024;

/** The values of several columns. */
interface Facets {
  readonly facets: Readonly<Record<string, ListedValues>>;
}

/** The values that a request asks for: of one `column`, or of all `columns`. */
export async function requestedValues(
  exchange: Exchange,
  lookup: EndpointLookup,
): Promise<Result<ListedValues | Facets> | null> {
  const request = await rowsRequest(exchange, lookup);
  if (request === null || isHttpError(request)) return request;
  return request.fields.has("columns") ? facetsOf(exchange, request) : columnValues(exchange, request);
}

/** The values of each column in the rows that the conditions on other columns leave. */
async function facetsOf(exchange: Exchange, request: RowsRequest): Promise<Result<Facets> | null> {
  const columns = readColumns(request.fields);
  if (isHttpError(columns)) return columns;
  const answers = await askAll(exchange, request, () => readFacets(exchange, request, columns));
  if (answers === null || isHttpError(answers)) return answers;
  return { facets: Object.fromEntries(columns.map((column, i) => [column, answers[i] as ListedValues])) };
}

async function readFacets(
  exchange: Exchange,
  request: RowsRequest,
  columns: readonly string[],
): Promise<Result<readonly RowsQuestion<ListedValues>[]>> {
  const questions = [];
  for (const column of columns) {
    const others = [...request.fields].filter(([name]) => name !== "columns");
    const fields = new Map([...others, ["column", { from: "body", value: column }] as const]);
    const question = await readQuestion(exchange, { ...request, fields }, true);
    if (isHttpError(question)) return question;
    questions.push(question);
  }
  return questions;
}

function readColumns(fields: RawFields): Result<readonly string[]> {
  const also = ["column", "prefix"].filter((name) => fields.has(name));
  if (also.length > 0) return unsupported(also, "query");
  const raw = fields.get("columns");
  const names = raw === undefined ? null : readList("columns", raw);
  if (names === null) return httpError("parameterRequired", { name: "columns" });
  if (isHttpError(names)) return names;
  const distinct = [...new Set(names)];
  return distinct.length > MAX_FACETS
    ? httpError("tooManyValues", { name: "columns", max: MAX_FACETS })
    : distinct;
}

/** The values of a column, as the caller may read them. Null when the client has disconnected. */
export function columnValues(exchange: Exchange, request: RowsRequest): Promise<Result<ListedValues> | null> {
  return askRows(exchange, request, () => readQuestion(exchange, request));
}

async function readQuestion(
  { gateway }: Exchange,
  { endpoint, fields, isPrivate }: RowsRequest,
  isFacet = false,
): Promise<Result<RowsQuestion<ListedValues>>> {
  const { readValuesQuestion, valuesOfGroup } = await loadMetrics();
  await filterToLoad(endpoint, fields);
  const { path } = endpoint.spec;
  const question = readValuesQuestion(endpoint, (column) => isPrivate(path, column), fields, isFacet);
  if (isHttpError(question)) return question;
  const filters = question.conditions.map(({ name }) => name).filter((name) => name !== "prefix");
  const { grouping } = question;
  return {
    names: [...filters, `fields=${question.column}`],
    maxBytes: MAX_BYTES,
    select: () =>
      grouping === null
        ? selectionOfRows(gateway, endpoint, question)
        : valuesOfGroup(question, grouping.aggregate),
    answer: (rows, hasMore) => {
      const found = distinct(rows as unknown as readonly ListedValue[]);
      const values = found.filter(({ value }) => isFilterValue(value));
      return { values, more: hasMore || values.length < found.length };
    },
  };
}

/** Whether the values of a column can be told apart. */
export function hasValues(
  { warehouse }: Pick<Exchange["gateway"], "warehouse">,
  column: ResultColumn,
): boolean {
  return warehouse.valuesOf(column) !== "other" && column.states === undefined;
}

async function selectionOfRows(
  gateway: Exchange["gateway"],
  endpoint: ServedEndpoint,
  question: ValuesQuestion,
): Promise<Result<Selection>> {
  const { spec } = endpoint;
  const columns = await gateway.warehouse.columns(spec.relation, gateway.versionOf(spec.path)?.id ?? null);
  const column = columnNamed(columns, question.column);
  if (column === undefined || !hasValues(gateway, column))
    return httpError("notFilterable", { name: "column" });
  const { valuesOfRows } = await loadMetrics();
  return valuesOfRows(endpoint, question, (name) => columnNamed(columns, name)?.name ?? name);
}

/** A filter takes no longer text. */
function isFilterValue(value: unknown): boolean {
  return typeof value !== "string" || Array.from(value).length <= DEFAULT_MAX_LENGTH;
}

/** NaN and infinities are null in JSON: one value. */
function distinct(values: readonly ListedValue[]): readonly ListedValue[] {
  const found = new Map<unknown, ListedValue>();
  for (const { value, rows } of values) {
    const known = found.get(value);
    const sum = (known?.rows ?? 0) + (rows ?? 0);
    found.set(value, rows === undefined ? { value } : { value, rows: sum });
  }
  return [...found.values()].sort((one, other) => (other.rows ?? 0) - (one.rows ?? 0));
}
