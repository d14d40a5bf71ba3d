import type { IncomingMessage } from "node:http";
import { formatOf } from "../answers/format.js";
import { keyOf } from "../answers/question-key.js";
import { readParameters } from "../query/parameters.js";
import type { RowFormat, Selection } from "../query/selection.js";
import type { Question } from "../warehouse/warehouse.js";
import { tierRefusal, type Admission } from "./admission.js";
import { callerHeaders } from "./answer.js";
import { deliver, type Delivery, NO_ROWS, sendNotModified, type Sent } from "./deliver.js";
import { deprecationHeaders } from "./deprecation.js";
import type { Endpoint } from "./endpoint.js";
import { refuse, type Refusal } from "./errors.js";
import type { Exchange } from "./exchange.js";
import { readFields } from "./fields.js";

/** Seconds after which a caller may try an overloaded server again. */
const OVERLOAD_RETRY_SECONDS = 1;

/** Answers an admitted request with the rows that it asks for, or tells why not. */
export async function sendRows(
  exchange: Exchange,
  endpoint: Endpoint,
  admission: Admission,
): Promise<Sent | Refusal> {
  const { request } = exchange;
  const refusal = tierRefusal(endpoint.tier, admission) ?? methodRefusal(endpoint, request);
  if (refusal) return refusal;
  const read = readFields(request);
  const fields = read instanceof Promise ? await read : read;
  // The client has gone.
  if (fields === null) return NO_ROWS;
  if ("code" in fields) return fields;
  const selection = readParameters(endpoint, fields, request.method === "POST" ? "body" : "query");
  if ("code" in selection) return selection;
  return answerQuestion(exchange, endpoint, admission, selection);
}

async function answerQuestion(
  exchange: Exchange,
  endpoint: Endpoint,
  admission: Admission,
  selection: Selection,
): Promise<Sent | Refusal> {
  const { gateway, request, response, requestId } = exchange;
  const format = formatOf(request);
  const question: Question = {
    relation: endpoint.relation,
    selection: format === "json" ? selection : withoutEnvelope(selection),
    format,
    timeoutMs: gateway.timeouts[admission.tier],
  };
  const key = keyOf(question);
  const delivery = deliveryOf(exchange, endpoint, admission, format, key);
  const notModified = delivery.tag === null ? null : sendNotModified(delivery, delivery.tag);
  if (notModified !== null) return notModified;
  let isBegun = false;
  try {
    const wanted = (): boolean => !response.destroyed;
    const answered = await gateway.answers.of(key, question, delivery.version?.id ?? null, wanted);
    if (answered === "overloaded") return refuse("overloaded", { n: OVERLOAD_RETRY_SECONDS });
    isBegun = true;
    return await deliver(delivery, answered);
  } catch (error) {
    // Whoever has gone misses nothing, and nothing failed.
    if (response.destroyed && !isDatabaseFault(error)) return NO_ROWS;
    gateway.log.error({ requestId, route: endpoint.path, err: error }, "query failed");
    return isBegun ? NO_ROWS : refuse("queryFailed");
  }
}

function methodRefusal({ methods }: Endpoint, { method }: IncomingMessage): Refusal | null {
  if (method === "GET" || method === "HEAD") return null;
  return method === "POST" && methods.includes("POST") ? null : refuse("methodNotAllowed");
}

/** Only JSON has room for telling whether more rows follow. */
function withoutEnvelope(selection: Selection): Selection {
  const { page } = selection;
  return page === null ? selection : { ...selection, page: { ...page, lookAhead: false } };
}

function deliveryOf(
  { gateway, request, response, requestId }: Exchange,
  endpoint: Endpoint,
  admission: Admission,
  format: RowFormat,
  questionKey: string,
): Delivery {
  const version = gateway.versions.of(endpoint.builtFrom);
  return {
    request,
    response,
    format,
    headers: [...callerHeaders(admission, requestId), ...deprecationHeaders(endpoint)],
    version,
    tag: version?.tagOf(questionKey) ?? null,
  };
}

/** Whether the database told of it, rather than a connection that was closed because the client had gone. */
function isDatabaseFault(error: unknown): boolean {
  return typeof (error as { severity?: unknown } | null)?.severity === "string";
}
