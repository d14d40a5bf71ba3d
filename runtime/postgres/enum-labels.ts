import { VALUES } from "../core/model/column-types.js";
import { httpError } from "../core/model/errors.js";
import { columnConditions, type ResolvedQuery, type Selection } from "../core/model/query.js";
import { bind, plan, sql, statement, type Statement } from "../core/warehouse/sql.js";
import { ValueRefused } from "../core/warehouse/query-errors.js";
import type { ResultColumn } from "../core/warehouse/warehouse.js";
import { placeholder } from "./columns.js";
import { INFINITE } from "./filter-times.js";

/** SQLSTATE invalid_text_representation. */
const INVALID_TEXT = "22P02";
/** SQLSTATE invalid_datetime_format. */
const INVALID_TIME = "22007";

/**
 * A value is sent as of its enum, so that an index finds it, and PostgreSQL refuses a text that is no label. The query then
 * runs again with those of its values that are labels now; the others equal no row.
 */
export function withLabels<Query extends ResolvedQuery, T>(
  query: Query,
  run: (query: Query) => Promise<T>,
  oneText: (statement: Statement) => Promise<string | null>,
): Promise<T> {
  return run(query).catch(async (error: unknown) => {
    const { selection } = query;
    const { code } = error as { readonly code?: unknown };
    const values = columnConditions(selection.conditions).flatMap(({ value }) => value);
    if (code === INVALID_TIME) throw refusedInfinity(selection) ?? error;
    if (code !== INVALID_TEXT || values.length === 0) throw error;
    const labels = (await oneText(labelsAmong(values))) ?? "[]";
    const known = new Set((JSON.parse(labels) as readonly unknown[]).map((label) => JSON.stringify(label)));
    return run({ ...query, selection: { ...selection, labels: known } });
  });
}

/** PostgreSQL before 17 has no infinite intervals. */
function refusedInfinity({ conditions }: Selection): ValueRefused | null {
  const infinite = columnConditions(conditions).find(({ value }) =>
    [value].flat().some((text) => INFINITE.test(text)),
  );
  if (infinite === undefined) return null;
  const { name } = infinite;
  return new ValueRefused(httpError("valueNotOfType", { name, type: VALUES.interval.text }));
}

function labelsAmong(values: readonly string[]): Statement {
  const body = sql`SELECT pg_catalog.json_agg(pg_catalog.json_build_array(n.nspname, t.typname, e.enumlabel))::pg_catalog.text
    FROM pg_catalog.pg_enum e
    JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) e.enumtypid
    JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) t.typnamespace
    WHERE e.enumlabel OPERATOR(pg_catalog.=) ANY (${bind(() => values)}::pg_catalog.text[])`;
  return statement(plan(body, placeholder), undefined);
}

/** Whether a value was looked up and is no label of the column's enum. */
export function isUnknownLabel(text: string, column: ResultColumn, { labels }: Selection): boolean {
  if (column.isEnum !== true || labels === undefined) return false;
  return !labels.has(JSON.stringify([column.typeSchema, column.type, text]));
}
