import type { IncomingMessage, ServerResponse } from "node:http";
import { readParameters } from "../query/parameters.js";
import type { Page } from "../query/selection.js";
import type { Rows } from "../warehouse/warehouse.js";
import { requestIdOf } from "../http/request-id.js";
import { admit, glance, tierRefusal, type Admission } from "./admission.js";
import { methodsOf, send, sendOptions, sendRefusal } from "./answer.js";
import { deprecationHeaders } from "./deprecation.js";
import type { Endpoint } from "./endpoint.js";
import { refuse, type Refusal } from "./errors.js";
import { readFields, type DataRequest } from "./fields.js";
import type { Gateway } from "./gateway.js";

/** Seconds after which a caller may try an overloaded server again. */
const OVERLOAD_RETRY_SECONDS = 1;

/** One request on its way. */
interface Exchange {
  readonly gateway: Gateway;
  /** Null when no endpoint has the path. */
  readonly endpoint: Endpoint | null;
  readonly request: DataRequest;
  readonly response: ServerResponse;
  readonly requestId: string;
}

/**
 * Answers one request to an endpoint, or to a path that no endpoint has (null). Checks come in the order of
 * decisions.md §A: key, rate limit, tier, method, parameters, query. Never rejects.
 */
export async function serveEndpoint(
  gateway: Gateway,
  endpoint: Endpoint | null,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const started = performance.now();
  const exchange: Exchange = { gateway, endpoint, request, response, requestId: requestIdOf(request) };
  const admission = request.method === "OPTIONS" ? await answerOptions(exchange) : await answer(exchange);
  gateway.observe({
    requestId: exchange.requestId,
    method: request.method ?? "",
    route: endpoint?.path ?? null,
    status: response.statusCode,
    milliseconds: performance.now() - started,
    key: admission.owner?.id ?? null,
    tier: admission.tier,
  });
}

async function answerOptions({
  gateway,
  endpoint,
  request,
  response,
  requestId,
}: Exchange): Promise<Admission> {
  const admission = await glance(gateway, request);
  sendOptions(response, request, methodsOf(endpoint), admission, requestId);
  return admission;
}

async function answer(exchange: Exchange): Promise<Admission> {
  const { gateway, endpoint, request, response, requestId } = exchange;
  const admitted = admit(gateway, request);
  const admission = admitted instanceof Promise ? await admitted : admitted;
  const outcome = admission.refusal ?? (await outcomeOf(exchange, admission));
  if (typeof outcome === "string") {
    const more = endpoint === null ? [] : deprecationHeaders(endpoint);
    send(response, { status: 200, body: outcome }, admission, requestId, more);
  }
  if (typeof outcome === "object" && outcome !== null)
    sendRefusal(response, outcome, methodsOf(endpoint), admission, requestId);
  return admission;
}

/** JSON text, a refusal, or null when the client has gone. */
type Outcome = string | Refusal | null;

async function outcomeOf(exchange: Exchange, admission: Admission): Promise<Outcome> {
  const { gateway, endpoint, request, requestId } = exchange;
  try {
    return endpoint === null ? refuse("notFound") : await rowsFor(exchange, endpoint, admission);
  } catch (error) {
    gateway.log.error(
      { requestId, route: endpoint?.path, method: request.method, err: error },
      "request failed",
    );
    return refuse("unexpected");
  }
}

async function rowsFor(exchange: Exchange, endpoint: Endpoint, admission: Admission): Promise<Outcome> {
  const refusal = tierRefusal(endpoint.tier, admission) ?? methodRefusal(endpoint, exchange.request);
  if (refusal) return refusal;
  const read = readFields(exchange.request);
  const fields = read instanceof Promise ? await read : read;
  if (fields === null || "code" in fields) return fields;
  const selection = readParameters(endpoint, fields, exchange.request.method === "POST" ? "body" : "query");
  if ("code" in selection) return selection;
  const { gateway, requestId } = exchange;
  try {
    const rows = await gateway.warehouse.rows(endpoint.relation, selection);
    return rows === "overloaded"
      ? refuse("overloaded", { n: OVERLOAD_RETRY_SECONDS })
      : jsonOf(rows, selection.page);
  } catch (error) {
    gateway.log.error({ requestId, route: endpoint.path, err: error }, "query failed");
    return refuse("queryFailed");
  }
}

function methodRefusal({ methods }: Endpoint, { method }: IncomingMessage): Refusal | null {
  if (method === "GET" || method === "HEAD") return null;
  return method === "POST" && methods.includes("POST") ? null : refuse("methodNotAllowed");
}

/** A bare array, or the envelope of decisions.md §A, which alone looks ahead. */
function jsonOf({ json, returned, hasMore }: Rows, page: Page | null): string {
  if (!page?.lookAhead) return `[${json}]`;
  const { limit, offset } = page;
  return `{"items":[${json}],"pagination":${JSON.stringify({ limit, offset, returned, has_more: hasMore })}}`;
}
