import { queryAt } from "../support/database.js";

/**
 * A schema that the path of every session of a database has before `pg_catalog`: for each operator, function, aggregate,
 * type and collation of PostgreSQL that a role can define again, one of the same name that fails wherever it is found, and an
 * `=` of texts that is true of all.
 */
const HOSTILE = `
CREATE SCHEMA hostile;
CREATE FUNCTION hostile.always(text, text) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
CREATE OPERATOR hostile.= (LEFTARG = text, RIGHTARG = text, PROCEDURE = hostile.always);
DO $do$
DECLARE
  found record;
  made int := 0;
BEGIN
  FOR found IN
    SELECT o.oprname, pg_catalog.format_type(nullif(o.oprleft, 0), NULL) AS l, pg_catalog.format_type(o.oprright, NULL) AS r,
      pg_catalog.format_type(o.oprresult, NULL) AS result, o.oid
    FROM pg_operator o WHERE o.oprnamespace = 'pg_catalog'::regnamespace AND o.oprresult <> 0
  LOOP
    BEGIN
      EXECUTE format('CREATE FUNCTION hostile.op_%s(%s) RETURNS %s LANGUAGE plpgsql IMMUTABLE AS $f$ BEGIN RAISE EXCEPTION %L; END $f$',
        found.oid, concat_ws(', ', found.l, found.r), found.result, 'operator ' || found.oprname);
      EXECUTE format('CREATE OPERATOR hostile.%s (%s RIGHTARG = %s, PROCEDURE = hostile.op_%s)', found.oprname,
        CASE WHEN found.l IS NULL THEN '' ELSE 'LEFTARG = ' || found.l || ',' END, found.r, found.oid);
      made := made + 1;
    EXCEPTION WHEN OTHERS THEN NULL;
    END;
  END LOOP;
  FOR found IN
    SELECT p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid) AS arguments,
      pg_catalog.pg_get_function_result(p.oid) AS result
    FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind IN ('f', 'a', 'w')
      AND p.prorettype <> ALL ('{internal,trigger,event_trigger,cstring,fdw_handler}'::regtype[])
  LOOP
    BEGIN
      EXECUTE format('CREATE FUNCTION hostile.%I(%s) RETURNS %s LANGUAGE plpgsql IMMUTABLE AS $f$ BEGIN RAISE EXCEPTION %L; END $f$',
        found.proname, replace(found.arguments, 'ORDER BY ', ', '), found.result, 'function ' || found.proname);
      made := made + 1;
    EXCEPTION WHEN OTHERS THEN NULL;
    END;
  END LOOP;
  FOR found IN
    SELECT t.typname FROM pg_type t WHERE t.typnamespace = 'pg_catalog'::regnamespace AND t.typtype IN ('b', 'r')
      AND t.typname NOT LIKE '\\_%'
  LOOP
    EXECUTE format('CREATE DOMAIN hostile.%I AS pg_catalog.int2 CHECK (false)', found.typname);
    made := made + 1;
  END LOOP;
  CREATE COLLATION hostile."default" FROM "C";
  IF made < 2500 THEN RAISE EXCEPTION 'only % names', made; END IF;
END $do$`;

/** Puts an own schema before `pg_catalog` in the path of the sessions that begin from now on. */
export async function withHostilePath(database: string): Promise<void> {
  await queryAt(database, HOSTILE);
  const name = new URL(database).pathname.slice(1);
  await queryAt(database, `ALTER DATABASE ${name} SET search_path = hostile, pg_catalog, public`);
}
