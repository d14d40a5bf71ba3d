import { columnParameters, type FilterParameter } from "@routewright/runtime/model";
import { DatabaseUnreachable, type Warehouse } from "@routewright/runtime/server";
import type { Catalogue, CatalogueEntry } from "../catalogue/catalogue.js";
import { list, sentence } from "../manifest/strings.js";
import { type Mismatch, mismatchAt } from "./relations.js";

/** Checks whether an index serves each filter, by the plan of the statement that the server sends. The relations must exist. */
export async function verifyQueries(
  { entries }: Catalogue,
  warehouse: Pick<Warehouse, "usesIndex">,
  isToCheck: (entry: CatalogueEntry) => boolean,
  progress: (done: number, total: number) => void = () => undefined,
): Promise<readonly Mismatch[]> {
  const differences: Mismatch[] = [];
  for (const [i, entry] of entries.entries()) {
    progress(i, entries.length);
    if (!isToCheck(entry)) continue;
    try {
      differences.push(...(await verifyFilters(entry, warehouse)));
    } catch (error) {
      // Such as a `security_invoker` view whose tables the role may not read.
      if (!(error instanceof Error) || error instanceof DatabaseUnreachable) throw error;
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
    "Grant it what the relation reads, which the message names; in dbt with `grants` of that model.",
  );
}

async function verifyFilters(
  entry: CatalogueEntry,
  warehouse: Pick<Warehouse, "usesIndex">,
): Promise<readonly Mismatch[]> {
  const unindexed = new Map<string, string[]>();
  for (const { filter, name } of filtersOf(entry)) {
    if ((await warehouse.usesIndex(entry.relation, filter)) !== false) continue;
    unindexed.set(filter.column, [...(unindexed.get(filter.column) ?? []), name]);
  }
  return [...unindexed].flatMap(([column, names]) => {
    const message = sentence`No index of ${entry.relation.join(".")} serves the column ${column}: each request that filters by ${list(names)} reads the whole relation.`;
    return mismatchAt(entry, "unindexed-filter", message, HINT);
  });
}

const HINT =
  "PostgreSQL: add it to the model's `config.indexes`, in first place, on `lower(…)` or `upper(…)` where the parameter has `case`, with `gin_trgm_ops` for ILIKE. " +
  "ClickHouse: add it to `order_by`, or a data-skipping index.";

/** The parameters, and one operator of each filtered column: the others use the same index. */
function filtersOf({
  parameters,
  filters = [],
}: CatalogueEntry): readonly { readonly filter: FilterParameter; readonly name: string }[] {
  return [
    ...parameters.map((filter) => ({ filter, name: filter.name })),
    ...filters.flatMap((filter) => {
      const [first] = columnParameters(filter);
      return first === undefined ? [] : [{ filter: first, name: `${filter.column}[…]` }];
    }),
  ];
}
