import { hash } from "node:crypto";
import type { Exchange } from "../../core/handler/exchange.js";
import { parameterNames } from "../../core/handler/resolve.js";
import { shapeOf } from "../../core/handler/request-shape.js";
import { noticeOf, run } from "../../core/handler/run.js";
import { type HttpError, isHttpError, type Result } from "../../core/model/errors.js";
import { callerHeaders } from "../../core/request/authorize.js";
import type { Answer, AnsweredRows, QueryResult } from "../../core/response/answer.js";
import type { Reply } from "../../core/http/send.js";
import { BufferedResult } from "../../core/response/buffered-result.js";
import { privateControl } from "../../core/response/caching-headers.js";
import {
  freshnessHeaders,
  qualityHeaders,
  respond,
  type RowsResponse,
  type Sent,
} from "../../core/response/respond.js";
import { versionHeaders } from "./errors.js";
import type { OdataQuery } from "./query.js";
import type { OdataSet } from "./sets.js";

type SentBody = Result<QueryResult> | Reply;

/** What a response says of an answer. */
export interface OdataBody {
  /** Of one response at one address: a client that has it has the response while the rows have not changed. */
  readonly form: string;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The result as it is sent; a reply where it has no content, an error where there is none. What it asks for itself it adds to `asked`. */
  readonly bodyOf: (
    answer: Answer & AnsweredRows,
    asked: Pick<Answer, "result" | "hasRunQuery">[],
  ) => SentBody | Promise<SentBody>;
}

/** A request below `/odata`; one of a batch has a response of its own. */
export type OdataExchange = Exchange & { readonly deliver?: (response: RowsResponse) => Promise<Sent> };

/** Asks a set for rows and sends them: the steps of a request to the endpoint itself. Null when the client has disconnected. */
export async function answerOdata(
  exchange: OdataExchange,
  set: OdataSet,
  resolving: Promise<Result<OdataQuery>>,
  wantsTotal: boolean,
  describe: (query: OdataQuery) => OdataBody,
): Promise<Reply | HttpError | null> {
  const { gateway, request, context, times } = exchange;
  const { endpoint } = set;
  const resolved = await resolving;
  times.end("resolve");
  if (isHttpError(resolved)) return resolved;
  const exceeded = await context.caller.key?.use?.take(context);
  if (exceeded) return exceeded;
  const { query } = resolved;
  exchange.parameters = parameterNames(endpoint, query);
  if (gateway.usageShapes) exchange.shape = shapeOf(endpoint, query, "OData", context.caller.tier);
  const body = describe(resolved);
  const form = hash("sha1", body.form, "base64url").slice(0, FORM_LENGTH);
  const { id, caller, isStillNeeded } = context;
  const ifNoneMatch = plainTags(request.headers["if-none-match"], form);
  const reader = {
    id,
    caller,
    isStillNeeded,
    onStart: () => times.queryStarted(),
    onRollUp: (relation: string | null) => (times.rollUp = relation),
    ifNoneMatch,
    wantsTotal,
  };
  const answer = await run(gateway, endpoint.spec, query, reader);
  times.end("run");
  if (answer === null || isHttpError(answer)) return answer;
  const asked: Parameters<OdataBody["bodyOf"]>[1] = [answer];
  const result = answer.result && (await body.bodyOf({ ...answer, result: answer.result }, asked));
  // What became another body is not read to its end.
  const databaseMs = isStream(result) ? null : await timeOf(asked);
  if (result !== null && "status" in result) {
    // No content is a response for which a query ran; an error counts for nothing.
    if (!isHttpError(result)) exchange.sent = { rows: 0, bytes: 0, databaseMs };
    return result;
  }
  const { deliver = respond } = exchange;
  const sent = await deliver({
    request,
    response: exchange.response,
    answer: { ...answer, result, tag: answer.tag && formTag(answer.tag, form) },
    headers: headersOf(exchange, set, answer, body.headers),
    caching: ["Cache-Control", privateControl(request), "Vary", VARY],
    contentType: body.contentType,
    caller,
    responseMemory: gateway.responseMemory,
    streamTimeoutMs: gateway.streamTimeouts[caller.tier],
  });
  exchange.sent = isStream(result) ? sent : { ...sent, databaseMs };
  return null;
}

/** The time of the queries that this request ran itself; null where it ran none. Their streams end. */
async function timeOf(asked: Parameters<OdataBody["bodyOf"]>[1]): Promise<number | null> {
  let sum: number | null = null;
  for (const { result, hasRunQuery } of asked) {
    const end = result?.kind === "stream" ? (await result.stream.chunks.return()).value : null;
    const databaseMs = end?.milliseconds ?? (result?.kind === "buffered" ? result.databaseMs : 0);
    if (hasRunQuery) sum = (sum ?? 0) + databaseMs;
  }
  return sum;
}

const isStream = (body: SentBody | null): boolean =>
  body !== null && "kind" in body && body.kind === "stream";

const VARY = "Accept, Accept-Encoding, Authorization, OData-MaxVersion, Prefer, X-API-Key";

function headersOf(
  exchange: Exchange,
  { endpoint: { spec } }: OdataSet,
  { due, quality }: Answer,
  own: OdataBody["headers"],
): string[] {
  const { request, context } = exchange;
  return [
    ...callerHeaders(context),
    ...noticeOf(exchange, spec),
    ...(due === null ? [] : freshnessHeaders(due)),
    ...qualityHeaders(quality),
    ...Object.entries({ ...versionHeaders(request), ...own }).flat(),
  ];
}

/** The same rows have several forms, of which each has a tag of its own: the build's with the form behind a dot. */
const FORM_LENGTH = 8;

const formTag = (tag: string, form: string): string => `${tag.slice(0, -1)}.${form}"`;

/** The tags of rows that a client has in this form. */
function plainTags(header: string | undefined, form: string): string | undefined {
  const ending = `.${form}"`;
  const tags = header
    ?.split(",")
    .map((tag) => tag.trim())
    .filter((tag) => tag.endsWith(ending));
  return tags?.map((tag) => `${tag.slice(0, -ending.length)}"`).join(", ");
}

/** The result with text before and behind it. */
export function wrapped(result: QueryResult, head: string, tail: (hasMore: boolean) => string): QueryResult {
  if (result.kind === "stream") {
    const { frame } = result;
    return {
      ...result,
      frame: {
        head: head + frame.head,
        tail: (end) => frame.tail(end) + tail(end.hasMore || result.nextCursor !== null),
      },
    };
  }
  const { parts, rows, databaseMs, hasMore, nextCursor } = result;
  const all = [Buffer.from(head), ...parts, Buffer.from(tail(hasMore || nextCursor !== null))];
  return new BufferedResult(all, rows, databaseMs, hasMore, nextCursor);
}

/** What was read of a result. */
export interface ReadText {
  readonly text: string;
  /** Null: not known. */
  readonly rows: number | null;
  readonly databaseMs: number;
}

/** The body of a result as a text; null where it is longer. */
export async function textOf(result: QueryResult, maxBytes = Infinity): Promise<ReadText | null> {
  if (result.kind === "buffered") {
    const { rows, databaseMs } = result;
    return result.bytes > maxBytes ? null : { text: result.body.toString(), rows, databaseMs };
  }
  const { chunks } = result.stream;
  const read: Buffer[] = [];
  let bytes = 0;
  let chunk = await chunks.next();
  for (; chunk.done !== true && bytes <= maxBytes; chunk = await chunks.next()) {
    read.push(Buffer.from(chunk.value));
    bytes += chunk.value.length;
  }
  if (bytes > maxBytes || chunk.done !== true) {
    await chunks.return();
    return null;
  }
  const { returned: rows, milliseconds: databaseMs } = chunk.value;
  const text = result.frame.head + Buffer.concat(read).toString() + result.frame.tail(chunk.value);
  return { text, rows, databaseMs };
}
