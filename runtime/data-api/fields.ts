import type { IncomingMessage } from "node:http";
import { MAX_BODY_BYTES, readBody } from "../http/body.js";
import { bodyFields, objectFields, queryFields, type RawFields } from "../query/raw.js";
import { httpError, type HttpError } from "../model/errors.js";

/** A request; `body` is there when somebody in front, such as `express.json()`, has read it already. */
export type DataRequest = IncomingMessage & { readonly body?: unknown };

/** Of a request without a query string. */
export const NO_FIELDS: RawFields = new Map();

/** The fields of a request: of the query string, or of the body of a POST (data-api.md §4.3). Null: the client has gone. */
export function readFields(
  request: DataRequest,
): RawFields | HttpError | Promise<RawFields | HttpError | null> {
  const query = queryOf(request.url ?? "");
  if (request.method !== "POST") return query === "" ? NO_FIELDS : queryFields(query);
  return query === "" ? readPosted(request) : httpError("queryOnPost");
}

function queryOf(url: string): string {
  const mark = url.indexOf("?");
  return mark === -1 ? "" : url.slice(mark + 1);
}

async function readPosted(request: DataRequest): Promise<RawFields | HttpError | null> {
  if (request.body !== undefined) return objectFields(request.body);
  const body = await readBody(request);
  switch (body.kind) {
    case "text":
      return bodyFields(body.text);
    case "not-text":
      return httpError("bodyNotJson");
    case "too-large":
      return httpError("bodyTooLarge", { max: MAX_BODY_BYTES });
    case "gone":
      return null;
  }
}
