import type { ActiveRelease } from "../../core/handler/loaded-release.js";
import type { Exchange } from "../../core/handler/exchange.js";
import { FAILOVER_RETRY_SECONDS } from "../../core/http/headers.js";
import type { Reply } from "../../core/http/send.js";
import { feedOf } from "../../core/model/changelog.js";
import { httpError, type HttpError, isHttpError } from "../../core/model/errors.js";
import type { PublishedEvent } from "./event.js";
import { pathsOf } from "./event-streams.js";
import type { Events } from "./events.js";
import { eventFor, mayRead } from "./may-read.js";

/** Entries of a feed, and events that are looked through for them. */
const ENTRIES = 100;
const LOOKED_AT = 2_000;

/** The newest events that a caller may read, as an Atom feed. */
export async function eventFeed(
  exchange: Exchange,
  events: Events,
  { active, title }: { readonly active: ActiveRelease; readonly title: string },
): Promise<Reply | HttpError> {
  const paths = pathsOf(exchange, active);
  if (isHttpError(paths)) return paths;
  const newest = await events
    .asked()
    .then(({ store }) => store.newest(LOOKED_AT))
    .catch(() => null);
  if (newest === null) return httpError("unreachable", { n: FAILOVER_RETRY_SECONDS });
  const { caller } = exchange.context;
  const seen = newest.filter(
    (event) => event.path !== null && (paths?.has(event.path) ?? true) && mayRead(caller, event, active),
  );
  const { catalogue } = exchange.gateway;
  const shown = seen.slice(0, ENTRIES).map((event) => eventFor(caller, event, { active, catalogue }));
  return { status: 200, body: feed(exchange, title, shown), headers: ATOM };
}

const ATOM = { "Content-Type": "application/atom+xml; charset=utf-8" };

function feed({ gateway }: Exchange, title: string, events: readonly PublishedEvent[]): string {
  const { base } = gateway.publicAddressOf;
  const id = base ? `${base}/v1/system/events` : "urn:routewright:events";
  const at = base
    ? { self: `${base}/v1/system/events.atom`, explorer: `${base}/explore` }
    : { self: "events.atom", explorer: "../../explore" };
  const updated = events[0]?.at ?? STARTED;
  const items = events.map((event) => ({
    id: `${id}#${event.id}`,
    title: `${event.path ?? ""}: ${event.type}`,
    updated: event.at,
    text: JSON.stringify(event.data),
  }));
  return feedOf({ id, title: `${title}: events`, author: title, updated }, at, items);
}

/** The time of a feed without entries: it stays while the service runs. */
const STARTED = new Date().toISOString();
