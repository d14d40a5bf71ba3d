/** What the relations of a release lack in the database, for `/health`, the metrics and the log. */
import type { Logger } from "../../core/http/logger.js";
import { missingColumnsOf, missingText, relationsOf } from "../../core/model/missing-columns.js";
import type { Endpoint, Relation } from "../../core/model/endpoint.js";
import type { ResultColumns, Warehouse } from "../../core/warehouse/warehouse.js";
import type { LoadedRelease } from "../../core/handler/loaded-release.js";

/** The missing relations of a release: the warehouse still knows those of endpoints that a refresh has removed. */
export function missingRelations(
  { endpoints }: LoadedRelease,
  { missingRelations }: Warehouse,
): readonly string[] {
  if (missingRelations.length === 0) return [];
  const relations = [...endpoints.values()].flatMap(({ spec }) => relationsOf(spec));
  const served = new Set(relations.map((relation) => relation.join(".")));
  return missingRelations.filter((name) => served.has(name));
}

/** The columns that a release's relations lack, as far as they have been looked up, as `path: column`. */
export function missingColumnsByPath({ endpoints }: LoadedRelease, warehouse: Warehouse): readonly string[] {
  const missing = [...endpoints.values()].flatMap(({ spec }) =>
    relationsOf(spec).flatMap((relation) => {
      const columns = warehouse.knownColumns(relation);
      return columns === null
        ? []
        : missingTexts(spec, relation, columns).map((text) => `${spec.path}: ${text}`);
    }),
  );
  return [...new Set(missing)].sort();
}

function missingTexts(endpoint: Endpoint, relation: Relation, columns: ResultColumns): readonly string[] {
  return missingColumnsOf(endpoint, relation, columns).map(missingText);
}

export function warnOfMissingColumns(
  { readers }: LoadedRelease,
  relation: Relation,
  columns: ResultColumns,
  log: Logger,
): void {
  // Not all endpoints: at a start every relation is looked up.
  for (const { spec } of readers.get(relation.join(".")) ?? []) {
    const missing = missingTexts(spec, relation, columns);
    if (missing.length > 0) log.warn({ endpoint: spec.path, columns: missing }, LACKS_COLUMNS);
  }
}

const LACKS_COLUMNS =
  "the relation lacks columns of the endpoint: rows come without them, and requests that filter or sort by them fail";
