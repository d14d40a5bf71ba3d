import type { IncomingMessage } from "node:http";
import { formatOf } from "../results/format.js";
import { readParameters } from "../query/parameters.js";
import type { RawFields } from "../query/raw.js";
import { requireTier, type Authorization } from "../access/authorize.js";
import { callerHeaders } from "./send.js";
import { type KeyedQuery, resolveQuery, resolvePlainQuery } from "../query/resolve-query.js";
import { respond, type Delivery, NO_ROWS, sendNotModified, type Sent } from "./respond.js";
import { deprecationHeaders } from "./deprecation.js";
import type { Endpoint } from "../model/endpoint.js";
import { httpError, type HttpError } from "../model/errors.js";
import type { RequestContext } from "./request-context.js";
import { NO_FIELDS, readFields } from "./fields.js";

/** Seconds after which a caller may try an overloaded server again. */
const OVERLOAD_RETRY_SECONDS = 1;

/** What was sent, or why nothing was. */
type Outcome = Sent | HttpError;

/** Answers an admitted request with the rows that it asks for, or tells why not. */
export function handleRequest(
  exchange: RequestContext,
  endpoint: Endpoint,
  admission: Authorization,
): Outcome | Promise<Outcome> {
  const { request } = exchange;
  const refusal = requireTier(endpoint.tier, admission) ?? methodRefusal(endpoint, request);
  if (refusal) return refusal;
  const read = readFields(request);
  if (!(read instanceof Promise)) return answerFields(exchange, endpoint, admission, read);
  return read.then((fields) => answerFields(exchange, endpoint, admission, fields));
}

function answerFields(
  exchange: RequestContext,
  endpoint: Endpoint,
  admission: Authorization,
  fields: RawFields | HttpError | null,
): Outcome | Promise<Outcome> {
  // The client has gone.
  if (fields === null) return NO_ROWS;
  if ("code" in fields) return fields;
  const { gateway, request } = exchange;
  const manner = { format: formatOf(request), timeoutMs: gateway.timeouts[admission.tier] };
  if (fields === NO_FIELDS)
    return answerAsked(exchange, endpoint, admission, resolvePlainQuery(endpoint, manner));
  const selection = readParameters(endpoint, fields, request.method === "POST" ? "body" : "query");
  if ("code" in selection) return selection;
  return answerAsked(exchange, endpoint, admission, resolveQuery(endpoint, selection, manner));
}

async function answerAsked(
  exchange: RequestContext,
  endpoint: Endpoint,
  admission: Authorization,
  asked: KeyedQuery | HttpError,
): Promise<Outcome> {
  if ("code" in asked) return asked;
  const { gateway, response, requestId } = exchange;
  const { question, key } = asked;
  const delivery = deliveryOf(exchange, endpoint, admission, asked);
  const notModified = delivery.tag === null ? null : sendNotModified(delivery, delivery.tag);
  if (notModified !== null) return notModified;
  try {
    const wanted = (): boolean => !response.destroyed;
    const answered = await gateway.results.of(key, question, delivery.version?.id ?? null, wanted);
    if (answered === "overloaded") return httpError("overloaded", { n: OVERLOAD_RETRY_SECONDS });
    const sent = respond(delivery, answered);
    return sent instanceof Promise ? await sent : sent;
  } catch (error) {
    // Whoever has gone misses nothing, and nothing failed.
    if (response.destroyed && !isDatabaseFault(error)) return NO_ROWS;
    gateway.log.error({ requestId, route: endpoint.path, err: error }, "query failed");
    return response.headersSent ? NO_ROWS : httpError("queryFailed");
  }
}

function methodRefusal({ methods }: Endpoint, { method }: IncomingMessage): HttpError | null {
  if (method === "GET" || method === "HEAD") return null;
  return method === "POST" && methods.includes("POST") ? null : httpError("methodNotAllowed");
}

function deliveryOf(
  { gateway, request, response, requestId }: RequestContext,
  endpoint: Endpoint,
  admission: Authorization,
  { question, key }: KeyedQuery,
): Delivery {
  const version = gateway.versions.of(endpoint.upstreamNodes);
  const headers = callerHeaders(admission, requestId);
  if (endpoint.deprecationDate !== null || endpoint.successor !== null)
    headers.push(...deprecationHeaders(endpoint));
  return { request, response, format: question.format, headers, version, tag: version?.tagOf(key) ?? null };
}

/** Whether the database told of it, rather than a connection that was closed because the client had gone. */
function isDatabaseFault(error: unknown): boolean {
  return typeof (error as { severity?: unknown } | null)?.severity === "string";
}
