import type { Warehouse } from "@routewright/runtime/server";
import type { CatalogueEntry } from "../catalogue/catalogue.js";
import { dataTypeOf } from "../catalogue/types/read-type.js";
import { clickhouseIdentifier } from "../verify/clickhouse-relations.js";
import { filtersOf } from "../verify/indexes.js";
import { about, type RelationFacts, type Suggestion } from "./suggestion.js";

/** Smaller relations are read in a few milliseconds as a whole. */
export const LEAST_ROWS = 10_000;
/** Rows of a granule of ClickHouse, by default. */
const GRANULE = 8192;
/** ClickHouse reads so few at once. */
const FEW_GRANULES = 12;
/** A value of a column with fewer values stands in so many rows that an index does not help. */
export const LEAST_VALUES = 20;

/** Materializations whose table dbt-postgres gives the indexes of `config.indexes`. */
const STORED: ReadonlySet<string> = new Set(["table", "incremental", "materialized_view"]);

export interface IndexContext {
  readonly facts: RelationFacts;
  readonly materialized: string;
  /** `config` of the model's node. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly usesIndex: Warehouse["usesIndex"];
}

/** What the database lacks for the filters of an endpoint, by the plans of the statements that the server sends. */
export async function suggestIndexes(
  entry: CatalogueEntry,
  context: IndexContext,
): Promise<readonly Suggestion[]> {
  const { facts, materialized } = context;
  if (facts.rows === null || facts.rows < LEAST_ROWS || !STORED.has(materialized)) return [];
  const found = new Map<string, Suggestion>();
  const ofPages = await indexOfPages(entry, context);
  if (ofPages?.trial !== undefined) found.set(ofPages.trial.column, ofPages);
  for (const { filter, name } of filtersOf(entry)) {
    const { column } = filter;
    const isPlain = filter.operator !== "ILIKE" && !("case" in filter);
    // A table has one sorting key.
    if (facts.sortKey?.length === 0 && found.size > 0) break;
    if (found.has(column) || !isPlain || isDeclared(column, context)) continue;
    const usesIndex = await context.usesIndex(entry.relation, filter);
    // Without a sorting key the plan has no index to name.
    const isUnsorted =
      usesIndex === null && facts.sortKey?.length === 0 && facts.rows > FEW_GRANULES * GRANULE;
    if (usesIndex !== false && !isUnsorted) continue;
    const suggestion =
      facts.sortKey === null
        ? ofPostgres(entry, column, name, facts)
        : ofClickhouse(entry, column, name, facts);
    if (suggestion !== null) found.set(column, suggestion);
  }
  return [...found.values()];
}

/** An index for the order of the pages: PostgreSQL reads it either way, and sorts by the other columns what has one value. */
async function indexOfPages(entry: CatalogueEntry, context: IndexContext): Promise<Suggestion | null> {
  const { facts } = context;
  const { sort, cursor = [], pagination, relation } = entry;
  const names = new Set(sort.map(([column]) => column));
  const order = [
    ...sort,
    ...cursor.filter((column) => !names.has(column)).map((column) => [column, "ASC"] as const),
  ];
  const [first] = order;
  if (first === undefined || pagination === null || facts.rows === null || facts.sortKey !== null)
    return null;
  const [column, direction] = first;
  if (isDeclared(column, context)) return null;
  const anyValue = { name: column, column, operator: "=", type: "string" } as const;
  if ((await context.usesIndex(relation, anyValue)) !== false) return null;
  const other = order.findIndex((key) => key[1] !== direction);
  const indexed = order.slice(0, other < 0 ? undefined : other).map(([name]) => name);
  const distinct = Math.max(...indexed.map((name) => facts.columns.get(name)?.distinct ?? 0));
  if (indexed.length < order.length && distinct < LEAST_VALUES) return null;
  const limit = pagination.defaultLimit;
  const read = indexed.length === order.length ? limit : limit + facts.rows / distinct;
  return {
    ...postgresIndex(entry, indexed),
    reason: `each page by ${indexed.join(", ")} reads and sorts the whole relation (EXPLAIN)`,
    figures: [`${about(facts.rows)} rows are read, with an index ${about(read)} (estimate)`],
    trial: { relation, column, page: { order, limit } },
  };
}

/** Whether the model's config names an index or a projection of the column already: the next build makes it. */
function isDeclared(column: string, { config }: IndexContext): boolean {
  const { indexes, projections, order_by: order } = config;
  const all: readonly unknown[] = Array.isArray(indexes) ? indexes : [];
  const first = (index: unknown): unknown => (index as { columns?: readonly unknown[] } | null)?.columns?.[0];
  const made: readonly unknown[] = Array.isArray(projections) ? projections : [];
  const names = made.map((each) => (each as { name?: unknown } | null)?.name);
  return (
    all.some((index) => first(index) === column) ||
    names.includes(projectionName(column)) ||
    [order].flat()[0] === column
  );
}

function ofPostgres(
  entry: CatalogueEntry,
  column: string,
  name: string,
  { rows, columns }: RelationFacts,
): Suggestion | null {
  const known = columns.get(column);
  if (known === undefined || rows === null || known.distinct < LEAST_VALUES) return null;
  return {
    ...postgresIndex(entry, [column]),
    reason: `each request that filters by ${name} reads the whole relation (EXPLAIN)`,
    figures: [`${about(rows)} rows are read, with an index ${about(rows / known.distinct)} (estimate)`],
    trial: { relation: entry.relation, column },
  };
}

function postgresIndex(
  entry: CatalogueEntry,
  columns: readonly string[],
): Omit<Suggestion, "reason" | "figures"> {
  const relation = entry.relation.map(identifier).join(".");
  return {
    ...subjectOf(entry, columns.join(", ")),
    kind: "index",
    edits: [{ at: ["config", "indexes"], value: { columns: [...columns] }, how: "add" }],
    statement: `CREATE INDEX ON ${relation} (${columns.map(identifier).join(", ")})`,
  };
}

function ofClickhouse(
  entry: CatalogueEntry,
  column: string,
  name: string,
  { rows, sortKey }: RelationFacts,
): Suggestion | null {
  const { type = null } = entry.columns.find((each) => each.name === column) ?? {};
  // ClickHouse builds no table with such a sorting key (`allow_nullable_key`); a projection may have it.
  if (sortKey?.length === 0 && dataTypeOf(type).nullable) return null;
  const reason = `each request that filters by ${name} reads the whole table (EXPLAIN)`;
  const figures = [
    `${about(rows ?? 0)} rows in ${about(Math.ceil((rows ?? 0) / GRANULE))} granules are read`,
  ];
  const common = {
    ...subjectOf(entry, column),
    reason,
    figures,
    trial: { relation: entry.relation, column },
  };
  if (sortKey?.length === 0)
    return {
      ...common,
      kind: "sort-key",
      edits: [{ at: ["config", "order_by"], value: [column], how: "set" }],
    };
  const projection = projectionName(column);
  const query = `SELECT * ORDER BY ${clickhouseIdentifier(column)}`;
  const relation = entry.relation.map(clickhouseIdentifier).join(".");
  return {
    ...common,
    kind: "projection",
    edits: [{ at: ["config", "projections"], value: { name: projection, query }, how: "add" }],
    statement: `ALTER TABLE ${relation} ADD PROJECTION ${clickhouseIdentifier(projection)} (${query})`,
  };
}

export function subjectOf({ uniqueId, path }: CatalogueEntry, subject: string) {
  return { model: uniqueId, path, subject };
}

function projectionName(column: string): string {
  return `by_${column}`;
}

export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
