import type { IncomingMessage } from "node:http";
import type { DataPath, Exchange } from "../../core/handler/exchange.js";
import { errorOf } from "../../core/handler/query-error.js";
import { recordRequest, StepTimes } from "../../core/handler/record-request.js";
import { readBodyText } from "../../core/handler/resolve.js";
import type { Handled } from "../../core/http/route.js";
import type { Reply } from "../../core/http/send.js";
import { httpError, type HttpError, isHttpError, type Result } from "../../core/model/errors.js";
import { matchesTag } from "../../core/response/entity-tag.js";
import { authorize, requireAccess } from "../../core/request/authorize.js";
import { NO_ROWS, type RowsResponse, type Sent } from "../../core/response/respond.js";
import { type OdataExchange, textOf } from "./answer.js";
import { type BatchFormat, formatOf } from "./batch-formats.js";
import { headersByName, odataError, versionHeaders } from "./errors.js";
import { ROOT } from "./set-request.js";

/** Reads of one batch: each counts as a request of its caller. */
const MAX_REQUESTS = 20;

/** Of all responses: they are held in memory until the last one is there. */
const MAX_BYTES = 8 * 1024 * 1024;

/** A request in a batch. */
interface BatchRequest {
  readonly id: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A part of the response. */
interface BatchPart {
  readonly text: string;
  readonly bytes: number;
  readonly status: number;
  readonly refusal: HttpError | null;
}

/** `POST /odata/$batch`: reads one after the other, each with the checks, limits and records of a request of its own. */
export async function serveBatch(
  exchange: Exchange,
  itemAt: (path: string) => DataPath,
): Promise<Handled<HttpError>> {
  const format = formatOf(exchange.request.headers["content-type"] ?? "");
  const requests = await readBatch(exchange, format);
  if (requests === null || isHttpError(requests)) return requests;
  const goesOn = /(?:^|[,;])\s*(?:odata\.)?continue-on-error(?!\s*=\s*"?false)/i.test(
    String(exchange.request.headers.prefer ?? ""),
  );
  const parts: string[] = [];
  let left = MAX_BYTES;
  for (const each of requests) {
    const part = await answerPart(exchange, each, { itemAt, format, left, isFirst: parts.length === 0 });
    if (part === null) return null;
    // Clients send a key only once they are asked for it, with the whole batch.
    if (part.status === 401 && part.refusal !== null) return part.refusal;
    parts.push(part.text);
    left -= part.bytes;
    // OData 4.01, 11.7.2.
    if (part.status >= 400 && !goesOn) break;
  }
  const headers = { "Content-Type": format.contentType, ...versionHeaders(exchange.request) };
  return { status: 200, body: format.body(parts), headers };
}

/** Null when the client has disconnected. */
async function readBatch(
  { request, context }: Exchange,
  format: BatchFormat,
): Promise<Result<readonly BatchRequest[]> | null> {
  const text = await readBodyText(request, context.caller);
  if (text === null || isHttpError(text)) return text;
  const requests = format.read(text);
  if (isHttpError(requests)) return requests;
  if (requests.length > MAX_REQUESTS)
    return httpError("tooManyValues", { name: "requests", max: MAX_REQUESTS });
  const read = requests.map(readRequest);
  const problem = read.find(isHttpError);
  if (problem !== undefined) return problem;
  const all = read as readonly BatchRequest[];
  const areDifferent = new Set(all.map(({ id }) => id)).size === all.length;
  return areDifferent ? all : httpError("valueNotOfType", { name: "id", type: "different for each request" });
}

function readRequest(request: unknown): Result<BatchRequest> {
  const { id, method, url, headers = {}, ...others } = (request ?? {}) as Readonly<Record<string, unknown>>;
  const [other] = Object.keys(others);
  if (other !== undefined)
    return httpError("notImplemented", {
      name: other.slice(0, 50).toWellFormed(),
      reason: "a batch has reads alone",
    });
  if (typeof method !== "string" || method.toUpperCase() !== "GET") return httpError("methodNotAllowed");
  if (typeof id !== "string" || typeof url !== "string" || typeof headers !== "object" || headers === null)
    return httpError("valueNotOfType", { name: "requests", type: "objects with texts as id and url" });
  const texts = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)] as const);
  return { id, url, headers: Object.fromEntries(texts.filter(([name]) => OF_READ.has(name))) };
}

/** Headers that a request in a batch may have for itself; its key is that of the batch. */
const OF_READ: ReadonlySet<string> = new Set([
  ...["accept", "if-none-match", "odata-maxversion", "odata-version", "prefer"],
]);

/** The path and the query of an address, which is relative to the service, absolute, or of this path. */
function targetOf(url: string): string {
  const path = url.replace(/^https?:\/\/[^/]*/i, "");
  const at = path.startsWith("/") ? path.indexOf(`${ROOT}/`) : -1;
  return at >= 0 ? path.slice(at) : `${ROOT}/${path.replace(/^\//, "")}`;
}

interface BatchPlace {
  readonly itemAt: (path: string) => DataPath;
  readonly format: BatchFormat;
  /** Bytes that are left for the response. */
  readonly left: number;
  /** The batch has been counted as its first request. */
  readonly isFirst: boolean;
}

async function answerPart(
  batch: Exchange,
  { id, url, headers }: BatchRequest,
  { itemAt, format, left, isFirst }: BatchPlace,
): Promise<BatchPart | null> {
  const { gateway } = batch;
  const request = requestOf(batch.request, targetOf(url), headers);
  const item = itemAt((request.url ?? "").split("?", 1)[0] ?? "");
  const context = isFirst ? batch.context : await authorize(gateway, request, batch.context.isStillNeeded);
  const access = item.routes[0]?.access ?? batch.access;
  let body: Reply | null = null;
  const exchange: OdataExchange = {
    ...{ ...batch, request, item, context, access, times: new StepTimes() },
    ...{ parameters: [], shape: null, sent: NO_ROWS },
    deliver: async (response) => {
      const [reply, sent] = await replyOf(exchange, response, left);
      body = reply;
      return sent;
    },
  };
  const outcome = refusalOf(exchange) ?? (await handled(exchange));
  const refusal = outcome !== null && isHttpError(outcome) ? outcome : null;
  const whole = refusal === null ? ((outcome as Reply | null) ?? body) : odataError(exchange, refusal);
  const isLong = whole !== null && Buffer.byteLength(whole.body) > left;
  const reply = isLong ? tooLong(exchange) : whole;
  if (isLong) exchange.sent = NO_ROWS;
  record(exchange, refusal, reply);
  if (reply === null) return null;
  const bytes = Buffer.byteLength(reply.body);
  return { text: format.part(id, reply), bytes, status: reply.status, refusal };
}

/** A part whose rows fail while they are read is an error of its own, and counts for nothing. */
async function handled(exchange: OdataExchange): Promise<Handled<HttpError>> {
  const { gateway, item, context } = exchange;
  try {
    return (await item.routes[0]?.handle(exchange)) ?? null;
  } catch (error) {
    if (!item.endpoint) throw error;
    return errorOf(gateway, item.endpoint, context, error);
  }
}

/** A response with rows in memory, and what was read for it. */
async function replyOf(
  exchange: OdataExchange,
  { answer: { result, tag, version, hasRunQuery }, contentType = "", request, headers: own }: RowsResponse,
  maxBytes: number,
): Promise<readonly [Reply, Sent]> {
  const etag = tag ?? (result?.kind === "buffered" ? result.tag : null);
  const headers = {
    ...headersByName(own),
    "Content-Type": contentType,
    ...(version !== null && { "X-Data-As-Of": version.asOf }),
    ...(etag !== null && { ETag: etag }),
  };
  if (result === null || (etag !== null && matchesTag(etag, request.headers["if-none-match"])))
    return [{ status: 304, body: "", headers }, NO_ROWS];
  const read = await textOf(result, maxBytes);
  if (read === null) return [tooLong(exchange), NO_ROWS];
  const { text: body, rows, databaseMs } = read;
  const sent = { rows, bytes: Buffer.byteLength(body), databaseMs: hasRunQuery ? databaseMs : null };
  return [{ status: 200, body, headers }, sent];
}

function tooLong(exchange: Exchange): Reply {
  const reason = "the responses of the batch are longer than 8 MiB: send this request by itself";
  return odataError(exchange, httpError("notImplemented", { name: "$batch", reason }));
}

/** As each request is refused: key, limit, path, tier. */
function refusalOf({ gateway, item, context, access }: Exchange): HttpError | null {
  if (context.refusal !== null) return context.refusal;
  if (item.allowed === null || item.routes[0]?.method !== "GET") return httpError("notFound");
  const refused = access.tier === undefined ? null : requireAccess(item.path, access.tier, context.caller);
  return refused !== null && gateway.catalogue === "allowed" ? httpError("notFound") : refused;
}

function record(
  { gateway, item, context, times, parameters, shape, sent, trace }: Exchange,
  error: HttpError | null,
  reply: Reply | null,
): void {
  if (item.endpoint === undefined) return;
  recordRequest(gateway, context, {
    method: "GET",
    route: item.endpoint?.path ?? null,
    path: item.endpoint === null ? `${ROOT}/$batch` : null,
    ...{ parameters, shape, error, trace, sent, times },
    status: reply?.status ?? 200,
  });
}

/** Headers of the batch's own body and response. */
const OF_BATCH: ReadonlySet<string> = new Set([
  ...["accept", "accept-encoding", "content-length", "content-type", "if-none-match", "prefer", "range"],
]);

/** A request that has all of the batch's but its address and what it says of its response. */
function requestOf(batch: IncomingMessage, url: string, headers: BatchRequest["headers"]): IncomingMessage {
  const own = Object.entries(batch.headers).filter(([name]) => !OF_BATCH.has(name));
  return Object.create(batch, {
    method: { value: "GET" },
    url: { value: url },
    headers: { value: { ...Object.fromEntries(own), ...headers } },
    rawHeaders: { value: [] },
  }) as IncomingMessage;
}
