import type { Relation } from "../core/model/endpoint.js";
import { loadsAmong, type RelationLoad } from "../core/warehouse/data-versions.js";
import { sql } from "../core/warehouse/sql.js";
import { array } from "./filters.js";
import { finished } from "./parameters.js";
import type { ReadRows } from "./scanned-rows.js";

/**
 * The loads of relations: the identity of a table is another one after each. Of a cluster any node answers, and each has
 * tables of its own: the comment names the load.
 */
export async function relationLoads(
  read: ReadRows,
  relations: readonly Relation[],
): Promise<readonly RelationLoad[]> {
  const databases = [...new Set(relations.map(([database]) => database))];
  const found = await read<{ readonly load: Parameters<typeof loadsAmong>[1][number] }>(
    finished(sql`SELECT [database, name, if(engine = 'Distributed', '', concat(toString(uuid), ' ', toString(metadata_modification_time))), comment] AS load
      FROM system.tables WHERE has(${array(databases, "String")}, database) AND startsWith(comment, '{"routewright":')
      FORMAT JSONEachRow`),
  );
  return loadsAmong(
    relations,
    found.map(({ load }) => load),
  );
}
