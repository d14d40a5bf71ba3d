import type { IncomingMessage } from "node:http";
import { formatOf } from "../answers/format.js";
import { readParameters } from "../query/parameters.js";
import type { RawFields } from "../query/raw.js";
import { tierRefusal, type Admission } from "./admission.js";
import { callerHeaders } from "./answer.js";
import { type Asked, askedOf, plainAsked } from "./asked.js";
import { deliver, type Delivery, NO_ROWS, sendNotModified, type Sent } from "./deliver.js";
import { deprecationHeaders } from "./deprecation.js";
import type { Endpoint } from "./endpoint.js";
import { refuse, type Refusal } from "./errors.js";
import type { Exchange } from "./exchange.js";
import { NO_FIELDS, readFields } from "./fields.js";

/** Seconds after which a caller may try an overloaded server again. */
const OVERLOAD_RETRY_SECONDS = 1;

/** What was sent, or why nothing was. */
type Outcome = Sent | Refusal;

/** Answers an admitted request with the rows that it asks for, or tells why not. */
export function sendRows(
  exchange: Exchange,
  endpoint: Endpoint,
  admission: Admission,
): Outcome | Promise<Outcome> {
  const { request } = exchange;
  const refusal = tierRefusal(endpoint.tier, admission) ?? methodRefusal(endpoint, request);
  if (refusal) return refusal;
  const read = readFields(request);
  if (!(read instanceof Promise)) return answerFields(exchange, endpoint, admission, read);
  return read.then((fields) => answerFields(exchange, endpoint, admission, fields));
}

function answerFields(
  exchange: Exchange,
  endpoint: Endpoint,
  admission: Admission,
  fields: RawFields | Refusal | null,
): Outcome | Promise<Outcome> {
  // The client has gone.
  if (fields === null) return NO_ROWS;
  if ("code" in fields) return fields;
  const { gateway, request } = exchange;
  const manner = { format: formatOf(request), timeoutMs: gateway.timeouts[admission.tier] };
  if (fields === NO_FIELDS) return answerAsked(exchange, endpoint, admission, plainAsked(endpoint, manner));
  const selection = readParameters(endpoint, fields, request.method === "POST" ? "body" : "query");
  if ("code" in selection) return selection;
  return answerAsked(exchange, endpoint, admission, askedOf(endpoint, selection, manner));
}

async function answerAsked(
  exchange: Exchange,
  endpoint: Endpoint,
  admission: Admission,
  asked: Asked | Refusal,
): Promise<Outcome> {
  if ("code" in asked) return asked;
  const { gateway, response, requestId } = exchange;
  const { question, key } = asked;
  const delivery = deliveryOf(exchange, endpoint, admission, asked);
  const notModified = delivery.tag === null ? null : sendNotModified(delivery, delivery.tag);
  if (notModified !== null) return notModified;
  try {
    const wanted = (): boolean => !response.destroyed;
    const answered = await gateway.answers.of(key, question, delivery.version?.id ?? null, wanted);
    if (answered === "overloaded") return refuse("overloaded", { n: OVERLOAD_RETRY_SECONDS });
    const sent = deliver(delivery, answered);
    return sent instanceof Promise ? await sent : sent;
  } catch (error) {
    // Whoever has gone misses nothing, and nothing failed.
    if (response.destroyed && !isDatabaseFault(error)) return NO_ROWS;
    gateway.log.error({ requestId, route: endpoint.path, err: error }, "query failed");
    return response.headersSent ? NO_ROWS : refuse("queryFailed");
  }
}

function methodRefusal({ methods }: Endpoint, { method }: IncomingMessage): Refusal | null {
  if (method === "GET" || method === "HEAD") return null;
  return method === "POST" && methods.includes("POST") ? null : refuse("methodNotAllowed");
}

function deliveryOf(
  { gateway, request, response, requestId }: Exchange,
  endpoint: Endpoint,
  admission: Admission,
  { question, key }: Asked,
): Delivery {
  const version = gateway.versions.of(endpoint.builtFrom);
  const headers = callerHeaders(admission, requestId);
  if (endpoint.deprecationDate !== null || endpoint.successor !== null)
    headers.push(...deprecationHeaders(endpoint));
  return { request, response, format: question.format, headers, version, tag: version?.tagOf(key) ?? null };
}

/** Whether the database told of it, rather than a connection that was closed because the client had gone. */
function isDatabaseFault(error: unknown): boolean {
  return typeof (error as { severity?: unknown } | null)?.severity === "string";
}
