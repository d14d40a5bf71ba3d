import { httpError, type HttpError, isHttpError, type Result } from "../../core/model/errors.js";
import { queryOf } from "../../core/http/route.js";
import type { Reply } from "../../core/http/send.js";
import type { QueryResult } from "../../core/response/answer.js";
import { BufferedResult } from "../../core/response/buffered-result.js";
import { answerOdata, type OdataBody, type OdataExchange, type ReadText, textOf, wrapped } from "./answer.js";
import { type OdataOptions, readFlag, readOptions, type SystemOption } from "./options.js";
import { isOwnParameter, type OdataQuery, unknownOption } from "./query.js";
import { type Grouped, readApply, resolveGrouped, SAVED } from "./apply.js";
import { run } from "../../core/handler/run.js";
import { plainRepresentation, type Representation, representationOf } from "./representation.js";
import { requestAddress } from "../../core/http/request-address.js";
import { type RowPath, serveRow } from "./row.js";
import { contextOf, formOf, otherOption, resolvedFor, ROOT, type SetRequest } from "./set-request.js";
import type { OdataSet } from "./sets.js";

/** What a path asks of a set: its rows, how many there are, or the row of a key. */
export type SetPath = { readonly kind: "rows" | "count" } | RowPath;

/** Serves a set. Null where the response is sent, or the client has disconnected. */
export async function serveSet(
  exchange: OdataExchange,
  set: OdataSet,
  path: SetPath,
): Promise<Reply | HttpError | null> {
  const { request } = exchange;
  const options = readOptions(queryOf(request).toString(), (name) => isOwnParameter(set, name));
  if (isHttpError(options)) return options;
  if (path.kind === "count") return serveCount(exchange, set, options);
  // A text is sent whatever JSON a client reads.
  const isText = path.kind === "row" && path.isRaw;
  const representation = isText
    ? plainRepresentation(request)
    : representationOf(request, options.system.format);
  if (isHttpError(representation)) return representation;
  const asked = { exchange, set, options, representation };
  return path.kind === "row" ? serveRow(asked, path) : serveRows(asked);
}

async function serveRows(asked: SetRequest): Promise<Reply | HttpError | null> {
  const { exchange, set, options, representation } = asked;
  const isSaved = set.isOfGroups && set.endpoint.spec.aggregate?.saved !== undefined;
  if (options.system.apply !== undefined || isSaved) return serveGroups(asked, options.system.apply);
  if (set.isOfGroups) return httpError("notImplemented", { name: set.name, reason: OF_GROUPS_ALONE });
  const wantsTotal = readFlag("count", options);
  if (isHttpError(wantsTotal)) return wantsTotal;
  return answerOdata(exchange, set, resolvedFor(asked), wantsTotal, (query) => ({
    ...formOf(asked, query),
    bodyOf: ({ result, total }) => {
      const count = total === null ? "" : `"@odata.count":${longText(total, representation)},`;
      const head = `{${contextOf(asked, query)}${count}"value":`;
      if (query.top === 0) return new BufferedResult(Buffer.from(`${head}[]}`), 0, 0);
      const next = nextAddress(asked, query, result.nextCursor);
      return wrapped(result, head, (hasMore) =>
        hasMore && next !== null ? `,"@odata.nextLink":${JSON.stringify(next)}}` : "}",
      );
    },
  }));
}

/** Options beside `$apply`, of which the result is paged and sorted; that of `concat` is one page. */
const OF_GROUPS: readonly SystemOption[] = ["apply", "orderby", "top", "skip", "skiptoken", "format"];
const OF_CONCAT: readonly SystemOption[] = ["apply", "format"];

const OF_GROUPS_ALONE = "it has groups alone: ask for them by $apply=groupby((…),aggregate(…))";

/** Groups with their measures; of `concat` those of its second part behind them. Without a text those that a saved query fixes. */
async function serveGroups(asked: SetRequest, text: string | undefined): Promise<Reply | HttpError | null> {
  const { exchange, set, options } = asked;
  const { gateway, context } = exchange;
  const refused =
    otherOption(options, OF_GROUPS, "no other option beside $apply") ?? unknownOption(set, options);
  if (refused) return refused;
  const queries = text === undefined ? [SAVED] : readApply(text);
  if (isHttpError(queries)) return queries;
  const resolving = (each: Grouped) => resolveGrouped(gateway, set, context.caller, each, asked);
  const [first, second] = queries;
  if (first === undefined) return null;
  const beside = second === undefined ? null : otherOption(options, OF_CONCAT);
  if (beside)
    return httpError("notImplemented", { name: beside.parameter ?? "", reason: "concat is one page" });
  return answerOdata(exchange, set, resolving(first), false, (query) => ({
    ...formOf(asked, query),
    bodyOf: ({ result, hasMore }, queries) => {
      const head = `{${contextOf(asked, query)}"value":`;
      if (second !== undefined)
        return hasMore ? TOO_MANY : concatenated(asked, { head, result, queries }, resolving(second));
      if (query.top === 0) return new BufferedResult(Buffer.from(`${head}[]}`), 0, 0);
      const next = nextAddress(asked, query, result.nextCursor);
      return wrapped(result, head, (more) =>
        more && next !== null ? `,"@odata.nextLink":${JSON.stringify(next)}}` : "}",
      );
    },
  }));
}

/** Of each part of `concat`: both are held in memory. */
const MAX_PART_BYTES = 8 * 1024 * 1024;

const TOO_MANY = httpError("notImplemented", {
  name: "concat",
  reason: "a part has more groups than a page: ask for both by themselves",
});

const NO_GROUPS: ReadText = { text: "[]", rows: 0, databaseMs: 0 };

interface FirstPart {
  readonly head: string;
  readonly result: QueryResult;
  readonly queries: Parameters<OdataBody["bodyOf"]>[1];
}

/** The groups of both parts on one page. */
async function concatenated(
  { exchange: { gateway, context }, set }: SetRequest,
  { head, result, queries }: FirstPart,
  resolving: Promise<Result<OdataQuery>>,
): Promise<Result<QueryResult>> {
  const second = await resolving;
  if (isHttpError(second)) return second;
  const first = await textOf(result, MAX_PART_BYTES);
  if (first === null) return TOO_MANY;
  const answer = await run(gateway, set.endpoint.spec, second.query, context);
  if (isHttpError(answer)) return answer;
  if (answer !== null) queries.push(answer);
  const other = answer?.result ? await textOf(answer.result, MAX_PART_BYTES) : NO_GROUPS;
  if (other === null || answer?.hasMore === true) return TOO_MANY;
  const groups = [first, other].map(({ text }) => text.trim().slice(1, -1).trim());
  const rows = (first.rows ?? 0) + (other.rows ?? 0);
  const body = Buffer.from(`${head}[${groups.filter((each) => each !== "").join(",")}]}`);
  return new BufferedResult(body, rows, 0);
}

const longText = (total: number, { isExact }: Representation): string =>
  isExact ? `"${String(total)}"` : String(total);

/** Options of a number of rows. */
const OF_COUNT: readonly SystemOption[] = ["filter", "format"];

/** `/$count`: the number as a text. */
async function serveCount(
  exchange: OdataExchange,
  set: OdataSet,
  options: OdataOptions,
): Promise<Reply | HttpError | null> {
  const refused = otherOption(options, OF_COUNT);
  if (refused) return refused;
  if (set.isOfGroups) return httpError("notImplemented", { name: "$count", reason: OF_GROUPS_ALONE });
  const representation = plainRepresentation(exchange.request);
  if (isHttpError(representation)) return representation;
  return answerOdata(
    exchange,
    set,
    resolvedFor({ exchange, set, options, representation }, { limit: 1 }),
    true,
    () => ({
      form: "$count",
      contentType: "text/plain; charset=utf-8",
      headers: {},
      bodyOf: ({ total }) => new BufferedResult(Buffer.from(String(total ?? 0)), 0, 0),
    }),
  );
}

/** Options that a link to the next page says anew, by their names in any spelling. */
const OF_PAGE = /^\$?(?:top|skip|skiptoken|count)$/i;

/** The address of the next page; null where all rows that are wanted are sent. */
function nextAddress(
  { exchange, set }: SetRequest,
  { query, top }: OdataQuery,
  cursor: string | null,
): string | null {
  const { page } = query.selection;
  const left = top === null || page === null ? null : top - page.limit;
  if (page === null || (left !== null && left <= 0)) return null;
  const { gateway, request } = exchange;
  const kept = [...queryOf(request)].filter(([name]) => isOwnParameter(set, name) || !OF_PAGE.test(name));
  const position: readonly [string, string] =
    cursor === null ? ["$skip", String(page.offset + page.limit)] : ["$skiptoken", cursor];
  const all = [...kept, ...(left === null ? [] : [["$top", String(left)] as const]), position];
  const text = all.map(([name, value]) => `${escapedName(name)}=${encodeURIComponent(value)}`).join("&");
  return `${requestAddress(gateway, request)}${ROOT}/${encodeURIComponent(set.name)}${set.keys === null ? "()" : ""}?${text}`;
}

const escapedName = (name: string): string =>
  encodeURIComponent(name).replace(/^%24/, "$").replace(/^%40/, "@");
