import { type AggregateRelation, ownerValue } from "../core/model/aggregate/aggregate.js";
import { type Condition, OWN_ROWS } from "../core/model/query.js";
import { EMPTY, projectParts, type Sql } from "../core/warehouse/sql.js";
import type { AggregateDialect } from "../core/warehouse/aggregate-dialect.js";
import { deferredCondition, type GroupsBuild, named } from "./groups-build.js";
import type { Named, ReadRelation } from "./plan.js";

/** Reads values of a relation: only the rows of the caller's organization where it has others too. */
export function readRelation(
  { grouping, conditions, types, dialect }: GroupsBuild,
  name: string,
  values: Named<string>,
): ReadRelation {
  const relation = named(grouping.aggregate.relations, name);
  const position =
    relation.rows === undefined ? -1 : conditions.findIndex((condition) => condition.name === OWN_ROWS);
  const own = conditions[position];
  const known = types.get(name) ?? [];
  const proof =
    dialect.typeProof?.(
      known.map((column) => ({ value: valueOf(relation, column.name, dialect), column })),
    ) ?? EMPTY;
  const read: ReadRelation = {
    kind: "read",
    relation: dialect.identifier(...relation.relation),
    columns: values.map(([shown, value]) => [
      shown,
      { column: columnOf(relation, value), value: valueOf(relation, value, dialect) },
    ]),
    conditions: [],
    proof,
    names: known.flatMap((column) => columnOf(relation, column.name) ?? []),
  };
  if (own === undefined || relation.rows === undefined) return read;
  const { column } = relation.rows;
  const owner = { ...named(known, ownerValue(relation, column)), name: column };
  const placed = { condition: { ...own, column } as Condition, position };
  const condition = deferredCondition(dialect, placed, [owner]);
  return { ...read, conditions: [condition], names: [...read.names, column] };
}

/** The column that a value is; null for an expression of the project. */
function columnOf(relation: AggregateRelation, name: string): string | null {
  const value = named(relation.values, name);
  return "column" in value ? value.column : null;
}

/** A value of a relation that is read as `s`. */
export function valueOf(relation: AggregateRelation, name: string, { identifier }: AggregateDialect): Sql {
  const value = named(relation.values, name);
  return "column" in value ? identifier("s", value.column) : projectParts([value.sql]);
}
