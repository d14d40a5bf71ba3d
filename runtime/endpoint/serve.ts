import type { IncomingMessage, ServerResponse } from "node:http";
import { requestIdOf } from "../http/request-id.js";
import { traceOf, traceparent } from "../http/trace.js";
import { admit, glance, type Admission } from "./admission.js";
import { methodsOf, sendOptions, sendRefusal } from "./answer.js";
import { NO_ROWS, type Sent } from "./deliver.js";
import type { Endpoint } from "./endpoint.js";
import { refuse, type Refusal } from "./errors.js";
import type { Exchange } from "./exchange.js";
import type { Gateway } from "./gateway.js";
import { sendRows } from "./rows.js";

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
  const exchange: Exchange = { gateway, endpoint, request, response, requestId: requestIdOf(request) };
  const { admission, sent } = await (request.method === "OPTIONS"
    ? answerOptions(exchange)
    : answer(exchange));
  gateway.observe({
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
  readonly admission: Admission;
  readonly sent: Sent;
}

async function answerOptions({
  gateway,
  endpoint,
  request,
  response,
  requestId,
}: Exchange): Promise<Handled> {
  const admission = await glance(gateway, request);
  sendOptions(response, request, methodsOf(endpoint), admission, requestId);
  return { admission, sent: NO_ROWS };
}

async function answer(exchange: Exchange): Promise<Handled> {
  const { gateway, endpoint, request, response, requestId } = exchange;
  const admitted = admit(gateway, request);
  const admission = admitted instanceof Promise ? await admitted : admitted;
  const outcome = admission.refusal ?? (await outcomeOf(exchange, admission));
  if (!("code" in outcome)) return { admission, sent: outcome };
  const bytes = sendRefusal(response, outcome, methodsOf(endpoint), admission, requestId);
  return { admission, sent: { ...NO_ROWS, bytes } };
}

/** What was sent, or why nothing was. */
async function outcomeOf(exchange: Exchange, admission: Admission): Promise<Sent | Refusal> {
  const { gateway, endpoint, request, requestId } = exchange;
  try {
    return endpoint === null ? refuse("notFound") : await sendRows(exchange, endpoint, admission);
  } catch (error) {
    gateway.log.error(
      { requestId, route: endpoint?.path, method: request.method, err: error },
      "request failed",
    );
    return refuse("unexpected");
  }
}
