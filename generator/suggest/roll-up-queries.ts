import {
  type Aggregate,
  type AggregateGroup,
  type AskedGroup,
  type AskedGrouping,
  type FilterParameter,
  groupKey,
  METRIC_TIME,
  type Relation,
  servedPaths,
  withDigest,
} from "@routewright/runtime/model";
import type { RecordedUsage } from "@routewright/runtime/server";
import type { Catalogue, CatalogueEntry } from "../catalogue/catalogue.js";
import { recordedShapes } from "../diff/recorded-shapes.js";
import type { GroupCounts } from "./group-counts.js";
import type { GroupPart, RollUpParts } from "./roll-up-parts.js";

/** How callers ask a metric: its groups, and the columns of its filters. */
export interface GroupQuery {
  readonly entry: CatalogueEntry;
  readonly grouping: AskedGrouping;
  readonly conditions: readonly (FilterParameter & { readonly value: string })[];
  /** Without usage 1 for each. */
  readonly requests: number;
}

/** A roll-up that would answer queries which read all rows today. */
export interface FoundRollUp {
  /** Of the rows. */
  readonly relation: Relation;
  readonly parts: RollUpParts;
  readonly groups: readonly GroupPart[];
  readonly answered: readonly GroupQuery[];
  /** Queries that read the semantic model. */
  readonly all: readonly GroupQuery[];
  readonly counts: GroupCounts;
  /** Whether the queries are those of callers. */
  readonly isUsed: boolean;
}

export interface KeptUsage {
  readonly recorded: RecordedUsage;
}

export const requestsOf = (queries: readonly GroupQuery[]): number =>
  queries.reduce((sum, { requests }) => sum + requests, 0);

/** Shapes of an endpoint that are looked at, those with the most requests. */
const MOST_SHAPES = 200;

/** What callers ask of metrics and saved queries, as the shapes of requests say; without any shape each of their groups by itself. */
export function groupQueries(
  catalogue: Catalogue,
  usage: KeptUsage | null,
): { readonly queries: readonly GroupQuery[]; readonly isUsed: boolean } {
  const entries = catalogue.entries.filter(({ aggregate }) => aggregate?.of === "metrics");
  const shapes = recordedShapes(catalogue, usage?.recorded.shapes ?? [], usage?.recorded.lines ?? []);
  const used = entries.flatMap((entry) =>
    servedPaths(entry)
      .flatMap((path) => shapes.get(path) ?? [])
      .toSorted((a, b) => b.requests - a.requests)
      .slice(0, MOST_SHAPES)
      .flatMap(({ usage: { byParameter }, requests }) => queryOf(entry, [...byParameter.keys()], requests)),
  );
  if (used.length > 0) return { queries: used, isUsed: true };
  const declared = entries.flatMap((entry) => {
    const { measures = [], saved } = entry.aggregate ?? {};
    const names =
      saved === undefined ? (measures[0]?.groups ?? []).map((group) => `group_by=${nameOf(group)}`) : [""];
    return names.flatMap((name) => queryOf(entry, [name], 1));
  });
  return { queries: declared, isUsed: false };
}

/** A group by itself: of a time its days, where it has them. */
function nameOf({ name, grains }: AggregateGroup): string {
  const grain = grains?.includes("day") ? "day" : grains?.[0];
  return groupKey(name, grain);
}

/** `names`: as usage counts those of a request. */
function queryOf(entry: CatalogueEntry, names: readonly string[], requests: number): readonly GroupQuery[] {
  const { aggregate } = entry;
  if (aggregate === undefined) return [];
  const after = (start: string): readonly string[] =>
    names.filter((name) => name.startsWith(start)).map((name) => name.slice(start.length));
  const all = aggregate.measures.flatMap(({ groups }) => groups);
  const saved = aggregate.saved?.groups;
  const groups = saved ?? after("group_by=").flatMap((key) => askedGroup(all, key));
  const chosen = after("metrics=");
  const measures = aggregate.measures.filter(({ name }) => chosen.length === 0 || chosen.includes(name));
  // A name that is no group any more.
  if ((saved === undefined && groups.length < after("group_by=").length) || measures.length === 0) return [];
  const grouping: AskedGrouping = {
    groups,
    measures,
    aggregate: withDigest(aggregate),
  };
  return [{ entry, grouping, conditions: conditionsOf(aggregate, names), requests }];
}

/** None where there is no such group. */
function askedGroup(groups: readonly AggregateGroup[], key: string): readonly AskedGroup[] {
  for (const { name, grains, grain } of groups) {
    if (key === name) return [{ key, name, ...(grain && { grain }) }];
    const found = grains?.find((each) => groupKey(name, each) === key);
    if (found !== undefined) return [{ key, name, grain: found }];
  }
  return [];
}

/** Filters by column, and bounds of days. */
function conditionsOf({ dimensions }: Aggregate, names: readonly string[]): GroupQuery["conditions"] {
  const isDimension = (name: string): boolean =>
    name === METRIC_TIME || dimensions.some((dimension) => dimension.name === name);
  return names.flatMap((name): GroupQuery["conditions"] => {
    if (name === "start_date" || name === "end_date")
      return [
        { name, column: METRIC_TIME, operator: name === "start_date" ? ">=" : "<=", type: "date", value: "" },
      ];
    const column = name.replace(/^filter=/, "").replace(/\[\w+\]$/, "");
    return isDimension(column) ? [{ name, column, operator: "=", type: "string", value: "" }] : [];
  });
}
