import { type HttpError, httpError, type Result } from "../../core/model/errors.js";
import { requestAddress } from "../../core/http/request-address.js";
import type { OdataBody, OdataExchange } from "./answer.js";
import type { OdataOptions, SystemOption } from "./options.js";
import { type Asked, type OdataQuery, resolveOdata } from "./query.js";
import type { Representation } from "./representation.js";
import type { OdataSet } from "./sets.js";

/** The path of the service, and the namespace of the types of its rows. */
export const ROOT = "/odata";
export const ROWS = "Rows";

/** A request below the path of a set. */
export interface SetRequest {
  readonly exchange: OdataExchange;
  readonly set: OdataSet;
  readonly options: OdataOptions;
  readonly representation: Representation;
}

export const resolvedFor = (
  { exchange: { gateway, context }, set, options, representation }: SetRequest,
  more: Pick<Asked, "conditions" | "limit" | "property"> = {},
): Promise<Result<OdataQuery>> =>
  resolveOdata(gateway, set, context.caller, { options, representation, ...more });

/** The error of an option that is not among those taken; null where there is none. */
export function otherOption(
  { system }: OdataOptions,
  taken: readonly SystemOption[],
  type = "rows of a set, of which this address has none",
): HttpError | null {
  const other = (Object.keys(system) as readonly SystemOption[]).find((name) => !taken.includes(name));
  return other === undefined ? null : httpError("valueNotOfType", { name: `$${other}`, type });
}

/** What a response with JSON says of itself. */
export function formOf(
  { exchange, representation }: SetRequest,
  { query, selected }: OdataQuery,
): Omit<OdataBody, "bodyOf"> {
  const { request, gateway } = exchange;
  const { metadata, isExact, maxPageSize } = representation;
  const address = requestAddress(gateway, request);
  const { page } = query.selection;
  // An endpoint without pages sends all rows.
  const isApplied = maxPageSize !== null && page !== null && page.limit <= maxPageSize;
  return {
    form: JSON.stringify([representation, address, request.url, selected]),
    contentType: `application/json;odata.metadata=${metadata};odata.streaming=true;IEEE754Compatible=${String(isExact)};charset=utf-8`,
    headers: isApplied ? { "Preference-Applied": `odata.maxpagesize=${String(maxPageSize)}` } : {},
  };
}

/** The member `@odata.context` with the comma behind it; empty where no metadata is wanted. */
export function contextOf(
  { exchange, set, representation }: SetRequest,
  { selected }: Pick<OdataQuery, "selected">,
  suffix = "",
): string {
  if (representation.metadata === "none") return "";
  const { gateway, request } = exchange;
  const rows = set.keys === null ? `Collection(${ROWS}.${set.name})` : set.name;
  const chosen = selected === null ? "" : `(${selected.join(",")})`;
  const context = `${requestAddress(gateway, request)}${ROOT}/$metadata#${rows}${chosen}${suffix}`;
  return `"@odata.context":${JSON.stringify(context)},`;
}
