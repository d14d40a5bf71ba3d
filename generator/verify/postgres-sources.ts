import type { RunQuery } from "./relations.js";
import type { ReadSource } from "./build-promises.js";

/**
 * `pg_depend` leaves out functions and relations of the system: the stored query of a view has all of them. `:relid` and its like
 * are fields of its nodes; names in it have no unescaped blank.
 */
const SOURCE = String.raw`
  WITH target AS (
    SELECT c.oid, c.relkind, c.relrowsecurity FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname || '.' || c.relname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
  ), trees AS (
    SELECT r.ev_action::text AS tree FROM target t
    JOIN pg_catalog.pg_rewrite r ON r.ev_class = t.oid AND r.ev_type = '1' WHERE t.relkind = 'v'
    UNION ALL
    SELECT p.polqual::text FROM target t
    JOIN pg_catalog.pg_policy p ON p.polrelid = t.oid AND p.polcmd IN ('r', '*') WHERE t.relrowsecurity
  ), fields AS (
    SELECT DISTINCT m[1] AS field, m[2]::oid AS id
    FROM trees, regexp_matches(tree, ':(relid|funcid|opfuncid|opno|aggfnoid|winfnoid|tsmhandler) (\d+)', 'g') m
  ), called AS (
    SELECT id FROM fields WHERE field NOT IN ('relid', 'opno')
    UNION SELECT o.oprcode FROM fields JOIN pg_catalog.pg_operator o ON field = 'opno' AND o.oid = id
    UNION SELECT unnest(ARRAY[a.aggtransfn, a.aggfinalfn])
      FROM fields JOIN pg_catalog.pg_aggregate a ON field IN ('aggfnoid', 'winfnoid') AND a.aggfnoid = id
  ), read AS (
    SELECT id FROM fields WHERE field = 'relid'
    UNION SELECT i.inhrelid FROM target t JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid
  )
  SELECT (SELECT relkind FROM target) AS kind,
    ARRAY(SELECT n.nspname || '.' || c.relname FROM read JOIN pg_catalog.pg_class c ON c.oid = id
      JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid NOT IN (SELECT oid FROM target)) AS reads,
    ARRAY(SELECT p.proname::text FROM called JOIN pg_catalog.pg_proc p ON p.oid = id
      JOIN pg_catalog.pg_language l ON l.oid = p.prolang
      WHERE p.provolatile = 'v' OR p.provolatile = 's' AND CASE p.pronamespace
        WHEN 'pg_catalog'::regnamespace THEN p.proname ~ $2 ELSE l.lanname NOT IN ('c', 'internal') END) AS functions,
    (SELECT bool_or(tree ~ '\{SQLVALUEFUNCTION :op [0-8] ') FROM trees) AS clock`;

/**
 * The stable functions of PostgreSQL that read the clock, settings, sessions, catalogs or tables. The others are stable because
 * the time zone or the locale of the role has a part in their result.
 */
const CHANGING =
  "^(now|(statement|transaction)_timestamp|age|mxid_age|current_setting|row_security_active|(txid|pg|has|inet|to_reg|table_to|schema_to|database_to)_?(?!typeof)\\w*|(col|obj|shobj)_description)$";

interface SourceRow {
  readonly kind: string | null;
  readonly reads: readonly string[];
  readonly functions: readonly string[];
  readonly clock: boolean | null;
}

/** What a relation of PostgreSQL reads: the query of a view, the partitions and row policies of a table. */
export function postgresSources(query: RunQuery): ReadSource {
  return async ({ relation }) => {
    const [{ kind, reads, functions, clock }] = (await query(SOURCE, [relation, CHANGING])) as readonly [
      SourceRow,
    ];
    return {
      reads: reads.map((each) => ({ relation: each })),
      functions: clock ? [...functions, "CURRENT_TIMESTAMP"] : functions,
      reasons: kind === "f" ? ["is a foreign table, which another server writes"] : [],
    };
  };
}
