import type { Exchange } from "../../core/handler/exchange.js";
import { readBodyText } from "../../core/handler/resolve.js";
import { FAILOVER_RETRY_SECONDS } from "../../core/http/headers.js";
import { queryOf } from "../../core/http/route.js";
import type { Reply } from "../../core/http/send.js";
import { LONGEST_HOST } from "../../core/http/outbound-http.js";
import { httpError, type HttpError, isHttpError, type Result } from "../../core/model/errors.js";
import type { Caller } from "../../core/model/caller.js";
import { hashOf } from "../../core/request/keyring.js";
import { readJson } from "../../core/request/request-fields.js";
import { unsupported } from "../../core/request/resolve-query.js";
import { ENDPOINT_EVENTS } from "./event.js";
import type { EventLog } from "./event-log.js";
import { refusalOfPaths } from "./event-streams.js";
import { OPERATOR_EVENTS } from "./operator-events.js";
import type { SubscriptionService } from "./subscription-service.js";
import { MOST_SUBSCRIPTIONS, type NewSubscription, type Subscriptions } from "./subscriptions.js";

const MAX_URL = 2_000;
const MAX_PATHS = 100;

/** The subscriptions of a key over HTTP. `opened`: the events; rejects while the database is away. */
export async function answerSubscriptions(
  exchange: Exchange,
  service: SubscriptionService | null,
  opened: () => Promise<EventLog>,
): Promise<Reply | HttpError | null> {
  const digest = digestOf(exchange);
  if (digest === null) return httpError("missingKey");
  if (service === null) return httpError("noSubscriptions");
  try {
    const subscriptions = service.in(await opened());
    if (subscriptions === null) return httpError("noSubscriptions");
    const answer = ANSWERS[exchange.request.method ?? ""] ?? list;
    return await answer(exchange, service, { subscriptions, digest });
  } catch (error) {
    exchange.gateway.log.warn({ err: error }, "the subscriptions cannot be read or written");
    return httpError("unreachable", { n: FAILOVER_RETRY_SECONDS });
  }
}

interface OfKey {
  readonly subscriptions: Subscriptions;
  readonly digest: string;
}

type SubscriptionHandler = (
  exchange: Exchange,
  service: SubscriptionService,
  of: OfKey,
) => Promise<Reply | HttpError | null>;

const ANSWERS: Readonly<Record<string, SubscriptionHandler>> = { POST: subscribe, DELETE: unsubscribe };

async function list({ request }: Exchange, _: SubscriptionService, { subscriptions, digest }: OfKey) {
  const unknown = [...queryOf(request).keys()];
  if (unknown.length > 0) return unsupported(unknown, "query");
  return json(200, { subscriptions: await subscriptions.of(digest) });
}

async function subscribe(exchange: Exchange, context: SubscriptionService, { subscriptions, digest }: OfKey) {
  const text = await readBodyText(exchange.request, exchange.context.caller);
  if (typeof text !== "string") return text;
  const read = readJson(text);
  if (isHttpError(read)) return read;
  const asked = readSubscription(read.json, exchange.context.caller);
  if (isHttpError(asked)) return asked;
  const { caller } = exchange.context;
  const { catalogue } = exchange.gateway;
  const refused = refusalOfPaths({ caller, catalogue }, context.active, asked.paths ?? []);
  if (refused !== null) return refused;
  const problem = await addressProblem(asked.url, context, digest);
  if (problem !== null) return httpError("subscriptionInvalid", { problem });
  const added = await subscriptions.add(digest, asked);
  return added === null ? httpError("subscriptionInvalid", { problem: TOO_MANY }) : json(201, added);
}

async function unsubscribe({ request }: Exchange, _: SubscriptionService, { subscriptions, digest }: OfKey) {
  request.resume();
  const query = queryOf(request);
  const unknown = [...query.keys()].filter((name) => name !== "id");
  if (unknown.length > 0) return unsupported(unknown, "query");
  const id = query.get("id")?.trim() ?? "";
  if (id === "") return httpError("parameterRequired", { name: "id" });
  return UUID.test(id) && (await subscriptions.remove(digest, id))
    ? { status: 204, body: "" }
    : httpError("notFound");
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const TOO_MANY = `A key has at most ${String(MOST_SUBSCRIPTIONS)} subscriptions. Delete one first.`;

const json = (status: number, value: unknown): Reply => ({ status, body: JSON.stringify(value) });

/** SHA-256 of the caller's key; null of a caller without one. What a token may do later is not known. */
function digestOf({ request: { headers }, context: { caller } }: Exchange): string | null {
  const bearer = /^Bearer +(.+)$/i.exec(headers.authorization ?? "")?.[1]?.trim() ?? "";
  const digests = [String(headers["x-api-key"] ?? ""), bearer].map((key) => hashOf(key));
  return digests.find((digest) => caller.key !== null && digest.startsWith(caller.key.id)) ?? null;
}

/** A body with `url`, and `paths` and `types` where it has them. */
function readSubscription(body: unknown, caller: Caller): Result<NewSubscription> {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return httpError("bodyNotObject");
  const { url, paths = null, types = null, ...others } = body as Readonly<Record<string, unknown>>;
  if (Object.keys(others).length > 0) return unsupported(Object.keys(others), "body");
  if (url === undefined) return httpError("parameterRequired", { name: "url" });
  if (typeof url !== "string") return httpError("subscriptionInvalid", { problem: NOT_HTTPS });
  for (const [name, list] of [
    ["paths", paths],
    ["types", types],
  ] as const)
    if (!isListOrNull(list))
      return httpError("subscriptionInvalid", { problem: `'${name}' must be a list of 1 to 100 texts.` });
  const asked = { url, paths, types } as NewSubscription;
  const known: readonly string[] = isOperator(caller)
    ? [...ENDPOINT_EVENTS, ...OPERATOR_EVENTS]
    : ENDPOINT_EVENTS;
  if (asked.types?.every((type) => known.includes(type)) === false)
    return httpError("subscriptionInvalid", { problem: `'types' must be among: ${known.join(", ")}.` });
  return asked;
}

const isOperator = ({ tier, allowed }: Caller): boolean => tier === "tier3" && allowed === null;

function isListOrNull(value: unknown): value is readonly string[] | null {
  if (value === null) return true;
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= MAX_PATHS &&
    value.every((each) => typeof each === "string")
  );
}

const NOT_HTTPS = "'url' must be an https:// address without credentials, of at most 2,000 characters.";
/** What a URL parser leaves out or replaces: the database does not take U+0000. */
const NO_TEXT_OF_URLS = /[\s\p{Cc}\p{Cs}]/u;
const LONG_HOST = `The host of 'url' must have at most ${String(LONGEST_HOST)} characters.`;
const IS_PRIVATE = "'url' leads to a private address.";

/** A name that does not resolve here and now may do so later: what is sent is checked again. */
async function addressProblem(
  text: string,
  { names, allowPrivate }: SubscriptionService,
  digest: string,
): Promise<string | null> {
  if (text.length > MAX_URL || NO_TEXT_OF_URLS.test(text) || !URL.canParse(text)) return NOT_HTTPS;
  const url = new URL(text);
  if (url.hostname.length > LONGEST_HOST) return LONG_HOST;
  const isAllowed = url.protocol === "https:" || (allowPrivate && url.protocol === "http:");
  if (!isAllowed || url.username !== "" || url.password !== "") return NOT_HTTPS;
  return !allowPrivate && (await names.leadsToPrivate(url, digest)) === true ? IS_PRIVATE : null;
}
