import { ROUTES } from "../../core/handler/system-routes.js";
import { documentReply } from "../../core/response/buffered-result.js";
import type { SystemRoute } from "./context.js";

/** What changed for consumers, from `changelog.json` of the generated folder (runtime/docs/system-endpoints.md, Changelog). */
export const CHANGELOG: SystemRoute = {
  ...ROUTES.changelog,
  handle: (exchange, service) => {
    const isAtom = /application\/atom\+xml/i.test(exchange.request.headers.accept ?? "");
    return replyOf(exchange, service, isAtom);
  },
};

/** The same as a feed, for readers that have an address alone. */
export const CHANGELOG_FEED: SystemRoute = {
  ...ROUTES.changelogFeed,
  handle: (exchange, service) => replyOf(exchange, service, true),
};

const ATOM = { "Content-Type": "application/atom+xml; charset=utf-8" };

const replyOf = (
  { request, context: { caller } }: Parameters<SystemRoute["handle"]>[0],
  { documents }: Parameters<SystemRoute["handle"]>[1],
  isAtom: boolean,
) =>
  documentReply(documents.changelog(caller, isAtom), request, {
    Vary: "Accept, Accept-Encoding, X-API-Key, Authorization",
    ...(isAtom && ATOM),
  });

/** The states of the endpoints that a caller sees, and what they were in 90 days (runtime/docs/catalogue.md, Status). */
export const STATES: SystemRoute = {
  ...ROUTES.states,
  handle: (exchange, service) => stateReply(exchange, service, false),
};

/** The endpoints that are late, failed or deprecated, and the days on which they were, as a feed. */
export const STATUS_FEED: SystemRoute = {
  ...ROUTES.statusFeed,
  handle: (exchange, service) => stateReply(exchange, service, true),
};

async function stateReply(
  { request, context: { caller } }: Parameters<SystemRoute["handle"]>[0],
  { documents }: Parameters<SystemRoute["handle"]>[1],
  isAtom: boolean,
) {
  return documentReply(await documents.status(caller, isAtom), request, {
    Vary: "Accept-Encoding, X-API-Key, Authorization",
    ...(isAtom && ATOM),
  });
}
