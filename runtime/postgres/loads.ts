import type { Relation } from "../core/model/endpoint.js";
import { loadsAmong, type RelationLoad } from "../core/warehouse/data-versions.js";
import { bind, plan, sql, statement, type Statement } from "../core/warehouse/sql.js";
import { placeholder } from "./columns.js";

/** One text: the comments of loaded relations in the schemas of these. */
export function loadComments(relations: readonly Relation[]): Statement {
  const schemas = [...new Set(relations.map(([schema]) => schema))];
  const body = sql`SELECT pg_catalog.json_agg(pg_catalog.json_build_array(n.nspname, c.relname, c.oid::pg_catalog.text, d.description))::pg_catalog.text
    FROM pg_catalog.pg_description d
    JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) d.objoid
    JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
    WHERE d.classoid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objsubid OPERATOR(pg_catalog.=) 0
      AND d.description OPERATOR(pg_catalog.~~) '{"routewright":%'
      AND n.nspname OPERATOR(pg_catalog.=) ANY (${bind(() => schemas)})`;
  return statement(plan(body, placeholder), undefined);
}

/** The loads in the text of `loadComments`. */
export function relationLoads(text: string | null, relations: readonly Relation[]): readonly RelationLoad[] {
  return loadsAmong(relations, text === null ? [] : (JSON.parse(text) as Parameters<typeof loadsAmong>[1]));
}
