import type { Relation } from "@routewright/runtime/model";
import type { loadMetrics } from "@routewright/runtime/server";
import { SemanticIndex } from "../catalogue/metrics/semantic-index.js";
import type { Catalogue } from "../catalogue/catalogue.js";
import type { Manifest } from "../manifest/manifest.js";
import type { SemanticModel } from "../manifest/semantic-layer.js";
import type { GroupCounts, RelationGroups } from "./group-counts.js";
import { type GroupPart, rollUpIn, rollUpParts, type RollUpParts } from "./roll-up-parts.js";
import {
  type FoundRollUp,
  type GroupQuery,
  groupQueries,
  type KeptUsage,
  requestsOf,
} from "./roll-up-queries.js";
import { rollUpSuggestion } from "./roll-up-model.js";
import type { Suggestion } from "./suggestion.js";

/** Fewer rows are read in a few milliseconds. */
const LEAST_ROWS = 100_000;
/** Rows for each group: with fewer a roll-up is hardly faster than its rows. */
const LEAST_SHARE = 10;

/** How the server says what a roll-up answers. */
export type RolledUp = Awaited<ReturnType<Awaited<ReturnType<typeof loadMetrics>>["loadRolledUp"]>>;

/** The roll-ups that help most, by semantic model: each with the groups of as many queries as its size allows. */
export async function suggestRollUps(
  catalogue: Catalogue,
  { manifest, usage }: { readonly manifest: Manifest; readonly usage: KeptUsage | null },
  database: RelationGroups,
  rolledUp: RolledUp,
): Promise<readonly Suggestion[]> {
  // The builds of copies are not known to be those of their rows.
  if (catalogue.copiedFrom !== undefined) return [];
  const index = new SemanticIndex(manifest);
  const { queries, isUsed } = groupQueries(catalogue, usage);
  const names = new Set(manifest.models.map(({ name }) => name));
  const found: Suggestion[] = [];
  for (const of of manifest.semantics.models) {
    const relation = relationOf(catalogue.entries, of.name);
    const types = relation && database.typesOf(relation);
    if (relation === null || types === null || index.problemOf(of) !== null || of.isPrivate) continue;
    const parts = rollUpParts(index, of, { types, isClickhouse: catalogue.adapter === "clickhouse" });
    const search = new RollUpSearch({ relation, parts, database, rolledUp });
    let open = queries.filter((query) => readsModel(query, of) && !isAnswered(query, of, rolledUp));
    for (;;) {
      const best = await search.best(open);
      if (best === null) break;
      const node = index.node(of);
      if (node !== undefined) found.push(rollUpSuggestion({ ...best, isUsed }, node, names));
      open = open.filter((query) => !best.answered.includes(query));
    }
  }
  return found;
}

/** The relation of a semantic model, as its metrics read it. */
function relationOf(entries: Catalogue["entries"], name: string): Relation | null {
  for (const { aggregate } of entries) {
    const found = aggregate?.of === "metrics" && aggregate.relations.find((each) => each.name === name);
    if (found) return found.relation;
  }
  return null;
}

const readsModel = ({ entry }: GroupQuery, { name }: SemanticModel): boolean =>
  entry.aggregate?.facts.some(({ relation }) => relation === name) === true;

/** Whether a roll-up that the project has answers it. */
function isAnswered(
  { entry, grouping, conditions }: GroupQuery,
  { name }: SemanticModel,
  rolledUp: RolledUp,
): boolean {
  const own = entry.aggregate?.rollUps ?? [];
  return own.some(
    (rollUp) => rollUp.of === name && rolledUp({ grouping, conditions, rollUp }, () => "") !== null,
  );
}

interface Search {
  readonly relation: Relation;
  readonly parts: RollUpParts;
  readonly database: RelationGroups;
  readonly rolledUp: RolledUp;
}

/** Looks for the groups of a roll-up of one semantic model. */
class RollUpSearch {
  readonly #search: Search;

  constructor(search: Search) {
    this.#search = search;
  }

  /** Begins with all groups that queries need, and leaves out those that make most groups for the fewest requests until it is small enough. */
  async best(open: readonly GroupQuery[]): Promise<Omit<FoundRollUp, "isUsed"> | null> {
    const { parts, relation } = this.#search;
    let groups = parts.groups;
    for (;;) {
      const answered = this.#answered(open, groups);
      if (answered.length === 0) return null;
      groups = this.#needed(groups, answered);
      if (groups.length === 0) return null;
      const counts = await this.#count(groups);
      if (counts === null || counts.rows < LEAST_ROWS) return null;
      if (counts.together * LEAST_SHARE <= counts.rows)
        return { relation, parts, groups, answered, all: open, counts };
      groups = this.#withoutWorst(groups, answered, counts);
    }
  }

  #answered(queries: readonly GroupQuery[], groups: readonly GroupPart[]): readonly GroupQuery[] {
    const { parts, rolledUp } = this.#search;
    return queries.filter(({ entry: { aggregate }, grouping, conditions }) => {
      if (aggregate === undefined) return false;
      const rollUp = rollUpIn(aggregate, parts, groups);
      return rolledUp({ grouping, conditions, rollUp }, () => "") !== null;
    });
  }

  /** Without the groups that no query needs. */
  #needed(groups: readonly GroupPart[], queries: readonly GroupQuery[]): readonly GroupPart[] {
    let needed = groups;
    for (const group of groups) {
      const fewer = needed.filter((each) => each !== group);
      if (this.#answered(queries, fewer).length === queries.length) needed = fewer;
    }
    return needed;
  }

  #count(groups: readonly GroupPart[]): Promise<GroupCounts | null> {
    const { relation, database } = this.#search;
    return database.countGroups(
      relation,
      groups.map(({ expr, sql, grain }) => ({ expr, sql, isDay: grain !== undefined })),
    );
  }

  #withoutWorst(
    groups: readonly GroupPart[],
    answered: readonly GroupQuery[],
    { each }: GroupCounts,
  ): readonly GroupPart[] {
    const costs = groups.map((group, i) => {
      const others = groups.filter((other) => other !== group);
      const lost = requestsOf(answered) - requestsOf(this.#answered(answered, others));
      return { others, cost: lost / Math.log2((each[i] ?? 1) + 1) };
    });
    return costs.toSorted((a, b) => a.cost - b.cost)[0]?.others ?? [];
  }
}
