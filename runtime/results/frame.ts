import type { ResultColumns, Page, RowFormat, StreamEnd } from "../query/warehouse.js";

/** What stands around the rows of an answer. */
export interface Frame {
  readonly head: string;
  readonly tail: (end: Pick<StreamEnd, "returned" | "hasMore">) => string;
}

/** The frame of a format. Only JSON has the envelope of decisions.md §A, the one that looks ahead. */
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
