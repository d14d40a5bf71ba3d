import type { Relation } from "../../model/endpoint.js";
import { loadsAmong, type RelationLoad } from "../data-versions.js";
import { bind, plan, sql, statement, type Statement } from "../sql.js";
import { placeholder } from "./columns.js";

/** One text: the comments of loaded relations in the schemas of these. */
export function loadComments(relations: readonly Relation[]): Statement {
  const schemas = [...new Set(relations.map(([schema]) => schema))];
  const body = sql`SELECT json_agg(json_build_array(n.nspname, c.relname, c.oid::text, d.description))::text
    FROM pg_catalog.pg_description d
    JOIN pg_catalog.pg_class c ON c.oid = d.objoid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE d.classoid = 'pg_catalog.pg_class'::regclass AND d.objsubid = 0
      AND d.description LIKE '{"routewright":%' AND n.nspname = ANY (${bind(() => schemas)})`;
  return statement(plan(body, placeholder), undefined);
}

/** The loads in the text of `loadComments`. */
export function relationLoads(text: string | null, relations: readonly Relation[]): readonly RelationLoad[] {
  return loadsAmong(relations, text === null ? [] : (JSON.parse(text) as Parameters<typeof loadsAmong>[1]));
}
