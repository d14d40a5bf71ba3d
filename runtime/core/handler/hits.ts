import type { HttpError } from "../model/errors.js";
import type { Endpoint } from "../model/endpoint.js";
import type { ResolvedQuery } from "../model/query.js";
import { queryKey } from "../model/query-key.js";
import type { ServedEndpoint } from "../model/served-endpoint.js";
import { BoundedCache, keyOf } from "../http/bounded-cache.js";
import { andThen } from "../http/serve.js";
import type { Answer } from "../response/answer.js";
import { buildTag, namesTag } from "../response/entity-tag.js";
import type { Sent } from "../response/respond.js";
import type { DataVersion } from "../warehouse/data-versions.js";
import type { Exchange } from "./exchange.js";
import type { Gateway } from "./gateway.js";
import { mayHaveMore, rowsRefusal } from "./run.js";

/** Longer addresses are read anew each time. */
const MAX_LENGTH = 1000;

/** A query with its fields and conditions, beside the texts in them: about four copies of each. */
const REQUEST_BYTES = 2500;
const TEXT_BYTES = 10;

/** What the text of a request says, to callers of one tier. */
class KnownRequest {
  readonly gateway: Gateway;
  readonly endpoint: ServedEndpoint;
  readonly query: ResolvedQuery;
  readonly parameters: readonly string[];
  readonly shape: string | null;
  readonly length: number;
  readonly key: string;
  /** Of the key, in the cache of results. */
  readonly cacheKey: string;
  #tag: { readonly version: DataVersion; readonly text: string } | null = null;

  constructor(
    { gateway, parameters, shape }: Exchange,
    endpoint: ServedEndpoint,
    query: ResolvedQuery,
    length: number,
  ) {
    this.gateway = gateway;
    this.endpoint = endpoint;
    this.query = query;
    this.parameters = parameters;
    this.shape = shape;
    this.length = length;
    this.key = queryKey(query);
    this.cacheKey = keyOf(this.key);
  }

  tagOf(version: DataVersion): string {
    if (this.#tag?.version !== version) this.#tag = { version, text: buildTag(version, this.key) };
    return this.#tag.text;
  }
}

const REQUESTS = new BoundedCache<KnownRequest>("requests", {
  sizeOf: ({ length }) => REQUEST_BYTES + TEXT_BYTES * length,
});

/** The text of a request whose answer depends on nothing else that it says; null for others. */
function textOf({ request, context: { caller } }: Exchange, { spec }: ServedEndpoint): string | null {
  const { method, url = "", headers } = request;
  const { accept = "", range, prefer } = headers;
  const isOrdinary = method === "GET" && range === undefined && prefer === undefined;
  if (!isOrdinary || spec.changes !== "on_build" || spec.rows !== undefined || spec.goneAt !== undefined)
    return null;
  const text = `${caller.tier} ${accept} ${url}`;
  return text.length > MAX_LENGTH ? null : text;
}

/** Keeps what a request says, for the next ones with its text. */
export function keepRequest(exchange: Exchange, endpoint: ServedEndpoint, query: ResolvedQuery): void {
  const { grouping, keyset } = query.selection;
  if (grouping !== undefined || query.mustBeFresh === true || (keyset?.after ?? null) !== null) return;
  const text = textOf(exchange, endpoint);
  if (text !== null)
    REQUESTS.set(text, new KnownRequest(exchange, endpoint, query, text.length), undefined, text);
}

/** How a request is answered by a hit, or 304, without waiting; undefined where it must be resolved and run. */
export function answerHit(
  exchange: Exchange,
  endpoint: ServedEndpoint,
  respondTo: (exchange: Exchange, endpoint: Endpoint, answer: Answer) => Sent | Promise<Sent>,
): HttpError | null | Promise<HttpError | null> | undefined {
  const { gateway, context, times } = exchange;
  const text = textOf(exchange, endpoint);
  const known = text === null ? undefined : REQUESTS.get(text, text);
  if (known?.endpoint !== endpoint || known.gateway !== gateway) return undefined;
  times.end("resolve");
  const answer = answerAtHand(exchange, known);
  if (answer === undefined) return undefined;
  return andThen(context.caller.key?.use?.take(context) ?? null, (exceeded) => {
    if (exceeded !== null) return exceeded;
    exchange.parameters = known.parameters;
    exchange.shape = known.shape;
    times.end("run");
    return andThen(respondTo(exchange, endpoint.spec, answer), (sent) => {
      exchange.sent = sent;
      return null;
    });
  });
}

function answerAtHand({ gateway, request, context }: Exchange, known: KnownRequest): Answer | undefined {
  const { spec } = known.endpoint;
  const { query } = known;
  const version = gateway.versionOf(spec.path);
  if (version === null || rowsRefusal(gateway, spec, context.caller) !== null) return undefined;
  const due = spec.freshness === undefined ? null : gateway.dueOf(spec);
  const quality = gateway.qualityOf(spec);
  const tag = known.tagOf(version);
  const said = {
    query,
    hasRunQuery: false,
    ownsResult: false,
    version,
    due,
    quality,
    tag,
    total: null,
  } as const;
  if (namesTag(tag, request.headers["if-none-match"])) return { ...said, result: null, hasMore: false };
  if (!isChecked(gateway, query, version)) return undefined;
  const result = gateway.results.kept(known.key, version.id, known.cacheKey);
  return result && { ...said, result, hasMore: mayHaveMore(result, query.selection) };
}

/** Whether its conditions can be compared with the columns, which are looked up already. */
function isChecked({ warehouse }: Gateway, query: ResolvedQuery, { id }: DataVersion): boolean {
  const { conditions, keyset } = query.selection;
  if (keyset === undefined && conditions.length === 0) return true;
  const columns = warehouse.columnsOf(query, id);
  if (!(columns instanceof Promise))
    return columns.filtered.every((each) => warehouse.check(conditions, each) === null);
  // Who runs the query waits for the same look-up.
  columns.catch(() => undefined);
  return false;
}
