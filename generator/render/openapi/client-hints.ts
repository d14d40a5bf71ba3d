import type { JsonRecord } from "@routewright/runtime/model";
import type { CatalogueEntry } from "../../catalogue/catalogue.js";

/**
 * What generators of clients read to make one call of all pages: Speakeasy's `x-speakeasy-pagination`, and Fern's
 * `x-fern-pagination`, which finds rows and cursors in an object only.
 */
export function pagingHints({
  pagination,
  cursor,
}: CatalogueEntry): Readonly<Record<`x-${string}`, JsonRecord>> {
  if (pagination === null) return {};
  const isEnvelope = pagination.response === "envelope";
  const results = isEnvelope ? "$.items" : "$";
  // The cursor of a list is in its header `Link`, which neither reads.
  const hasCursor = isEnvelope && cursor !== undefined;
  const input = (name: string) => ({ name, in: "parameters", type: name });
  return {
    "x-speakeasy-pagination": hasCursor
      ? {
          type: "cursor",
          inputs: [input("cursor")],
          outputs: { nextCursor: "$.pagination.next_cursor", results },
        }
      : { type: "offsetLimit", inputs: [input("offset"), input("limit")], outputs: { results } },
    ...(isEnvelope && { "x-fern-pagination": fernHints(hasCursor) }),
  };
}

function fernHints(hasCursor: boolean): JsonRecord {
  const results = "$response.items";
  return hasCursor
    ? { cursor: "$request.cursor", next_cursor: "$response.pagination.next_cursor", results }
    : { offset: "$request.offset", results };
}

/** Requests change nothing, so all may be repeated. Fern's clients repeat these by default. */
export const RETRIES: JsonRecord = {
  strategy: "backoff",
  backoff: { initialInterval: 1000, maxInterval: 60_000, maxElapsedTime: 300_000, exponent: 2 },
  statusCodes: ["429", "503"],
  retryConnectionErrors: true,
};
