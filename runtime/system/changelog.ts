import { CHANGELOG_SCHEMA } from "../model/changelog.js";
import { named } from "../model/schema.js";
import { documentReply } from "../response/buffered-result.js";
import { DOCUMENT, jsonAnswer, type SystemRoute } from "./context.js";

export { CHANGELOG_SCHEMA };

/** What changed for consumers, from `changelog.json` of the generated folder (runtime/docs/system-endpoints.md, Changelog). */
export const CHANGELOG: SystemRoute = {
  method: "GET",
  path: "/v1/system/changelog",
  access: DOCUMENT,
  operation: {
    operationId: "system_changelog",
    summary: "Changelog",
    description:
      "What changed in the API, newest first; with `Accept: application/atom+xml`, or the suffix `.atom`, as a feed. Empty " +
      "where the service keeps no changelog.",
    responses: [jsonAnswer("The changelog.", named("Changelog"))],
  },
  handle: (exchange, service) => {
    const isAtom = /application\/atom\+xml/i.test(exchange.request.headers.accept ?? "");
    return replyOf(exchange, service, isAtom);
  },
};

/** The same as a feed, for readers that have an address alone. */
export const CHANGELOG_FEED: SystemRoute = {
  method: "GET",
  path: "/v1/system/changelog.atom",
  access: DOCUMENT,
  operation: null,
  handle: (exchange, service) => replyOf(exchange, service, true),
};

const replyOf = (
  { request, context: { caller } }: Parameters<SystemRoute["handle"]>[0],
  { documents }: Parameters<SystemRoute["handle"]>[1],
  isAtom: boolean,
) =>
  documentReply(documents.changelog(caller, isAtom), request, {
    Vary: "Accept, Accept-Encoding, X-API-Key, Authorization",
    ...(isAtom && { "Content-Type": "application/atom+xml; charset=utf-8" }),
  });
