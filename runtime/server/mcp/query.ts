import type { ServedEndpoint } from "../../core/model/served-endpoint.js";
import { type HttpError, isHttpError, type Result } from "../../core/model/errors.js";
import { traceOf } from "../../core/http/headers.js";
import type { Exchange } from "../../core/handler/exchange.js";
import { recordRequest, StepTimes } from "../../core/handler/record-request.js";
import { shapeOf } from "../../core/handler/request-shape.js";
import { parameterNames, resolve } from "../../core/handler/resolve.js";
import { readRows } from "../../core/response/read-rows.js";
import { errorOf } from "../../core/handler/query-error.js";
import { run } from "../../core/handler/run.js";
import { summarize } from "../../core/handler/summarize.js";
import { requireAccess } from "../../core/request/authorize.js";
import type { RawFields, ResolvedQuery } from "../../core/model/query.js";
import { NO_ROWS, type Sent } from "../../core/response/respond.js";
import type { Answer, AnsweredRows } from "../../core/response/answer.js";
import type { ToolParameters } from "./tools.js";

/** What an endpoint answers a tool. */
export interface QueryReply {
  readonly status: number;
  /** NDJSON, or one object: an error, or a summary. */
  readonly body: string;
  /** Whether the body was cut, or more rows follow the page. */
  readonly hasMore: boolean;
  /** The cursor of the next page; null where the endpoint has none, or the body was cut. */
  readonly nextCursor: string | null;
  /** When the rows were built; null where that is not known. */
  readonly asOf: string | null;
  /** The number of rows on all pages, where it is asked for. */
  readonly total: number | null;
  readonly sent: Sent;
}

/** What is asked about rows, beside their page. */
export interface ToolQuestion {
  /** One object about all of them, in place of rows. */
  readonly isSummary?: boolean;
  readonly wantsTotal?: boolean;
}

/** Longer responses are cut: language models read far less. */
const MAX_BYTES = 256 * 1024;

/**
 * Queries an endpoint for the caller of a tool: the steps of a request to it, recorded as one. The tool's own request has
 * been counted against the caller's window already.
 */
export async function queryForTool(
  exchange: Exchange,
  endpoint: ServedEndpoint,
  parameters: ToolParameters,
  question: ToolQuestion,
): Promise<QueryReply> {
  const { gateway, request, context } = exchange;
  const { caller } = context;
  const times = new StepTimes();
  let outcome: Result<QueryReply> | null = requireAccess(endpoint.spec.path, endpoint.spec.tier, caller);
  times.end("authorize");
  let names: readonly string[] = [];
  let shape: string | null = null;
  if (outcome === null) {
    const fields = fieldsOf(parameters);
    const query = await resolve(gateway, endpoint, caller, { fields, source: "query", format: "ndjson" });
    times.end("resolve");
    if (!isHttpError(query)) {
      names = parameterNames(endpoint, query);
      if (gateway.usageShapes) shape = shapeOf(endpoint, query, "MCP", caller.tier);
    }
    const exceeded = isHttpError(query) ? null : await caller.key?.use?.take(context);
    outcome = isHttpError(query)
      ? query
      : (exceeded ?? (await readReply(exchange, endpoint, query, question)));
    times.end("run");
  }
  const error = isHttpError(outcome) ? outcome : null;
  const reply = outcome === null || isHttpError(outcome) ? withoutRows(outcome) : outcome;
  const { status, sent } = reply;
  const served = {
    method: "GET",
    route: endpoint.spec.path,
    path: null,
    trace: traceOf(request),
    parameters: names,
    shape,
  };
  recordRequest(gateway, context, { ...served, status, sent, error, times });
  return reply;
}

/** Null when the client has disconnected. */
async function readReply(
  { gateway, context }: Exchange,
  endpoint: ServedEndpoint,
  query: ResolvedQuery,
  { isSummary = false, wantsTotal = false }: ToolQuestion,
): Promise<Result<QueryReply> | null> {
  if (isSummary) {
    const summary = await summarize(gateway, endpoint.spec, query, context);
    if (summary === null || isHttpError(summary)) return summary;
    const body = JSON.stringify(summary);
    return { ...NO_PAGE, status: 200, body, sent: { ...NO_ROWS, bytes: body.length } };
  }
  const answer = await run(gateway, endpoint.spec, query, { ...context, wantsTotal });
  if (answer === null || isHttpError(answer)) return answer;
  try {
    return answer.result && (await replyOf({ ...answer, result: answer.result }));
  } catch (error) {
    return errorOf(gateway, endpoint.spec, context, error);
  }
}

/** A result up to a size. */
async function replyOf(
  answer: AnsweredRows & Pick<Answer, "hasMore" | "version" | "total">,
): Promise<QueryReply> {
  const { body, isCut, sent } = await readRows(answer, MAX_BYTES);
  const nextCursor = isCut ? null : answer.result.nextCursor;
  const { version, total } = answer;
  const page = { hasMore: isCut || answer.hasMore, nextCursor, asOf: version?.asOf ?? null, total };
  return { status: 200, body, ...page, sent };
}

const NO_PAGE = { hasMore: false, nextCursor: null, asOf: null, total: null };

/** The reply with an error; an empty one that is not read, when the client has disconnected. */
export function withoutRows(error: HttpError | null): QueryReply {
  const { status, detail } = error ?? { status: 200, detail: "" };
  return { ...NO_PAGE, status, body: JSON.stringify({ detail }), sent: NO_ROWS };
}

/** A tool's parameters as those of a query string. */
export function fieldsOf(parameters: ToolParameters): RawFields {
  const texts = (value: ToolParameters[string]): string[] => [value].flat().map(String);
  return new Map(
    Object.entries(parameters).map(([name, value]) => [name, { from: "query", texts: texts(value) }]),
  );
}
