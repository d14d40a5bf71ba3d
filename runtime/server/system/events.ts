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
