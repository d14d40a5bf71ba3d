import { dataTypeOf } from "../catalogue/types/read-type.js";
import type { CatalogueEntry, DescribedColumn } from "../catalogue/catalogue.js";
import { about, type EndpointUsage, META, type RelationFacts, type Suggestion } from "./suggestion.js";

/** Columns that are suggested of one endpoint. */
const MAX_COLUMNS = 8;

/** A column with few values reads a large part of the relation for each: a filter by it helps readers, not the database. */
const FEW_VALUES = 50;

/** A reason to filter by a column, and how strong it is. */
interface Ground {
  readonly column: string;
  readonly reason: string;
  readonly figures: readonly string[];
  readonly weight: number;
}

/** Columns by which callers will want to filter: times, keys, references and columns of few values. */
export function suggestFilters(
  entry: CatalogueEntry,
  facts: RelationFacts,
  usage: EndpointUsage | null,
): readonly Suggestion[] {
  if (entry.aggregate?.of === "metrics") return [];
  const taken = new Set([
    ...entry.parameters.flatMap(({ name, column }) => [name, column]),
    ...(entry.filters ?? []).map(({ column }) => column),
    ...(entry.rows === undefined ? [] : [entry.rows.column]),
  ]);
  const grounds = entry.columns
    .filter((column) => !taken.has(column.name) && column.private !== true && !entry.private)
    .flatMap((column) => groundOf(column, facts) ?? [])
    .sort((a, b) => b.weight - a.weight)
    .slice(0, MAX_COLUMNS);
  const used = usageFigures(usage);
  return grounds.map(({ column, reason, figures }) => ({
    kind: "filters",
    model: entry.uniqueId,
    path: entry.path,
    subject: column,
    reason,
    figures: [...figures, ...used],
    edits: [{ at: [META, "routewright", "filters"], value: column, how: "add" }],
  }));
}

function usageFigures(usage: EndpointUsage | null): readonly string[] {
  if (usage === null || usage.unfiltered === 0) return [];
  const { unfiltered, requests, days } = usage;
  return [
    `${String(unfiltered)} of ${String(requests)} requests of ${String(days)} days filtered by nothing`,
  ];
}

function groundOf(column: DescribedColumn, facts: RelationFacts): Ground | null {
  const { name, type, unique, references, acceptedValues, labels } = column;
  const { kind } = dataTypeOf(type);
  if (NOT_COMPARED.has(kind)) return null;
  const known = facts.columns.get(name);
  // One value divides nothing.
  if (known !== undefined && known.distinct < 2) return null;
  const figures = known === undefined ? [] : [selectivity(known.distinct, facts.rows)];
  const ground = (weight: number, reason: string): Ground => ({ column: name, reason, figures, weight });
  if (unique === true) return ground(6, "its values identify a row (test or constraint)");
  if (references !== undefined) return ground(5, `it refers to ${references} (test or constraint)`);
  if (kind === "date" || kind === "timestamp") return ground(4, "callers read times by range");
  const values = acceptedValues ?? labels;
  if (values !== undefined) return ground(3, `it has ${String(values.length)} values (test or type)`);
  if (/\bLowCardinality\(/.test(type ?? "") || kind === "enum")
    return ground(2, "its type says that it has few values");
  if (kind === "uuid") return ground(2, "its type is that of keys");
  if (known === undefined || facts.rows === null || kind !== "text") return null;
  const isFew = known.distinct >= 2 && known.distinct <= Math.max(FEW_VALUES, facts.rows / 20);
  return isFew ? ground(1, "few values stand in many rows") : null;
}

/** Kinds that are measured or have no comparison. */
const NOT_COMPARED: ReadonlySet<string> = new Set([
  "array",
  "tuple",
  "map",
  "json",
  "record",
  "float",
  "decimal",
  "boolean",
  "unknown",
]);

function selectivity(distinct: number, rows: number | null): string {
  const values = `${about(distinct)} different values`;
  if (rows === null || distinct < 1) return `${values} (estimate)`;
  return `${values} in ${about(rows)} rows: one value has ${about(rows / distinct)} (estimate)`;
}
