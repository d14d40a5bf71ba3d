import type { ColumnFilter } from "@routewright/runtime/model";
import type { CatalogueEntry } from "../catalogue/catalogue.js";
import { findsTexts } from "../verify/expressions.js";
import { identifier, type IndexContext, LEAST_ROWS, LEAST_VALUES, subjectOf } from "./indexes.js";
import { about, type Suggestion } from "./suggestion.js";

/** Indexes by which PostgreSQL finds texts in texts, for the functions of `filter`: ClickHouse has none that `position` uses. */
export async function suggestTextIndexes(
  entry: CatalogueEntry,
  context: IndexContext,
): Promise<readonly Suggestion[]> {
  const { facts } = context;
  if (entry.filter !== true || facts.trigrams === null || (facts.rows ?? 0) < LEAST_ROWS) return [];
  const found: Suggestion[] = [];
  for (const filter of entry.filters ?? []) {
    const suggestion = suggestionOf(entry, filter, context);
    if (suggestion === null || isDeclared(filter.column, context)) continue;
    if (!(await findsTexts(entry, filter, context))) found.push(suggestion);
  }
  return found;
}

/** dbt writes the columns of an index as they stand in the YAML: a name that needs quotes is none. */
const PLAIN_NAME = /^[a-z_][a-z0-9_]*$/;

function suggestionOf(
  entry: CatalogueEntry,
  { column, type }: ColumnFilter,
  { facts: { rows, trigrams, columns } }: IndexContext,
): Suggestion | null {
  const distinct = columns.get(column)?.distinct ?? 0;
  if (type !== "text" || !PLAIN_NAME.test(column) || distinct < LEAST_VALUES || trigrams === null)
    return null;
  const { relation } = entry;
  return {
    ...subjectOf(entry, `texts in ${column}`),
    kind: "index",
    reason: `each request with contains(${column}, …) in \`filter\` reads the whole relation (EXPLAIN)`,
    figures: [`${about(rows ?? 0)} rows are read`],
    edits: [
      { at: ["config", "indexes"], value: { columns: [`${column} ${trigrams}`], type: "gin" }, how: "add" },
    ],
    statement: `CREATE INDEX ON ${relation.map(identifier).join(".")} USING gin (${identifier(column)} ${trigrams})`,
    trial: { relation, column, isPart: true },
  };
}

/** Whether the model's config has such an index already: the next build makes it. */
function isDeclared(column: string, { config: { indexes } }: IndexContext): boolean {
  const all: readonly unknown[] = Array.isArray(indexes) ? indexes : [];
  return all.some((index) => {
    const [first] = (index as { columns?: readonly unknown[] } | null)?.columns ?? [];
    return typeof first === "string" && first.startsWith(`${column} `) && first.endsWith("gin_trgm_ops");
  });
}
