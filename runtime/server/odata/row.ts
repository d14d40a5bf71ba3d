import { httpError, type HttpError, isHttpError, type Result } from "../../core/model/errors.js";
import { FILTER_LIMITS } from "../../core/model/limits.js";
import type { Reply } from "../../core/http/send.js";
import { requestAddress } from "../../core/http/request-address.js";
import { BufferedResult } from "../../core/response/buffered-result.js";
import { answerOdata, textOf } from "./answer.js";
import { versionHeaders } from "./errors.js";
import { readKey } from "./filter.js";
import { type SystemOption, withAliases } from "./options.js";
import { contextOf, formOf, otherOption, resolvedFor, ROOT, type SetRequest } from "./set-request.js";
import type { OdataProperty } from "./sets.js";

/** What a path asks of the row of a key: all of it, a property, or the value of one as a text (`/$value`). */
export interface RowPath {
  readonly kind: "row";
  /** The text in the parentheses. */
  readonly key: string;
  readonly property: string | null;
  readonly isRaw: boolean;
}

/** Options of a row; a property has the format alone. */
const OF_ROW: readonly SystemOption[] = ["select", "format"];
const OF_PROPERTY: readonly SystemOption[] = ["format"];

/** Serves a row by its key, or a property of it. Null where the response is sent, or the client has disconnected. */
export async function serveRow(asked: SetRequest, path: RowPath): Promise<Reply | HttpError | null> {
  const { exchange, set, options } = asked;
  const refused = otherOption(options, path.isRaw ? [] : path.property === null ? OF_ROW : OF_PROPERTY);
  if (refused) return refused;
  const property = set.properties.find(({ name }) => name === path.property);
  if (path.property !== null && property === undefined) return httpError("notFound");
  const conditions = set.keys === null ? httpError("notFound") : await keyOf(asked, set.keys, path.key);
  if (isHttpError(conditions)) return conditions;
  const resolving = resolvedFor(asked, { conditions, limit: 1, ...(property && { property }) });
  return answerOdata(exchange, set, resolving, false, (query) => ({
    ...formOf(asked, query),
    ...(path.isRaw && { contentType: "text/plain;charset=utf-8" }),
    bodyOf: async ({ result }) => {
      // One row in brackets. No pattern looks for its end: blanks in a value took seconds.
      const row = ((await textOf(result))?.text ?? "").trim().slice(1, -1).trim();
      if (row === "") return httpError("notFound");
      if (property !== undefined) return propertyBody(asked, path, property, row);
      const context = contextOf(asked, query, "/$entity");
      return oneRow(`{${context}${row.slice(1)}`);
    },
  }));
}

/** A key may be an alias: an address has no way to write some characters (OData 4.01, 13.2.1). */
const keyOf = (
  { set, options: { aliases } }: SetRequest,
  keys: readonly OdataProperty[],
  text: string,
): ReturnType<typeof readKey> => readKey(set, keys, withAliases(text, aliases, FILTER_LIMITS.bytes));

/** `row`: the JSON of a row with the property alone. Null is no content (OData 4.01, 11.2.4). */
function propertyBody(
  asked: SetRequest,
  { key, isRaw }: RowPath,
  { name }: OdataProperty,
  row: string,
): Result<BufferedResult> | Reply {
  const { exchange, set, representation } = asked;
  // Names of properties have no colon. The text is kept: a number that is parsed loses digits.
  const value = row.slice(row.indexOf(":") + 1, row.lastIndexOf("}")).trim();
  if (value === "null") return { status: 204, body: "", headers: versionHeaders(exchange.request) };
  if (isRaw) {
    if (/^[[{]/.test(value)) return httpError("notImplemented", { name: "$value", reason: NO_TEXT });
    return oneRow(value.startsWith('"') ? (JSON.parse(value) as string) : value);
  }
  const address = `${requestAddress(exchange.gateway, exchange.request)}${ROOT}/$metadata`;
  const context = JSON.stringify(`${address}#${set.name}(${encodeURIComponent(key)})/${name}`);
  return oneRow(
    `{${representation.metadata === "none" ? "" : `"@odata.context":${context},`}"value":${value}}`,
  );
}

const NO_TEXT = "lists and objects have no text: ask for the property itself";

const oneRow = (text: string): BufferedResult => new BufferedResult(Buffer.from(text), 1, 0);
