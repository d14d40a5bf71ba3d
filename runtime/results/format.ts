import type { IncomingMessage } from "node:http";
import Negotiator from "negotiator";
import type { Page, ResultColumns, RowFormat, StreamEnd } from "../query/warehouse.js";

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

/** What stands around the rows of an answer. */
export interface Frame {
  readonly head: string;
  readonly tail: (end: Pick<StreamEnd, "returned" | "hasMore">) => string;
}

/** The frame of a format. Only JSON has an envelope, which needs the look ahead. */
export function frameOf(format: RowFormat, page: Page | null, columns: ResultColumns): Frame {
  switch (format) {
    case "json":
      return page?.lookAhead ? envelope(page) : BARE_ARRAY;
    case "ndjson":
      return { head: "", tail: ({ returned }) => (returned > 0 ? "\n" : "") };
    case "csv":
      return {
        head: `${columns.map(({ name }) => csvName(name)).join(",")}\r\n`,
        tail: ({ returned }) => (returned > 0 ? "\r\n" : ""),
      };
  }
}

const BARE_ARRAY: Frame = { head: "[", tail: () => "]" };

function envelope({ limit, offset }: Page): Frame {
  return {
    head: '{"items":[',
    tail: ({ returned, hasMore }) =>
      `],"pagination":${JSON.stringify({ limit, offset, returned, has_more: hasMore })}}`,
  };
}

/** A field of the header record (RFC 4180). */
function csvName(name: string): string {
  return /[",\r\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;
}
