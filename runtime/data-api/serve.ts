import type { IncomingMessage, ServerResponse } from "node:http";
import { requestIdOf } from "../http/request-id.js";
import { traceOf, traceparent } from "../http/trace.js";
import { authorize, peek, type Authorization } from "../access/authorize.js";
import { methodsOf, sendOptions, sendRefusal } from "./send.js";
import { NO_ROWS, type Sent } from "./respond.js";
import type { Endpoint } from "../model/endpoint.js";
import { httpError, type HttpError } from "../model/errors.js";
import type { RequestContext } from "./request-context.js";
import type { Gateway } from "./gateway.js";
import { handleRequest } from "./handler.js";

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
  const trace = traceOf(request);
  if (trace !== null) response.setHeader("Traceparent", traceparent(trace));
  const exchange: RequestContext = { gateway, endpoint, request, response, requestId: requestIdOf(request) };
  const { admission, sent } = await (request.method === "OPTIONS"
    ? answerOptions(exchange)
    : answer(exchange));
  gateway.recordRequest({
    requestId: exchange.requestId,
    method: request.method ?? "",
    route: endpoint?.path ?? null,
    status: response.statusCode,
    milliseconds: performance.now() - started,
    rows: sent.rows,
    bytes: sent.bytes,
    databaseMs: sent.databaseMs,
    owner: admission.owner,
    tier: admission.tier,
    trace,
  });
}

/** Who asked, and what the answer came to. */
interface Handled {
  readonly admission: Authorization;
  readonly sent: Sent;
}

async function answerOptions({
  gateway,
  endpoint,
  request,
  response,
  requestId,
}: RequestContext): Promise<Handled> {
  const admission = await peek(gateway, request);
  sendOptions(response, request, methodsOf(endpoint), admission, requestId);
  return { admission, sent: NO_ROWS };
}

async function answer(exchange: RequestContext): Promise<Handled> {
  const { gateway, endpoint, request, response, requestId } = exchange;
  const admitted = authorize(gateway, request);
  const admission = admitted instanceof Promise ? await admitted : admitted;
  const outcome = admission.error ?? (await outcomeOf(exchange, admission));
  if (!("code" in outcome)) return { admission, sent: outcome };
  const bytes = sendRefusal(response, outcome, methodsOf(endpoint), admission, requestId);
  return { admission, sent: { ...NO_ROWS, bytes } };
}

/** What was sent, or why nothing was. */
async function outcomeOf(exchange: RequestContext, admission: Authorization): Promise<Sent | HttpError> {
  const { gateway, endpoint, request, requestId } = exchange;
  try {
    return endpoint === null ? httpError("notFound") : await handleRequest(exchange, endpoint, admission);
  } catch (error) {
    gateway.log.error(
      { requestId, route: endpoint?.path, method: request.method, err: error },
      "request failed",
    );
    return httpError("unexpected");
  }
}
