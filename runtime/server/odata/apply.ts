import type { Aggregate } from "../../core/model/aggregate/aggregate.js";
import { GROUP_PAGES } from "../../core/model/aggregate/group-options.js";
import type { Caller } from "../../core/model/caller.js";
import { httpError, isHttpError, type Result } from "../../core/model/errors.js";
import { FILTER_LIMITS } from "../../core/model/limits.js";
import { FILTER, type RawFields } from "../../core/model/query.js";
import type { ServedEndpoint } from "../../core/model/served-endpoint.js";
import type { Gateway } from "../../core/handler/gateway.js";
import { resolve } from "../../core/handler/resolve.js";
import { type OdataOptions, readCount } from "./options.js";
import { type OdataQuery, pageSizeOf } from "./query.js";
import type { Representation } from "./representation.js";
import type { OdataSet } from "./sets.js";

/** Groups with measures, or a total of all rows (OData Extension for Data Aggregation 4.0, 3). */
export interface Grouped {
  readonly filters: readonly string[];
  readonly groups: readonly string[];
  readonly measures: readonly string[];
  /** Whether the totals of the first groups follow, down to that of all (`rollup($all,…)`). */
  readonly isRolledUp?: true;
  /** Conditions on the groups. */
  readonly having?: readonly string[];
  readonly top?: { readonly count: string; readonly by: string; readonly direction: "ASC" | "DESC" };
}

/** What a saved query fixes. */
export const SAVED: Grouped = { filters: [], groups: [], measures: [] };

/** Queries of one `$apply`: the groups, and their total. */
const MAX_QUERIES = 2;

const notOffered = (text: string) =>
  httpError("notImplemented", { name: text.slice(0, 50).toWellFormed(), reason: APPLY });

const APPLY =
  "$apply has filter(…), groupby((…),aggregate(…)), groupby((rollup($all,…)),aggregate(…)) and aggregate(…) of the endpoint's groups and measures, then filter(…), topcount(…) or bottomcount(…), and concat(…) of two of these";

/** The queries of `$apply`. */
export function readApply(text: string): Result<readonly Grouped[]> {
  if (Buffer.byteLength(text) > FILTER_LIMITS.bytes) return httpError("filterTooComplex", FILTER_LIMITS);
  return readSteps(text, []);
}

function readSteps(text: string, before: readonly string[]): Result<readonly Grouped[]> {
  const steps = (partsAt("/", text) ?? []).map(callOf);
  const last = steps.findIndex((step) => step?.name !== "filter");
  const call = steps[last];
  if (call === undefined || call === null) return notOffered(text);
  const filters = [...before, ...steps.slice(0, last).map((step) => step?.inside ?? "")];
  const made = readLast(call, filters);
  const after = steps.slice(last + 1);
  if (isHttpError(made) || after.length === 0) return made;
  const [only, ...others] = made;
  return only === undefined || others.length > 0 || only.groups.length === 0
    ? notOffered(text)
    : readAfter(only, after);
}

/** What follows groups: conditions, then at last the first of them. */
function readAfter(grouped: Grouped, steps: readonly (Transformation | null)[]): Result<readonly Grouped[]> {
  const having: string[] = [];
  for (const [i, step] of steps.entries()) {
    const isLast = i === steps.length - 1;
    if (step?.name === "filter") having.push(step.inside);
    else {
      // The first of groups and totals together would be others than the first groups.
      const hasTop = isLast && step !== null && grouped.isRolledUp !== true;
      const top = hasTop ? topOf(step) : undefined;
      return top === undefined ? notOffered(step?.name ?? "") : [{ ...grouped, having, top }];
    }
  }
  return [{ ...grouped, having }];
}

function topOf({ name, inside }: Transformation): Grouped["top"] {
  const [, count = "", by = ""] = /^\s*(\d{1,9})\s*,\s*([\p{L}_][\p{L}\p{Nd}_]*)\s*$/u.exec(inside) ?? [];
  if (by === "" || (name !== "topcount" && name !== "bottomcount")) return undefined;
  return { count, by, direction: name === "topcount" ? "DESC" : "ASC" };
}

function readLast({ name, inside }: Transformation, filters: readonly string[]): Result<readonly Grouped[]> {
  const parts = partsAt(",", inside) ?? [];
  if (name === "concat" && parts.length === MAX_QUERIES) {
    const branches = parts.map((part) => readSteps(part, filters));
    const failed = branches.find(isHttpError);
    const all = branches.flatMap((branch) => (isHttpError(branch) ? [] : branch));
    return failed ?? (all.length === MAX_QUERIES ? all : notOffered(name));
  }
  if (name === "aggregate")
    return isNames(parts) ? [{ filters, groups: [], measures: parts }] : notOffered(inside);
  const [by = "", then = "", ...more] = parts;
  const named = /^\(.*\)$/s.test(by) ? (partsAt(",", by.slice(1, -1)) ?? []) : [];
  const rolledUp = rolledUpIn(named);
  const groups = rolledUp ?? named;
  const aggregate = callOf(then);
  const measures = aggregate?.name === "aggregate" ? (partsAt(",", aggregate.inside) ?? []) : [];
  const isGroupBy = name === "groupby" && more.length === 0 && groups.length > 0;
  return isGroupBy && isNames(groups) && isNames(measures) && measures.length > 0
    ? [{ filters, groups, measures, ...(rolledUp && { isRolledUp: true }) }]
    : notOffered(name);
}

/** The groups of `rollup($all,…)`, which stands alone; null for others. */
function rolledUpIn([only = "", ...others]: readonly string[]): readonly string[] | null {
  const call = others.length === 0 ? callOf(only) : null;
  const [all, ...groups] = call?.name === "rollup" ? (partsAt(",", call.inside) ?? []) : [];
  return all === "$all" ? groups : null;
}

const isNames = (parts: readonly string[]): boolean =>
  parts.every((part) => /^[\p{L}_][\p{L}\p{Nd}_]*$/u.test(part));

interface Transformation {
  readonly name: string;
  readonly inside: string;
}

function callOf(text: string): Transformation | null {
  const [, name = "", inside = ""] = /^([a-z]{1,20})\((.*)\)$/s.exec(text) ?? [];
  // `filter(a) or (b)` is no call: its last parenthesis closes another one.
  return name === "" || partsAt(",", inside) === null ? null : { name, inside };
}

/** The parts of a text between characters outside of quotes and parentheses; null where these do not match. */
function partsAt(separator: string, text: string): readonly string[] | null {
  const parts: string[] = [];
  let [start, depth, isQuoted] = [0, 0, false];
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === "'") isQuoted = !isQuoted;
    else if (!isQuoted && character === "(") depth++;
    else if (!isQuoted && character === ")" && --depth < 0) return null;
    if (character !== separator || isQuoted || depth > 0) continue;
    parts.push(text.slice(start, at).trim());
    start = at + 1;
  }
  return depth === 0 && !isQuoted ? [...parts, text.slice(start).trim()] : null;
}

/** The query of groups, as the endpoint's own parameters ask for it. */
export async function resolveGrouped(
  gateway: Gateway,
  set: OdataSet,
  caller: Caller,
  grouped: Grouped,
  { options, representation }: { readonly options: OdataOptions; readonly representation: Representation },
): Promise<Result<OdataQuery>> {
  const { endpoint } = set;
  const { groups, measures, having = [] } = grouped;
  const filters = [...grouped.filters, ...having];
  const { aggregate, pagination, filter } = endpoint.spec;
  if (aggregate === undefined)
    return httpError("notImplemented", { name: "$apply", reason: "the endpoint has no measures" });
  if (aggregate.saved !== undefined && grouped !== SAVED)
    return httpError("notImplemented", { name: "$apply", reason: "a saved query fixes its groups" });
  if (filters.length > 0 && filter !== true)
    return httpError("notImplemented", { name: "filter", reason: "this set takes no conditions" });
  const wrong = wrongFilter(endpoint, aggregate, grouped);
  if (wrong !== undefined) return notOffered(`filter(${wrong})`);
  const top = readCount("top", options);
  if (isHttpError(top)) return top;
  const size = pageSizeOf(pagination ?? GROUP_PAGES, representation);
  const limit = String(Math.max(1, Math.min(top ?? Infinity, size)));
  const { skip, skiptoken } = options.system;
  const order = readGroupOrder(options, grouped.top);
  if (isHttpError(order)) return order;
  const [by, direction] = order;
  const named: Readonly<Record<string, string | undefined>> = {
    ...{ group_by: groups.join(","), [aggregate.of]: measures.join(",") },
    ...{ [FILTER]: filters.map((each) => `(${each})`).join(" and "), sort_by: by },
    ...{ sort_direction: by && direction, limit, offset: skip, cursor: skiptoken, top: grouped.top?.count },
    totals: grouped.isRolledUp && "true",
  };
  const sent = Object.entries(named).flatMap(([name, value]) =>
    value ? [[name, { from: "query" as const, texts: [value] }] as const] : [],
  );
  const fields: RawFields = new Map([...options.custom, ...sent]);
  const format = representation.isExact ? "json-strings" : "json";
  const query = await resolve(gateway, endpoint, caller, { fields, source: "query", format });
  if (isHttpError(query)) return query;
  const { page } = query.selection;
  const selection = { ...query.selection, page: page && { ...page, envelope: false } };
  return {
    query: { ...query, selection },
    top,
    selected: grouped === SAVED ? null : [...groups, ...(grouped.isRolledUp ? ["level"] : []), ...measures],
  };
}

/** Names in a condition, without its texts. */
const namesOf = (condition: string): readonly string[] =>
  condition.replaceAll(/'(?:[^']|'')*'/g, "").match(/[\p{L}_][\p{L}\p{Nd}_]*/gu) ?? [];

/**
 * A condition that the endpoint would apply to other rows than OData does; undefined where there is none. Before the groups no row has a
 * measure. Behind them only what is asked is left: the endpoint filters the rows before it groups them, which is the same for a group that
 * is asked, since all its rows have one value, but not for its totals.
 */
function wrongFilter(
  { spec }: ServedEndpoint,
  aggregate: Aggregate,
  { filters, groups, measures, isRolledUp, having = [] }: Grouped,
): string | undefined {
  const columns = aggregate.of === "metrics" ? aggregate.filters : (spec.filters ?? []);
  const ofRows = new Set(columns.map(({ column }) => column));
  const isLeft = (name: string): boolean =>
    measures.includes(name) ? !ofRows.has(name) : groups.includes(name) && isRolledUp !== true;
  const isGone = (name: string): boolean => (ofRows.has(name) || isMeasure(aggregate, name)) && !isLeft(name);
  return (
    filters.find((text) => namesOf(text).some((name) => isMeasure(aggregate, name))) ??
    having.find((text) => namesOf(text).some(isGone))
  );
}

const isMeasure = ({ measures }: Aggregate, name: string): boolean =>
  measures.some((measure) => measure.name === name);

/** The one group or measure of `$orderby`, and its direction; empty without it. The first groups are in their own order. */
function readGroupOrder(
  { system: { orderby = "" } }: OdataOptions,
  first: Grouped["top"],
): Result<readonly [string, string]> {
  const [by = "", direction = "asc", ...more] = orderby.trim().split(/\s+/);
  if (orderby.includes(",") || (first !== undefined && orderby !== ""))
    return httpError("notImplemented", { name: "$orderby", reason: "groups are sorted by one of them" });
  if (first !== undefined) return [first.by, first.direction];
  const isOrder = more.length === 0 && /^(?:asc|desc)$/i.test(direction);
  const type = "the name of a group or measure, with asc or desc";
  return isOrder ? [by, direction] : httpError("valueNotOfType", { name: "$orderby", type });
}
