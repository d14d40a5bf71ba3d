import type { ResolvedQuery } from "../model/query.js";
import type { DataVersion } from "../warehouse/data-versions.js";
import type { DataQuality } from "../warehouse/data-quality.js";
import type { Due } from "../warehouse/freshness-checks.js";
import type { RowStream } from "../warehouse/warehouse.js";
import type { BufferedResult } from "./buffered-result.js";
import type { Frame } from "./content-negotiation.js";

/** A result that is sent while it is read from the database. */
export interface StreamedResult {
  readonly kind: "stream";
  readonly frame: Frame;
  readonly stream: RowStream;
  /** The cursor of the next page; null on the last page, and where pages have none. */
  readonly nextCursor: string | null;
}

export type QueryResult = BufferedResult | StreamedResult;

/** What responses say of the rows, known before they were read: they are of that build or a later one. */
export interface RowClaims {
  /** Until when they are as fresh as promised; null where nothing is known or promised. */
  readonly due: Due | null;
  /** What dbt's tests say of them; null without tests. */
  readonly quality: DataQuality | null;
}

/** What the database gave for a query, before it is sent. */
export interface Answer extends RowClaims {
  readonly query: ResolvedQuery;
  /** Null when the client has these rows already. */
  readonly result: QueryResult | null;
  /** Whether this request ran the query itself. */
  readonly hasRunQuery: boolean;
  /** Whether nothing else reads the result: its memory is freed once it is sent. */
  readonly ownsResult: boolean;
  readonly version: DataVersion | null;
  /** The entity tag, if the build determines it. */
  readonly tag: string | null;
  /** Whether rows follow the page. */
  readonly hasMore: boolean;
  /** The number of rows on all pages, where it is wanted. */
  readonly total: number | null;
  /** The header with the link to the next page, where it is known already, as flat name and value pairs. */
  readonly link?: readonly string[];
}

/** The part of an answer that a query, or a cached result, has given. */
export type AnsweredRows = Pick<Answer, "hasRunQuery" | "ownsResult"> & { readonly result: QueryResult };
