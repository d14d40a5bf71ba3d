import type { Catalogue, CatalogueEntry } from "../catalogue/catalogue.js";
import { list, plain, sentence } from "../manifest/strings.js";
import { type Mismatch, mismatchAt, type RunQuery } from "./relations.js";

/** Rows of a relation that are read for duplicates. */
const READ_ROWS = 1_000_000;

/**
 * Looks for duplicates under the keys that pages by cursor rely on. A dbt test proves a key when it runs; a ClickHouse table enforces
 * none, and a `ReplacingMergeTree` has duplicates until it merges. `quote`: makes an SQL identifier of a name.
 */
export async function verifyKeys(
  { entries }: Catalogue,
  query: RunQuery,
  quote: (name: string) => string,
  isToCheck: (entry: CatalogueEntry) => boolean,
): Promise<readonly Mismatch[]> {
  const differences: Mismatch[] = [];
  for (const entry of entries) {
    const { cursor: key = [], relation } = entry.endpoint;
    if (key.length === 0 || !isToCheck(entry)) continue;
    const columns = key.map(quote).join(", ");
    const rows = `SELECT ${columns} FROM ${relation.map(quote).join(".")} LIMIT ${String(READ_ROWS)}`;
    const duplicates = `SELECT 1 AS found FROM (${rows}) AS r GROUP BY ${columns} HAVING count(*) > 1 LIMIT 1`;
    if ((await query(duplicates)).length > 0) differences.push(duplicateKey(entry, key));
  }
  return differences;
}

function duplicateKey(entry: CatalogueEntry, key: readonly string[]): Mismatch {
  return mismatchAt(
    entry,
    "duplicate-key",
    sentence`Rows of ${entry.endpoint.relation.join(".")} share a value of ${list(key)}, which tests call unique.`,
    plain("Remove the duplicates in the model's SQL (in ClickHouse also with `FINAL`), then run its tests."),
  );
}
