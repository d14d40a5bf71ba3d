import type { Parameter } from "@routewright/runtime/model";
import type { Catalogue, CatalogueEntry } from "../catalogue/catalogue.js";
import { list, plain, sentence } from "../manifest/strings.js";
import { type Mismatch, mismatchAt, type RunQuery } from "./relations.js";

/** Smaller relations need no index: a sequential scan is as fast. */
const SMALL_ROWS = 1_000;

/**
 * Checks with PostgreSQL's planner whether an index serves each filter, through views too. The relations must exist, and
 * `query` must use a single connection, as sequential scans are disabled for its session.
 */
export async function verifyIndexes(
  { entries }: Catalogue,
  query: RunQuery,
  isToCheck: (entry: CatalogueEntry) => boolean,
): Promise<readonly Mismatch[]> {
  const differences: Mismatch[] = [];
  await query("SET enable_seqscan = off");
  await query("SET plan_cache_mode = force_generic_plan");
  for (const entry of entries) {
    if (!isToCheck(entry)) continue;
    try {
      if ((await estimatedRows(entry, query)) < SMALL_ROWS) continue;
      differences.push(...(await verifyFilters(entry, query)));
    } catch (error) {
      // Such as a `security_invoker` view whose tables the role may not read.
      if (!(error instanceof Error) || !("code" in error)) throw error;
      differences.push(unplannable(entry, error.message));
    }
  }
  return differences;
}

function unplannable(entry: CatalogueEntry, message: string): Mismatch {
  return mismatchAt(
    entry,
    "unreadable-relation",
    sentence`The role of DATABASE_URL cannot query ${entry.endpoint.relation.join(".")}: ${message}.`,
    plain("Grant it what the relation reads: `GRANT SELECT ON …`, in dbt with `grants`."),
  );
}

async function verifyFilters(entry: CatalogueEntry, query: RunQuery): Promise<readonly Mismatch[]> {
  const unindexed = new Map<string, string[]>();
  for (const parameter of entry.endpoint.parameters) {
    if (await hasIndex(parameter, entry, query)) continue;
    unindexed.set(parameter.column, [...(unindexed.get(parameter.column) ?? []), parameter.name]);
  }
  return [...unindexed].map(([column, names]) => {
    const message = sentence`No index of ${entry.endpoint.relation.join(".")} serves the column ${column}: each request that filters by ${list(names)} reads the whole relation.`;
    const hint = plain(
      "Add it to the model's `config.indexes`: in first place, on `lower(…)` or `upper(…)` where the parameter has `case`, with `gin_trgm_ops` for ILIKE.",
    );
    return mismatchAt(entry, "unindexed-filter", message, hint);
  });
}

interface Plan {
  readonly "Plan Rows"?: number;
  readonly "Index Cond"?: string;
  readonly "Recheck Cond"?: string;
  readonly Plans?: readonly Plan[];
}

async function explain(statement: string, query: RunQuery): Promise<Plan> {
  const [row] = (await query(`EXPLAIN (FORMAT JSON) ${statement}`)) as readonly {
    "QUERY PLAN": readonly { Plan: Plan }[];
  }[];
  return row?.["QUERY PLAN"][0]?.Plan ?? {};
}

async function estimatedRows(entry: CatalogueEntry, query: RunQuery): Promise<number> {
  return (await explain(`SELECT 1 FROM ${relationOf(entry)}`, query))["Plan Rows"] ?? 0;
}

async function hasIndex(parameter: Parameter, entry: CatalogueEntry, query: RunQuery): Promise<boolean> {
  await query(
    `PREPARE routewright_verify AS SELECT 1 FROM ${relationOf(entry)} WHERE ${conditionOf(parameter)}`,
  );
  try {
    return usesIndex(await explain("EXECUTE routewright_verify (NULL)", query));
  } finally {
    await query("DEALLOCATE routewright_verify");
  }
}

/** The comparison in a request's SQL, in the column's own type (runtime/README.md, Requests). */
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
