import { identifier, sql, type Sql } from "../core/warehouse/sql.js";
import type { ResultColumn } from "../core/warehouse/warehouse.js";

/**
 * PostgreSQL looks up a name without a schema along the role's `search_path`, in which an own schema may stand before
 * `pg_catalog`: an own `=` would decide whose rows an organization gets. Statements therefore name the schema of each operator,
 * function and type. `IN`, `LIKE`, `BETWEEN`, `NULLIF`, `IS DISTINCT FROM`, `CASE x WHEN` and `USING` look up their operators by
 * the path, and cannot name a schema: no statement has them.
 */
const OPERATORS = {
  "=": sql`OPERATOR(pg_catalog.=)`,
  "<>": sql`OPERATOR(pg_catalog.<>)`,
  "<": sql`OPERATOR(pg_catalog.<)`,
  "<=": sql`OPERATOR(pg_catalog.<=)`,
  ">": sql`OPERATOR(pg_catalog.>)`,
  ">=": sql`OPERATOR(pg_catalog.>=)`,
  "+": sql`OPERATOR(pg_catalog.+)`,
  "-": sql`OPERATOR(pg_catalog.-)`,
  "*": sql`OPERATOR(pg_catalog.*)`,
  "/": sql`OPERATOR(pg_catalog./)`,
  "||": sql`OPERATOR(pg_catalog.||)`,
  like: sql`OPERATOR(pg_catalog.~~)`,
  ilike: sql`OPERATOR(pg_catalog.~~*)`,
} as const;

type OperatorSign = keyof typeof OPERATORS;
export type ComparisonSign = Extract<OperatorSign, "=" | "<>" | "<" | "<=" | ">" | ">=">;

/** In parentheses: `OPERATOR()` has one precedence, whichever operator it names. */
export function infix<From>(left: Sql<From>, sign: OperatorSign, right: Sql<From>): Sql<From> {
  return sql`(${left} ${OPERATORS[sign]} ${right})`;
}

/** A comparison with a column, or with `ANY` of a list, by the operator of the column's type. */
export function compared<From>(
  left: Sql<From>,
  sign: ComparisonSign,
  right: Sql<From>,
  column: Pick<ResultColumn, "typeSchema" | "hasOwnOperators">,
): Sql<From> {
  const { typeSchema, hasOwnOperators } = column;
  if (hasOwnOperators !== true || typeSchema === undefined) return infix(left, sign, right);
  return sql`(${left} OPERATOR(${identifier(typeSchema)}.${SIGNS[sign]}) ${right})`;
}

const SIGNS = {
  "=": sql`=`,
  "<>": sql`<>`,
  "<": sql`<`,
  "<=": sql`<=`,
  ">": sql`>`,
  ">=": sql`>=`,
} as const;

/** An aggregate: of an extension's type that has its own, that one. */
export function aggregateName(
  name: string,
  column: Pick<ResultColumn, "typeSchema" | "ownAggregates"> | null,
): Sql {
  const isOwn = column?.ownAggregates?.includes(name) === true;
  return identifier(isOwn ? (column.typeSchema ?? "") : "pg_catalog", name);
}
