import { keyOf } from "../answers/question-key.js";
import type { RowFormat, Selection } from "../query/selection.js";
import { readParameters } from "../query/parameters.js";
import type { Question } from "../warehouse/warehouse.js";
import type { Endpoint } from "./endpoint.js";
import type { Refusal } from "./errors.js";
import { NO_FIELDS } from "./fields.js";

/** What a request asks of the database. */
export interface Asked {
  readonly question: Question;
  /** Tells questions apart. */
  readonly key: string;
}

/** How a caller of a tier is answered. */
export interface Manner {
  readonly format: RowFormat;
  readonly timeoutMs: number;
}

/** Puts the question of a selection together. */
export function askedOf({ relation }: Endpoint, selection: Selection, { format, timeoutMs }: Manner): Asked {
  const kept = format === "json" ? selection : withoutEnvelope(selection);
  const question = { relation, selection: kept, format, timeoutMs };
  return { question, key: keyOf(question) };
}

/** Only JSON has room for telling whether more rows follow. */
function withoutEnvelope(selection: Selection): Selection {
  const { page } = selection;
  return page === null ? selection : { ...selection, page: { ...page, lookAhead: false } };
}

type ByManner = Map<number, Partial<Record<RowFormat, Asked | Refusal>>>;

const plain = new WeakMap<Endpoint, ByManner>();

/**
 * What a request without any parameter asks. It is what most ask, and always the same: it is put together once for each
 * endpoint and manner.
 */
export function plainAsked(endpoint: Endpoint, manner: Manner): Asked | Refusal {
  const known = plain.get(endpoint)?.get(manner.timeoutMs)?.[manner.format];
  if (known) return known;
  const selection = readParameters(endpoint, NO_FIELDS, "query");
  const made = "code" in selection ? selection : askedOf(endpoint, selection, manner);
  const byTimeout = plain.get(endpoint) ?? (new Map() as ByManner);
  byTimeout.set(manner.timeoutMs, { ...byTimeout.get(manner.timeoutMs), [manner.format]: made });
  plain.set(endpoint, byTimeout);
  return made;
}
