import type { Page } from "../intent/read.js";
import { type Answer, json } from "./answer.js";
import { refuse, type Refusal } from "./errors.js";
import type { PageQuery } from "./schemas.js";

/** Items of a page when the caller does not say (decisions.md §B, Shapes). */
const DEFAULT_LIMIT = 50;

export function pageOf({ limit, starting_after }: PageQuery): Page {
  return {
    limit: limit === undefined ? DEFAULT_LIMIT : Number(limit),
    startingAfter: starting_after ?? null,
  };
}

export const UNKNOWN_START: Refusal = refuse("INVALID_REQUEST", {
  details: [{ path: "/starting_after", message: "names no item of this list" }],
});

/** A bare array, with a link to the next page where there is one; `found` may hold one item more than the page. */
export function listAnswer(
  found: readonly { readonly id: string }[],
  { limit }: Page,
  path: string,
  view: readonly unknown[],
): Answer {
  const last = found[limit - 1];
  if (found.length <= limit || last === undefined) return json(200, view);
  const query = new URLSearchParams({ limit: String(limit), starting_after: last.id });
  return json(200, view, { Link: `<${path}?${query.toString()}>; rel="next"` });
}
