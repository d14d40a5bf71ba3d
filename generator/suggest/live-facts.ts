import { type Catalogue, type CatalogueEntry } from "../catalogue/catalogue.js";
import { type ReadSource, verifyPromises } from "../verify/build-promises.js";
import type { LiveRelation, ReadRelations, RunQuery } from "../verify/relations.js";
import type { Warehouse } from "@routewright/runtime/server";
import { clickhouseFacts, postgresFacts } from "./statistics.js";
import type { SuggestDatabase } from "./suggest.js";

/** What `suggest` reads of the serving database: nothing but its catalogs, statistics and plans. */
interface ReadDatabase {
  readonly readRelations: ReadRelations;
  readonly query: RunQuery;
  readonly readSource: ReadSource;
  readonly warehouse: Pick<Warehouse, "usesIndex">;
  readonly isClickhouse: boolean;
}

/** The serving database as the rules ask it. */
export async function liveFacts(
  catalogue: Catalogue,
  { readRelations, query, readSource, warehouse, isClickhouse }: ReadDatabase,
): Promise<SuggestDatabase> {
  const live = await readRelations(catalogue.entries.map(({ relation }) => relation));
  const byName = new Map(live.map((relation) => [keyOf([relation.schema, relation.name]), relation]));
  const relationOf = (entry: CatalogueEntry): LiveRelation | null => {
    const found = byName.get(keyOf(entry.relation));
    return found?.columns == null || found.readable !== true ? null : found;
  };
  const has = (entry: CatalogueEntry): boolean => relationOf(entry) !== null;
  const { couldPromise } = await verifyPromises(catalogue, readSource, has);
  return {
    has,
    couldPromise: new Set(couldPromise),
    commentsOf: (entry) =>
      new Map(
        (relationOf(entry)?.columns ?? []).flatMap(({ name, comment }) =>
          comment ? [[name, comment] as const] : [],
        ),
      ),
    factsOf: ({ relation }) =>
      isClickhouse ? clickhouseFacts(query, relation) : postgresFacts(query, relation),
    usesIndex: (relation, filter, grouping) => warehouse.usesIndex(relation, filter, grouping),
  };
}

function keyOf(relation: readonly [string, string]): string {
  return JSON.stringify(relation);
}
