import type { Parameter } from "@routewright/runtime/model";
import type { Catalogue, CatalogueEntry } from "../catalogue/catalogue.js";
import { list, sentence } from "../manifest/strings.js";
import { type Mismatch, mismatchAt, type RunQuery } from "./relations.js";

/** Smaller relations need no index: a sequential scan is as fast. */
const SMALL_ROWS = 1_000;

/**
 * Checks whether an index serves each filter, by PostgreSQL's planner, through views too. The relations must exist, and
 * `query` must use a single connection, as sequential scans are disabled for its session.
 */
export async function verifyQueries(
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
      if ((await estimatedRows(entry, query)) >= SMALL_ROWS)
        differences.push(...(await verifyFilters(entry, query)));
    } catch (error) {
      // Such as a `security_invoker` view whose tables the role may not read.
      if (!(error instanceof Error) || !("code" in error)) throw error;
      differences.push(...unplannable(entry, error.message));
    }
  }
  return differences;
}

function unplannable(entry: CatalogueEntry, message: string): readonly Mismatch[] {
  return mismatchAt(
    entry,
    "unreadable-relation",
    sentence`The role of DATABASE_URL cannot query ${entry.relation.join(".")}: ${message}.`,
    "Grant it what the relation reads: `GRANT SELECT ON …`, in dbt with `grants`.",
  );
}

async function verifyFilters(entry: CatalogueEntry, query: RunQuery): Promise<readonly Mismatch[]> {
  const unindexed = new Map<string, string[]>();
  const { parameters, filters = [] } = entry;
  const columns = filters.map(({ column }) => ({ name: `${column}[…]`, column, operator: "=" }) as const);
  for (const parameter of [...parameters, ...columns]) {
    if (await hasIndex(parameter, entry, query)) continue;
    unindexed.set(parameter.column, [...(unindexed.get(parameter.column) ?? []), parameter.name]);
  }
  return [...unindexed].flatMap(([column, names]) => {
    const message = sentence`No index of ${entry.relation.join(".")} serves the column ${column}: each request that filters by ${list(names)} reads the whole relation.`;
    const hint =
      "Add it to the model's `config.indexes`: in first place, on `lower(…)` or `upper(…)` where the parameter has `case`, with `gin_trgm_ops` for ILIKE.";
    return mismatchAt(entry, "unindexed-filter", message, hint);
  });
}

interface Plan {
  readonly "Index Name"?: string;
  readonly "Plan Rows"?: number;
  readonly "Index Cond"?: string;
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

type Comparison = Pick<Parameter, "column" | "operator">;

async function hasIndex(parameter: Comparison, entry: CatalogueEntry, query: RunQuery): Promise<boolean> {
  await query(
    `PREPARE routewright_verify AS SELECT 1 FROM ${relationOf(entry)} WHERE ${conditionOf(parameter)}`,
  );
  try {
    return await usesIndex(await explain("EXECUTE routewright_verify (NULL)", query), query);
  } finally {
    await query("DEALLOCATE routewright_verify");
  }
}

/** The comparison in a request's SQL, in the column's own type (runtime/docs/requests.md). */
function conditionOf(parameter: Comparison): string {
  const { column, operator } = parameter;
  const folded = "case" in parameter ? (parameter.case as string | undefined) : undefined;
  const left = folded === undefined ? identifier(column) : `${folded}(${identifier(column)})`;
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

/** Whether an index finds the rows of the parameter, not only those of a view's own conditions. */
async function usesIndex(plan: Plan, query: RunQuery): Promise<boolean> {
  const { "Index Name": index, "Index Cond": condition = "", Plans: inner = [] } = plan;
  if (index !== undefined && condition.includes("$1") && (await isLeading(index, condition, query)))
    return true;
  for (const child of inner) if (await usesIndex(child, query)) return true;
  return false;
}

/** Whether a condition has the first key of a B-tree: by a later one alone, the whole index is read. Other indexes have no order. */
async function isLeading(index: string, condition: string, query: RunQuery): Promise<boolean> {
  const found = (await query(
    `SELECT m.amname AS method, pg_get_indexdef(c.oid, 1, true) AS key
     FROM pg_catalog.pg_class c JOIN pg_catalog.pg_am m ON m.oid = c.relam WHERE c.relname = $1 AND c.relkind IN ('i', 'I')`,
    [index],
  )) as readonly { readonly method: string; readonly key: string }[];
  return found.some(
    ({ method, key }) => method !== "btree" || condition.includes(`${key} `) || condition.includes(`${key})`),
  );
}

function relationOf({ relation }: CatalogueEntry): string {
  return relation.map(identifier).join(".");
}

export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
