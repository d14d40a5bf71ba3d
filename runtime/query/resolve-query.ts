import { queryKey } from "./query-key.js";
import type { RowFormat, Selection } from "./selection.js";
import { readParameters } from "./parameters.js";
import type { ResolvedQuery } from "./warehouse.js";
import type { Endpoint } from "../model/endpoint.js";
import type { HttpError } from "../model/errors.js";
import { NO_FIELDS } from "../data-api/fields.js";

/** What a request asks of the database. */
export interface KeyedQuery {
  readonly question: ResolvedQuery;
  /** Tells questions apart. */
  readonly key: string;
}

/** How a caller of a tier is answered. */
export interface ResponseOptions {
  readonly format: RowFormat;
  readonly timeoutMs: number;
}

/** Puts the question of a selection together. */
export function resolveQuery(
  { relation }: Endpoint,
  selection: Selection,
  { format, timeoutMs }: ResponseOptions,
): KeyedQuery {
  const kept = format === "json" ? selection : withoutEnvelope(selection);
  const question = { relation, selection: kept, format, timeoutMs };
  return { question, key: queryKey(question) };
}

/** Only JSON has room for telling whether more rows follow. */
function withoutEnvelope(selection: Selection): Selection {
  const { page } = selection;
  return page === null ? selection : { ...selection, page: { ...page, lookAhead: false } };
}

type ByManner = Map<number, Partial<Record<RowFormat, KeyedQuery | HttpError>>>;

const plain = new WeakMap<Endpoint, ByManner>();

/**
 * What a request without any parameter asks. It is what most ask, and always the same: it is put together once for each
 * endpoint and manner.
 */
export function resolvePlainQuery(endpoint: Endpoint, manner: ResponseOptions): KeyedQuery | HttpError {
  const known = plain.get(endpoint)?.get(manner.timeoutMs)?.[manner.format];
  if (known) return known;
  const selection = readParameters(endpoint, NO_FIELDS, "query");
  const made = "code" in selection ? selection : resolveQuery(endpoint, selection, manner);
  const byTimeout = plain.get(endpoint) ?? (new Map() as ByManner);
  byTimeout.set(manner.timeoutMs, { ...byTimeout.get(manner.timeoutMs), [manner.format]: made });
  plain.set(endpoint, byTimeout);
  return made;
}
