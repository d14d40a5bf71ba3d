import type { CallToolResult } from "@modelcontextprotocol/server";
import { isHttpError } from "../../core/model/errors.js";
import { withoutPreamble } from "../../core/model/endpoint-title.js";
import type { ServedEndpoint } from "../../core/model/served-endpoint.js";
import { linesOf, type ReadRow, rowOf } from "../../core/response/read-rows.js";
import type { RowsRequest } from "../../core/handler/ask-rows.js";
import { pointsOfChart } from "../../core/handler/chart-points.js";
import { columnValues } from "../../core/handler/list-values.js";
import {
  type CatalogueBody,
  type CatalogueEndpoint,
  categoriesOf,
  lockOf,
} from "../../pages/catalogue-body.js";
import type { Answers } from "../../pages/questions/question-search.js";
import { columnNotes } from "./column-notes.js";
import { describedEndpoint, type ToolRequest } from "./describe.js";
import { groupsRequest } from "./groups.js";
import { failureText, fittingLines, fittingTexts, pageOf } from "./page.js";
import { fieldsOf, queryForTool, type QueryReply, type ToolQuestion, withoutRows } from "./query.js";
import {
  argumentProblem,
  type Arguments,
  DEFAULT_FOUND,
  DEFAULT_ROWS,
  MAX_CHARACTERS,
  type ToolParameters,
} from "./tools.js";

/** Runs a tool. */
export async function callTool(tool: ToolRequest, name: string, given: unknown): Promise<CallToolResult> {
  const problem = argumentProblem(name, given);
  if (problem !== null) return failure(problem);
  const args = given as Arguments;
  if (name === "list_categories") {
    const counts = [...categoriesOf(tool.callable.endpoints)];
    return success({ categories: counts.map(([category, endpoints]) => ({ category, endpoints })) });
  }
  if (name === "search_endpoints") return searchEndpoints(tool, args);
  const endpoint = tool.callable.endpoints.find(({ path }) => path === args.path);
  if (endpoint === undefined) return unknownEndpoint(tool, args.path);
  if (name === "describe_endpoint") return success(describedEndpoint(tool, endpoint));
  switch (name) {
    case "list_values":
      return listValues(tool, endpoint, args);
    case "chart_endpoint":
      return chartEndpoint(tool, endpoint, args);
    case "query_endpoint":
      return queryEndpoint(tool, endpoint, args);
    case "query_metrics":
      return endpoint.aggregate === undefined
        ? failure(`${args.path} has no measures: query its rows with query_endpoint.`)
        : queryEndpoint(tool, ...groupsRequest(endpoint, endpoint.aggregate, args));
    default:
      return summarizeEndpoint(tool, endpoint, args);
  }
}

async function searchEndpoints(tool: ToolRequest, args: Arguments): Promise<CallToolResult> {
  const { query = "", category, limit = DEFAULT_FOUND, offset = 0 } = args;
  const answers = (await tool.documents.search(tool.exchange.context.caller)).find(query);
  const all = answers.found
    .flatMap((i) => tool.callable.endpoints[i] ?? [])
    .map((each, rank) => ({ ...each, fits: rank < answers.fitting }))
    .filter((each) => category === undefined || each.category === category);
  const found = all.filter(({ fits }) => fits);
  const endpoints = found
    .slice(offset, offset + limit)
    .map(({ path, title, description, columns, tier, aggregate }) => ({
      path,
      title,
      description: withoutPreamble(description),
      tier,
      columns: columns.map(({ name }) => name),
      ...(aggregate && { [aggregate.of]: aggregate.measures.map(({ name }) => name) }),
    }));
  const nearest =
    found.length > 0 ? [] : all.slice(0, MAX_NEAREST).map(({ path, title }) => ({ path, title }));
  const next = offset + endpoints.length;
  const hint = hintOf(tool.callable, answers, { found: found.length, nearest: nearest.length }, args);
  const locked = await lockedFor(tool, args);
  return success({
    found: found.length,
    endpoints,
    ...(nearest.length > 0 && { nearest }),
    ...(locked.length > 0 && { locked }),
    ...(next < found.length && { next_offset: next }),
    ...(hint !== null && { hint }),
  });
}

/** Endpoints named where none fits. */
const MAX_NEAREST = 3;

/** Locked endpoints named in a result. */
const MAX_LOCKED = 3;

/** Locked endpoints that have every word of the query: the answer may be there, and not in those of other words. */
async function lockedFor(tool: ToolRequest, { query = "", category }: Arguments) {
  if (query === "" || tool.locked.length === 0) return [];
  const { found, complete } = (await tool.documents.lockedSearch(tool.exchange.context.caller)).find(query);
  return found
    .slice(0, complete)
    .flatMap((i) => tool.locked[i] ?? [])
    .filter((each) => category === undefined || each.category === category)
    .slice(0, MAX_LOCKED)
    .map((each) => ({ path: each.path, needs: lockOf(each, tool.callable.tier) ?? "" }));
}

/** What to try where nothing fits the query, or nothing fits all of it. */
function hintOf(
  catalogue: CatalogueBody,
  answers: Answers,
  { found, nearest }: { readonly found: number; readonly nearest: number },
  { query = "", category }: Arguments,
): string | null {
  if (found > 0)
    return answers.complete > 0 ? null : `No endpoint has every word of '${query}': these have some.`;
  const categories = [...categoriesOf(catalogue.endpoints).keys()];
  const known = `The categories are ${categories.slice(0, MAX_NAMED).join(", ") || "empty"}.`;
  if (answers.fitting > 0) return `Nothing fits in the category '${category ?? ""}': leave it out. ${known}`;
  const others = `Try other words for the same, or fewer; or search without a query in one category. ${known}`;
  return nearest > 0
    ? `No endpoint is about '${query}': those in \`nearest\` have a word of it. ${others}`
    : `No endpoint has a word of '${query}'. ${others}`;
}

/** Categories named in a hint. */
const MAX_NAMED = 30;

/** Rows as NDJSON, or one object about all of them. */
function query(
  tool: ToolRequest,
  { path }: CatalogueEndpoint,
  parameters: ToolParameters,
  question: ToolQuestion = {},
): Promise<QueryReply> {
  return queryForTool(tool.exchange, servedAt(tool, path), parameters, question);
}

function servedAt({ endpoints }: ToolRequest, path: string): ServedEndpoint {
  const endpoint = endpoints.get(path)?.served;
  if (endpoint === undefined) throw new Error(`The catalogue has ${path}, which is not served.`);
  return endpoint;
}

async function queryEndpoint(
  tool: ToolRequest,
  endpoint: CatalogueEndpoint,
  args: Arguments,
): Promise<CallToolResult> {
  const page = pageOf(endpoint, args);
  if (typeof page === "string") return failure(page);
  const { limit, offset, parameters } = page;
  const { cursor = parameters["cursor"] } = args;
  const paging = { ...(offset > 0 && { offset }), ...(typeof cursor === "string" && { cursor }) };
  const question = { wantsTotal: args.count === true };
  const read = (rows: number): Promise<QueryReply> =>
    query(
      tool,
      endpoint,
      { ...parameters, ...(endpoint.pagination && { limit: rows }), ...paging },
      question,
    );
  let reply = await read(limit);
  if (reply.status !== 200) return failure(failureText(reply, endpoint));
  const fitting = fittingLines(reply.body, limit).length;
  const hasCursors = endpoint.cursor !== undefined || reply.nextCursor !== null;
  const isByOffset = endpoint.pagination !== null && cursor === undefined;
  if (fitting === 0 && (reply.body !== "" || reply.hasMore)) {
    const { nextCursor } = hasCursors ? await read(1) : reply;
    return longRow(servedAt(tool, endpoint.path), isByOffset ? offset + 1 : null, nextCursor);
  }
  // A cursor stands after the last row of a page, not after one in it.
  if (
    hasCursors &&
    fitting > 0 &&
    (reply.nextCursor === null ? reply.hasMore : fitting < linesOf(reply.body).length)
  )
    reply = await read(fitting);
  return rowsResult(endpoint, reply, limit, {
    offset: isByOffset ? offset : null,
    isFirst: cursor === undefined && offset === 0,
  });
}

/** The error for a row that is longer than a result may be: which parameters read part of it, and which skip it. */
function longRow({ spec }: ServedEndpoint, offset: number | null, cursor: string | null): CallToolResult {
  const [skip] = [cursor && `cursor ${cursor}`, offset && `offset ${String(offset)}`].filter(Boolean);
  return failure(
    `The next row has more than ${String(MAX_CHARACTERS)} characters.` +
      (spec.fields === true ? " Ask for some of its columns: the parameter fields." : "") +
      (skip === undefined ? "" : ` To continue after it: ${skip}.`),
  );
}

/** As many rows as fit. The text has them as the API prints them, so that no digit is lost. */
function rowsResult(
  endpoint: CatalogueEndpoint,
  { body, hasMore, nextCursor, asOf, total }: QueryReply,
  limit: number,
  { offset, isFirst }: { readonly offset: number | null; readonly isFirst: boolean },
): CallToolResult {
  const fitting = fittingLines(body, limit);
  const isWhole = fitting.length === linesOf(body).length;
  const isCut = !isWhole || hasMore;
  const all = isFirst && !isCut ? fitting.length : total;
  const rows = fitting.map(rowOf) satisfies ReadRow[];
  const head = {
    ...(asOf !== null && { data_as_of: asOf }),
    returned: fitting.length,
    has_more: isCut,
    ...(all !== null && { total: all }),
    ...(isCut && offset !== null && { next_offset: offset + fitting.length }),
    ...(isWhole && nextCursor !== null && { next_cursor: nextCursor }),
    ...columnNotes(endpoint, Object.keys(rows[0] ?? {})),
  };
  const text = `${JSON.stringify(head).slice(0, -1)},"rows":[${fitting.join(",\n")}]}`;
  return success({ ...head, rows }, text);
}

async function listValues(
  tool: ToolRequest,
  endpoint: CatalogueEndpoint,
  { column = "", prefix, limit = DEFAULT_ROWS, parameters = {} }: Arguments,
): Promise<CallToolResult> {
  const taken = takenName(parameters, ["path", "column", "prefix", "limit"]);
  if (taken !== null) return taken;
  const fields = { ...parameters, column, limit, ...(prefix !== undefined && { prefix }) };
  const found = await columnValues(tool.exchange, rowsRequest(tool, endpoint, fields));
  if (found === null || isHttpError(found)) return failure(failureText(withoutRows(found), endpoint));
  return success(found);
}

/** The refusal of parameters that are arguments of the tool: they would be read as these, or not at all. */
function takenName(parameters: ToolParameters, names: readonly string[]): CallToolResult | null {
  const found = names.find((name) => Object.hasOwn(parameters, name));
  return found === undefined
    ? null
    : failure(`'${found}' is an argument of the tool, beside \`parameters\`.`);
}

async function chartEndpoint(
  tool: ToolRequest,
  endpoint: CatalogueEndpoint,
  { x = "", y = [], by = [], grain, parameters = {} }: Arguments,
): Promise<CallToolResult> {
  const taken = takenName(parameters, ["path", "x", "y", "by", "grain"]);
  if (taken !== null) return taken;
  const fields = { ...parameters, x, y, ...(by.length > 0 && { by }), ...(grain !== undefined && { grain }) };
  const found = await pointsOfChart(tool.exchange, rowsRequest(tool, endpoint, fields));
  if (found === null || isHttpError(found)) return failure(failureText(withoutRows(found), endpoint));
  const fitting = fittingTexts(found.points.map((point) => JSON.stringify(point)));
  const points = found.points.slice(0, fitting.length);
  return success({ points, more: found.more || points.length < found.points.length });
}

/** A question about the rows of an endpoint, with the fields of a query string. */
const rowsRequest = (
  tool: ToolRequest,
  { path }: CatalogueEndpoint,
  fields: ToolParameters,
): RowsRequest => ({
  endpoint: servedAt(tool, path),
  path,
  fields: fieldsOf(fields),
  isPrivate: tool.isPrivate,
  requestPath: null,
});

async function summarizeEndpoint(
  tool: ToolRequest,
  endpoint: CatalogueEndpoint,
  { parameters = {} }: Arguments,
): Promise<CallToolResult> {
  const reply = await query(tool, endpoint, parameters, { isSummary: true });
  return reply.status === 200
    ? success(JSON.parse(reply.body) as object)
    : failure(failureText(reply, endpoint));
}

/** With `CATALOGUE=allowed` no locked endpoint is known: its existence is not disclosed. */
function unknownEndpoint({ callable, locked }: ToolRequest, path: string): CallToolResult {
  const known = locked.find((each) => each.path === path);
  const lock = known && lockOf(known, callable.tier);
  const reason = lock ? ` (${lock})` : "";
  return failure(`Your key can call no endpoint ${path}${reason}. Find one with search_endpoints.`);
}

function success(structuredContent: object, text = JSON.stringify(structuredContent)): CallToolResult {
  return { content: [{ type: "text", text }], structuredContent: { ...structuredContent } };
}

function failure(text: string): CallToolResult {
  return { content: [{ type: "text", text }], isError: true };
}
