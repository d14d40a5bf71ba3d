import type { Parameter } from "@routewright/runtime/model";
import type { Catalogue, CatalogueEntry } from "../catalogue/catalogue.js";
import { list, plain, sentence } from "../lint/sentence.js";
import { type Difference, differenceAt, type Query } from "./relations.js";

/** Relations below this many rows are read as fast without an index. */
const SMALL_ROWS = 1_000;

/**
 * Asks PostgreSQL's planner whether an index serves each filter's comparison, through views too. The relations must exist
 * and `query` must keep to one connection: plans are made with sequential scans switched off.
 */
export async function verifyIndexes(
  { entries }: Catalogue,
  query: Query,
  isToCheck: (entry: CatalogueEntry) => boolean,
): Promise<readonly Difference[]> {
  const differences: Difference[] = [];
  await query("SET enable_seqscan = off");
  await query("SET plan_cache_mode = force_generic_plan");
  for (const entry of entries) {
    if (!isToCheck(entry)) continue;
    if ((await estimatedRows(entry, query)) < SMALL_ROWS) continue;
    differences.push(...(await verifyFilters(entry, query)));
  }
  return differences;
}

async function verifyFilters(entry: CatalogueEntry, query: Query): Promise<readonly Difference[]> {
  const unserved = new Map<string, string[]>();
  for (const parameter of entry.endpoint.parameters) {
    if (await isServed(parameter, entry, query)) continue;
    unserved.set(parameter.column, [...(unserved.get(parameter.column) ?? []), parameter.name]);
  }
  return [...unserved].map(([column, names]) => {
    const message = sentence`No index of ${entry.endpoint.relation.join(".")} serves the column ${column}: each request that filters by ${list(names)} reads the whole relation.`;
    const hint = plain(
      "Add it to the model's `config.indexes`: in first place, on `lower(…)` or `upper(…)` where the parameter has `case`, with `gin_trgm_ops` for ILIKE.",
    );
    return differenceAt(entry, "unindexed-filter", message, hint);
  });
}

interface Plan {
  readonly "Plan Rows"?: number;
  readonly "Index Cond"?: string;
  readonly "Recheck Cond"?: string;
  readonly Plans?: readonly Plan[];
}

async function explain(statement: string, query: Query): Promise<Plan> {
  const [row] = (await query(`EXPLAIN (FORMAT JSON) ${statement}`)) as readonly {
    "QUERY PLAN": readonly { Plan: Plan }[];
  }[];
  return row?.["QUERY PLAN"][0]?.Plan ?? {};
}

async function estimatedRows(entry: CatalogueEntry, query: Query): Promise<number> {
  return (await explain(`SELECT 1 FROM ${relationOf(entry)}`, query))["Plan Rows"] ?? 0;
}

async function isServed(parameter: Parameter, entry: CatalogueEntry, query: Query): Promise<boolean> {
  await query(
    `PREPARE routewright_verify AS SELECT 1 FROM ${relationOf(entry)} WHERE ${conditionOf(parameter)}`,
  );
  try {
    return usesIndex(await explain("EXECUTE routewright_verify (NULL)", query));
  } finally {
    await query("DEALLOCATE routewright_verify");
  }
}

/** The comparison that a request makes, in the column's own type (runtime/README.md). */
function conditionOf(parameter: Parameter): string {
  const { column, operator } = parameter;
  const folded = ("case" in parameter && parameter.case) || null;
  const left = folded === null ? identifier(column) : `${folded}(${identifier(column)})`;
  switch (operator) {
    case "=":
    case "ILIKE":
    case ">=":
    case "<=":
      return `${left} ${operator} $1`;
    case "IN":
      return `${left} = ANY ($1)`;
  }
}

function usesIndex(plan: Plan): boolean {
  if (plan["Index Cond"] !== undefined || plan["Recheck Cond"] !== undefined) return true;
  return (plan.Plans ?? []).some(usesIndex);
}

function relationOf({ endpoint }: CatalogueEntry): string {
  return endpoint.relation.map(identifier).join(".");
}

function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
