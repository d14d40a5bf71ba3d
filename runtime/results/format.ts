import type { IncomingMessage } from "node:http";
import Negotiator from "negotiator";
import type { RowFormat } from "../query/warehouse.js";

/** How each format is called in `Content-Type`. */
export const CONTENT_TYPES: Readonly<Record<RowFormat, string>> = {
  json: "application/json; charset=utf-8",
  csv: "text/csv; charset=utf-8; header=present",
  ndjson: "application/x-ndjson; charset=utf-8",
};

const FORMATS: ReadonlyMap<string, RowFormat> = new Map([
  ["application/json", "json"],
  ["text/csv", "csv"],
  ["application/x-ndjson", "ndjson"],
]);

const AVAILABLE = [...FORMATS.keys()];

/**
 * The format that a caller likes best; JSON where it names no other one. What cannot be had is answered as JSON too, which
 * RFC 9110 §12.5.1 allows: a client that sends the header by habit gets its rows.
 */
export function formatOf({ headers }: Pick<IncomingMessage, "headers">): RowFormat {
  const { accept } = headers;
  if (accept === undefined || accept === "*/*" || accept === "application/json") return "json";
  const [best = ""] = new Negotiator({ headers: { accept: withoutParameters(accept) } }).mediaTypes(
    AVAILABLE,
  );
  return FORMATS.get(best) ?? "json";
}

/** Only the weight counts: a `charset` or `header` that is asked for is the one that there is. */
function withoutParameters(accept: string): string {
  return accept.replace(/;\s*(?!q=)[\w-]+=[^,;]*/gi, "");
}
