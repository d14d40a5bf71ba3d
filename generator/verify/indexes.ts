import {
  type AggregateMeasure,
  type AskedGrouping,
  columnParameters,
  type FilterParameter,
  hasRange,
  leavesOf,
  METRIC_TIME,
  needsSpine,
} from "@routewright/runtime/model";
import { DatabaseUnreachable, type Warehouse } from "@routewright/runtime/server";
import type { Catalogue, CatalogueEntry } from "../catalogue/catalogue.js";
import { list, sentence } from "../manifest/strings.js";
import { groupingOf } from "./aggregates.js";
import { type Mismatch, mismatchAt } from "./checks.js";
import { type ExplainingWarehouse, verifyExpressions } from "./expressions.js";

interface QueryChecks {
  readonly isToCheck: (entry: CatalogueEntry) => boolean;
  /** Whether nobody wants to know of indexes: one plan of an endpoint's rows and one of each fact's groups say whether the role can query them. */
  readonly isWithoutIndexes: boolean;
  readonly progress: (done: number, total: number) => void;
}

/** Checks whether an index serves each filter and expression, by the plan of the statement that the server sends. The relations must exist. */
export async function verifyQueries(
  { entries }: Catalogue,
  warehouse: ExplainingWarehouse,
  { isToCheck, isWithoutIndexes, progress }: QueryChecks,
): Promise<readonly Mismatch[]> {
  const differences: Mismatch[] = [];
  const most = isWithoutIndexes ? 1 : Infinity;
  const known: KnownPlans = new Map();
  for (const [i, entry] of entries.entries()) {
    progress(i, entries.length);
    if (!isToCheck(entry)) continue;
    try {
      differences.push(...(await verifyFilters(entry, warehouse, filtersOf(entry).slice(0, most))));
      const ofGroups = groupFiltersOf(entry, isWithoutIndexes);
      differences.push(...(await verifyGroupFilters(entry, warehouse, ofGroups, known)));
      differences.push(...(await verifyExpressions(entry, warehouse)));
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
  filters: ReturnType<typeof filtersOf>,
): Promise<readonly Mismatch[]> {
  const unindexed = new Map<string, string[]>();
  for (const { filter, name } of filters) {
    if ((await warehouse.usesIndex(entry.relation, filter)) !== false) continue;
    unindexed.set(filter.column, [...(unindexed.get(filter.column) ?? []), name]);
  }
  return [...unindexed].flatMap(([column, names]) => {
    const message = sentence`No index of ${entry.relation.join(".")} serves the column ${column}: each request that filters by ${list(names)} reads the whole relation.`;
    return mismatchAt(entry, "unindexed-filter", message, HINT);
  });
}

/** Whether an index serves a filter of these facts: metrics of the same facts are not asked again. */
type KnownPlans = Map<string, boolean | null>;

async function verifyGroupFilters(
  entry: CatalogueEntry,
  warehouse: Pick<Warehouse, "usesIndex">,
  filters: readonly GroupFilter[],
  known: KnownPlans,
): Promise<readonly Mismatch[]> {
  const differences: Mismatch[] = [];
  for (const { filter, grouping, measure, key } of filters) {
    if (!known.has(key)) known.set(key, await warehouse.usesIndex(entry.relation, filter, grouping));
    if (known.get(key) !== false) continue;
    const message = sentence`No index serves ${filter.column}: each request for ${measure} that filters by it reads the whole relation.`;
    differences.push(...mismatchAt(entry, "unindexed-filter", message, HINT));
  }
  return differences;
}

const HINT =
  "PostgreSQL: add it to the model's `config.indexes`, in first place, on `lower(…)` or `upper(…)` where the parameter has `case`, with `gin_trgm_ops` for ILIKE. " +
  "ClickHouse: add it to `order_by`, or a data-skipping index.";

interface GroupFilter {
  readonly filter: FilterParameter;
  readonly measure: string;
  /** Its column, if indexes are asked for, with semantic models and their times: filters of the same have the same plan. */
  readonly key: string;
  readonly grouping: AskedGrouping;
}

/** Filters of metrics, and the range of their time: each in one statement of each fact. */
function groupFiltersOf({ aggregate }: CatalogueEntry, isWithoutIndexes: boolean): readonly GroupFilter[] {
  if (aggregate?.of !== "metrics") return [];
  const found = aggregate.measures.flatMap((measure): GroupFilter[] => {
    const own = new Set(measure.groups.map(({ name }) => name));
    const possible = aggregate.filters.filter(({ column }) => own.has(column) && column !== METRIC_TIME);
    const filters = possible.flatMap((filter) => columnParameters(filter).slice(0, 1));
    const range = hasRange(aggregate) ? [RANGE_END] : [];
    const facts = leavesOf(measure.metric).map(({ fact, time = "" }) => `${fact} ${time}`);
    const grouping = groupingOf(aggregate, [measure]);
    return [...filters, ...range]
      .filter(({ column }) => !isOnPeriods(measure, column))
      .map((filter) => ({
        ...{ filter, measure: measure.name, grouping },
        key: JSON.stringify([isWithoutIndexes ? null : filter.column, facts]),
      }));
  });
  const keys = found.map(({ key }) => key);
  return found.filter(({ key }, i) => keys.indexOf(key) === i);
}

/** Whether a filter bounds the periods of the time spine: rows before them count, so no index can help. */
function isOnPeriods({ metric }: AggregateMeasure, column: string): boolean {
  return needsSpine(metric) && leavesOf(metric).some(({ time }) => column === METRIC_TIME || column === time);
}

/** The later date: windows and offsets read rows before the earlier one. */
const RANGE_END: FilterParameter = { name: "end_date", column: METRIC_TIME, operator: "<=", type: "date" };

/** The parameters, and one operator of each filtered column: the others use the same index. */
export function filtersOf({
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
