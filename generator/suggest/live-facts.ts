import { type Catalogue, type CatalogueEntry } from "../catalogue/catalogue.js";
import { type ReadSource, verifyPromises } from "../verify/build-promises.js";
import type { LiveRelation, ReadRelations, RunQuery } from "../verify/relations.js";
import type { Relation } from "@routewright/runtime/model";
import type { Warehouse } from "@routewright/runtime/server";
import { clickhouseGroups, postgresGroups } from "./group-counts.js";
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
  const live = await readRelations(relationsOf(catalogue));
  const byName = new Map(live.map((relation) => [keyOf([relation.schema, relation.name]), relation]));
  const relationOf = (relation: Relation): LiveRelation | null => {
    const found = byName.get(keyOf(relation));
    return found?.columns == null || found.readable !== true ? null : found;
  };
  const has = ({ relation }: CatalogueEntry): boolean => relationOf(relation) !== null;
  const { couldPromise } = await verifyPromises(catalogue, readSource, has);
  return {
    has,
    couldPromise: new Set(couldPromise),
    commentsOf: (entry) =>
      new Map(
        (relationOf(entry.relation)?.columns ?? []).flatMap(({ name, comment }) =>
          comment ? [[name, comment] as const] : [],
        ),
      ),
    factsOf: ({ relation }) =>
      isClickhouse ? clickhouseFacts(query, relation) : postgresFacts(query, relation),
    typesOf: (relation) => {
      const columns = relationOf(relation)?.columns;
      return columns == null
        ? null
        : new Map(columns.filter(({ readable }) => readable).map(({ name, type }) => [name, type]));
    },
    countGroups: isClickhouse ? clickhouseGroups(query) : postgresGroups(query),
    usesIndex: (relation, filter, grouping) => warehouse.usesIndex(relation, filter, grouping),
  };
}

/** Those of endpoints, and of the semantic models that metrics read. */
function relationsOf({ entries }: Catalogue): readonly Relation[] {
  const all = entries.flatMap(({ relation, aggregate }) => [
    relation,
    ...(aggregate?.relations ?? []).map((each) => each.relation),
  ]);
  return [...new Map(all.map((relation) => [keyOf(relation), relation])).values()];
}

function keyOf(relation: readonly [string, string]): string {
  return JSON.stringify(relation);
}
