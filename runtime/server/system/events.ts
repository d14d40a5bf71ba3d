import { ROUTES } from "../../core/handler/system-routes.js";
import type { SystemRoute } from "./context.js";

/** What happens to endpoints, as Server-Sent Events (runtime/docs/events.md). */
export const EVENTS: SystemRoute = {
  ...ROUTES.events,
  handle: (exchange, { events }) => events.stream(exchange),
};

/** The newest of them as a feed. */
export const EVENTS_FEED: SystemRoute = {
  ...ROUTES.eventsFeed,
  handle: (exchange, { events }) => events.feed(exchange),
};

const subscriptions: SystemRoute["handle"] = (exchange, { events }) => events.subscriptions(exchange);

/** Receivers of events, by key. */
export const SUBSCRIPTIONS: readonly SystemRoute[] = [
  { ...ROUTES.subscriptions, handle: subscriptions },
  { ...ROUTES.subscribe, handle: subscriptions },
  { ...ROUTES.unsubscribe, handle: subscriptions },
];
