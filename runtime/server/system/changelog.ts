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

/** The endpoints that are late, failed or deprecated, as a feed. */
export const STATUS_FEED: SystemRoute = {
  ...ROUTES.statusFeed,
  handle: ({ request, context: { caller } }, { documents }) =>
    documentReply(documents.status(caller), request, {
      ...ATOM,
      Vary: "Accept-Encoding, X-API-Key, Authorization",
    }),
};
