import type { ToolParameters } from "./tools.js";

/** Runs an endpoint's own handler with the caller's key. The body is NDJSON, or with `isSummary` one object about all rows. */
export type RunQuery = (
  path: string,
  parameters: URLSearchParams,
  isSummary?: boolean,
) => Promise<QueryReply>;

/** The response of an endpoint, cut at a maximum size. */
export interface QueryReply {
  readonly status: number;
  readonly body: string;
  /** Whether the body was cut, or more rows follow the page. */
  readonly hasMore: boolean;
  /** The cursor of the next page; null where the endpoint has none, or the body was cut. */
  readonly nextCursor: string | null;
}

export type ToolRow = Readonly<Record<string, unknown>>;

export function queryString(
  parameters: ToolParameters,
  page: Readonly<Record<string, string | number>>,
): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    for (const each of [value].flat()) query.append(name, String(each));
  for (const [name, value] of Object.entries(page)) query.set(name, String(value));
  return query;
}

/** The lines of an NDJSON body. */
export function linesOf(body: string): readonly string[] {
  return body.split("\n").filter((line) => line !== "");
}

/** A row as an object. Numbers of more digits than JavaScript keeps become texts. */
export function rowOf(line: string): ToolRow {
  const exact = line.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    token.startsWith('"') || token.replace(/e.*$/i, "").replace(/\D/g, "").length <= 15
      ? token
      : JSON.stringify(token),
  );
  return JSON.parse(exact) as ToolRow;
}
