import type { HttpError } from "../model/errors.js";
import type { Endpoint } from "../model/endpoint.js";
import type { ResolvedQuery } from "../model/query.js";
import { queryKey } from "../model/query-key.js";
import type { ServedEndpoint } from "../model/served-endpoint.js";
import type { Tier } from "../model/tier.js";
import { BoundedCache, keyOf } from "../http/bounded-cache.js";
import { andThen } from "../http/serve.js";
import { NO_FIELDS, nextPageLink } from "../request/request-fields.js";
import type { Answer } from "../response/answer.js";
import type { BufferedResult } from "../response/buffered-result.js";
import { buildTag, namesTag } from "../response/entity-tag.js";
import type { Sent } from "../response/respond.js";
import type { DataVersion } from "../warehouse/data-versions.js";
import type { ResultColumns } from "../warehouse/warehouse.js";
import type { Exchange } from "./exchange.js";
import type { Gateway } from "./gateway.js";
import { mayHaveMore, rowsRefusal } from "./run.js";

/** Longer addresses are read anew each time. */
const MAX_LENGTH = 1000;

/** A query with its fields and conditions, and a link, beside the texts in them: about four copies of each. */
const REQUEST_BYTES = 5000;
const TEXT_BYTES = 10;

type PagedRequest = Parameters<typeof nextPageLink>[0];

interface KnownLink {
  /** Not the result, whose memory the cache of results frees. */
  readonly cursor: string | null;
  readonly prefix: string;
  readonly originalUrl: string;
  readonly link: readonly string[];
}

const NO_LINK: readonly string[] = [];

/** What the text of a request says, to callers of one tier. */
class KnownRequest {
  readonly gateway: Gateway;
  readonly endpoint: ServedEndpoint;
  readonly query: ResolvedQuery;
  readonly parameters: readonly string[];
  readonly shape: string | null;
  readonly text: RequestText;
  readonly key: string;
  /** Of the key, in the cache of results. */
  readonly cacheKey: string;
  #tag: { readonly version: DataVersion; readonly text: string } | null = null;

  #link: KnownLink | null = null;

  /** The columns with which its conditions can be compared: others are other objects. */
  #checked: ResultColumns | null = null;

  constructor(
    { gateway, parameters, shape }: Exchange,
    endpoint: ServedEndpoint,
    query: ResolvedQuery,
    text: RequestText,
  ) {
    this.gateway = gateway;
    this.endpoint = endpoint;
    this.query = query;
    this.parameters = parameters;
    this.shape = shape;
    this.text = text;
    this.key = queryKey(query);
    this.cacheKey = keyOf(this.key);
  }

  /** The link to the next page. An app in front may have taken a part of the address away. */
  linkTo(result: BufferedResult, request: PagedRequest, prefix: string): readonly string[] {
    const { fields = NO_FIELDS, selection } = this.query;
    const { page } = selection;
    if (page === null || !mayHaveMore(result, selection)) return NO_LINK;
    const { originalUrl = "" } = request;
    const { nextCursor: cursor } = result;
    const known = this.#link;
    if (known?.cursor === cursor && known.prefix === prefix && known.originalUrl === originalUrl)
      return known.link;
    const link = nextPageLink(request, fields, page, cursor, prefix);
    const length = originalUrl.length + prefix.length + (cursor?.length ?? 0);
    if (length <= MAX_LENGTH) this.#link = { cursor, prefix, originalUrl, link };
    return link;
  }

  /** Whether its conditions can be compared with the columns, which are looked up already. */
  isChecked({ id }: DataVersion): boolean {
    const { gateway, query } = this;
    const { conditions, keyset } = query.selection;
    if (keyset === undefined && conditions.length === 0) return true;
    const columns = gateway.warehouse.columns(query.relation, id);
    if (columns === this.#checked) return true;
    // Who runs the query waits for the same look-up.
    if (columns instanceof Promise) columns.catch(() => undefined);
    else if (gateway.warehouse.check(conditions, columns) === null) this.#checked = columns;
    return columns === this.#checked;
  }

  tagOf(version: DataVersion): string {
    if (this.#tag?.version !== version) this.#tag = { version, text: buildTag(version, this.key) };
    return this.#tag.text;
  }
}

const REQUESTS = new BoundedCache<KnownRequest>("requests", {
  sizeOf: ({ text: { tier, accept, url } }) =>
    REQUEST_BYTES + TEXT_BYTES * (tier.length + accept.length + url.length),
});

/** What an answer depends on: nothing else of the request or its caller changes it. */
interface RequestText {
  readonly tier: Tier;
  readonly accept: string;
  readonly url: string;
}

/** Null for a request whose answer depends on more. */
function textOf({ request, context: { caller } }: Exchange, { spec }: ServedEndpoint): RequestText | null {
  const { method, url = "", headers } = request;
  const { accept = "", range, prefer } = headers;
  const isOrdinary = method === "GET" && range === undefined && prefer === undefined;
  if (!isOrdinary || spec.changes !== "on_build" || spec.rows !== undefined || spec.goneAt !== undefined)
    return null;
  return accept.length + url.length > MAX_LENGTH ? null : { tier: caller.tier, accept, url };
}

/** By its address alone: to join the texts takes longer than to look up one. Of others with the same address, by all of them. */
function find(text: RequestText): KnownRequest | undefined {
  const first = REQUESTS.get(text.url, text.url);
  if (first === undefined || isOf(first, text)) return first;
  const joined = joinedText(text);
  return REQUESTS.get(joined, joined);
}

function isOf({ text: { tier, accept } }: KnownRequest, text: RequestText): boolean {
  return tier === text.tier && accept === text.accept;
}

/** No address begins with a tier. */
const joinedText = ({ tier, accept, url }: RequestText): string => `${tier} ${accept} ${url}`;

/** Keeps what a request says, for the next ones with its text. */
export function keepRequest(exchange: Exchange, endpoint: ServedEndpoint, query: ResolvedQuery): void {
  const { grouping, keyset } = query.selection;
  if (grouping !== undefined || query.mustBeFresh === true || (keyset?.after ?? null) !== null) return;
  const text = textOf(exchange, endpoint);
  if (text === null) return;
  const first = REQUESTS.get(text.url, text.url);
  const key = first === undefined || isOf(first, text) ? text.url : joinedText(text);
  REQUESTS.set(key, new KnownRequest(exchange, endpoint, query, text), undefined, key);
}

/** How a request is answered by a hit, or 304, without waiting; undefined where it must be resolved and run. */
export function answerHit(
  exchange: Exchange,
  endpoint: ServedEndpoint,
  respondTo: (exchange: Exchange, endpoint: Endpoint, answer: Answer) => Sent | Promise<Sent>,
): HttpError | null | Promise<HttpError | null> | undefined {
  const { gateway, context, times } = exchange;
  const text = textOf(exchange, endpoint);
  const known = text === null ? undefined : find(text);
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
  const tag = known.tagOf(version);
  const isKnown = namesTag(tag, request.headers["if-none-match"]);
  if (!isKnown && !known.isChecked(version)) return undefined;
  const result = isKnown ? null : gateway.results.kept(known.key, version.id, known.cacheKey);
  if (result === undefined) return undefined;
  // Without spreads, which make a hidden class of each object (`ServiceMetrics`).
  return {
    query,
    result,
    hasRunQuery: false,
    ownsResult: false,
    version,
    due: spec.freshness === undefined ? null : gateway.dueOf(spec),
    quality: gateway.qualityOf(spec),
    tag,
    hasMore: result !== null && mayHaveMore(result, query.selection),
    total: null,
    link: result === null ? NO_LINK : known.linkTo(result, request, gateway.publicAddressOf(request).prefix),
  };
}
