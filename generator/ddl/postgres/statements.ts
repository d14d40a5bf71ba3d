import type { BuildsAtLoad } from "@routewright/runtime/model";
import { identifier } from "../../verify/relations.js";
import type { CopiedRelation } from "../copied-relation.js";
import { COMMENT_START, loadComment } from "../load-comment.js";
import { type RelationScript, statement } from "../script.js";
import { withPlaces } from "./duckdb.js";
import type { TextPart } from "./export.js";
import type { TextColumn } from "./expressions.js";
import { copyLine } from "./texts.js";

export interface PostgresLoad {
  readonly copied: CopiedRelation;
  /** The files, by their columns. */
  readonly parts: readonly TextPart[];
  /** The number of schemas of the files; null where a statement names the files of each, or the format keeps one for all. */
  readonly schemas: string | null;
  readonly notes: readonly string[];
  readonly builds: BuildsAtLoad | null;
  readonly grants: readonly string[];
}

/** One transaction: the table is filled beside the old one, and takes its name at the end. */
export function postgresScript(load: PostgresLoad): RelationScript {
  const { copied, parts, schemas, notes } = load;
  const columns = parts[0]?.columns ?? [];
  const [schema, name] = copied.relation;
  const next = quoted([schema, nextName(name)]);
  const lines = columns.map(
    (column) => `  ${identifier(column.name)} ${column.type}${column.isNotNull ? " NOT NULL" : ""}`,
  );
  const rows = parts.map(({ source }) => `(SELECT count(*) FROM ${source})`).join(" + ");
  return {
    name: copied.relation.join("."),
    notes,
    steps: [
      statement("BEGIN"),
      statement("SET LOCAL timezone = 'UTC'"),
      // Names mean what PostgreSQL has, whatever the role's path is.
      statement("SET LOCAL search_path = pg_catalog"),
      statement(`SELECT pg_advisory_xact_lock(hashtextextended(${literal(`routewright ddl ${next}`)}, 0))`),
      statement(
        block(
          `IF to_regnamespace(${literal(identifier(schema))}) IS NULL THEN CREATE SCHEMA ${identifier(schema)}; END IF;`,
        ),
      ),
      statement(`CREATE TABLE ${next} (\n${lines.join(",\n")}\n)`),
      ...parts.map((part) => ({ kind: "copy" as const, into: next, select: rowsOf(part) })),
      {
        kind: "count",
        select:
          schemas === null
            ? `SELECT ${rows}`
            : `SELECT CASE WHEN (${schemas}) = 1 THEN ${rows} ELSE error('the files of the export differ in their columns or types') END`,
      },
      statement(sameCount(copied, next)),
      ...indexes(copied, columns, next).map((text) => statement(text)),
      statement(`ANALYZE ${next}`),
      statement(replacement(load, next)),
      statement("COMMIT"),
    ],
  };
}

/** The lines of a part. A file that came later may have other types, whose texts PostgreSQL would round. */
function rowsOf({ source, columns }: TextPart): string {
  const types = [...new Set(columns.flatMap(({ hasType }) => hasType ?? []))];
  const isSame =
    types.length === 0
      ? ""
      : ` WHERE CASE WHEN ${types.join(" AND ")} THEN true ELSE error('the files of the export have other types than when the script was printed: print it again') END`;
  return `${copyLine(columns.map(({ text }) => text))} FROM ${withPlaces(source)}${isSame}`;
}

const literal = (text: string): string =>
  text.includes("\\") ? `E'${text.replace(/[\\']/g, "\\$&")}'` : `'${text.replaceAll("'", "''")}'`;

/** A dollar quote that a name cannot end. */
const block = (body: string): string => {
  let tag = "$routewright$";
  for (let i = 0; body.includes(tag); i++) tag = `$routewright${String(i)}$`;
  return `DO ${tag} BEGIN\n${body}\nEND ${tag}`;
};

const quoted = (relation: readonly string[]): string => relation.map(identifier).join(".");
const nextName = (name: string): string => `${name}__new`;

function sameCount({ relation }: CopiedRelation, next: string): string {
  return block(
    `IF (SELECT count(*) FROM ${next}) <> current_setting('routewright.rows')::bigint THEN\n  RAISE EXCEPTION '%: the copy and its export differ in their number of rows', ${literal(relation.join("."))};\nEND IF;`,
  );
}

/** An index for each column that requests filter by, and one for the order of pages. */
function indexes(
  { filtered, sorted }: CopiedRelation,
  columns: readonly TextColumn[],
  next: string,
): readonly string[] {
  const found = (name: string): string | null => {
    const column = columns.find((each) => each.name.toLowerCase() === name.toLowerCase());
    return column === undefined || column.type === "json" ? null : identifier(column.name);
  };
  const filters = filtered.flatMap(({ column, case: folding }) => {
    const name = found(column);
    return name === null ? [] : [folding === undefined ? name : `${folding}(${name})`];
  });
  const order = [...new Set(sorted)].map(found);
  const pages = order.length === 0 || order.includes(null) ? [] : [order.join(", ")];
  return [...new Set([...filters, ...pages])].map((on) => `CREATE INDEX ON ${next} (${on})`);
}

/** The new table gets the grants of the old one, then its name. Readers wait for a moment only: the lock is tried again. */
function replacement({ copied, builds, grants }: PostgresLoad, next: string): string {
  const served = quoted(copied.relation);
  const [, name] = copied.relation;
  const [at, text] = [literal(served), literal(copied.relation.join("."))];
  const comment = literal(loadComment(builds).slice(0, -2));
  return block(`
DECLARE
  old regclass := to_regclass(${at});
  given record;
BEGIN
  EXECUTE format('COMMENT ON TABLE ${next.replaceAll("'", "''").replaceAll("%", "%%")} IS %L', ${comment}
    || ${builds === null ? "''" : "','"} || '"loadedAt":"' || to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"}}');
  IF old IS NOT NULL THEN
    IF coalesce(obj_description(old, 'pg_class'), '') NOT LIKE ${literal(`${COMMENT_START}%`)} THEN
      RAISE EXCEPTION '% was not made by "routewright ddl": rename or drop it, then load again', ${text};
    END IF;
    IF (SELECT relrowsecurity FROM pg_class WHERE oid = old) THEN
      RAISE EXCEPTION '% has row security, which a new table would not have', ${text};
    END IF;
    FOR tries IN 1..60 LOOP
      BEGIN
        SET LOCAL lock_timeout = '1s';
        LOCK TABLE ${served} IN ACCESS EXCLUSIVE MODE;
        EXIT;
      EXCEPTION WHEN lock_not_available THEN
        IF tries = 60 THEN
          RAISE EXCEPTION '% is being read by a query that does not end: load again later', ${text};
        END IF;
        PERFORM pg_sleep(1);
      END;
    END LOOP;
    FOR given IN
      SELECT a.privilege_type AS privilege, a.is_grantable, NULL::name AS attname,
        CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS role
      FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = old AND a.grantee <> c.relowner
      UNION ALL
      SELECT a.privilege_type, a.is_grantable, t.attname,
        CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END
      FROM pg_attribute t, aclexplode(t.attacl) a
      WHERE t.attrelid = old AND NOT t.attisdropped
        AND EXISTS (SELECT FROM pg_attribute n WHERE n.attrelid = ${literal(next)}::regclass AND n.attname = t.attname)
    LOOP
      EXECUTE format('GRANT %s %s ON ${next.replaceAll("'", "''").replaceAll("%", "%%")} TO %s %s', given.privilege,
        CASE WHEN given.attname IS NULL THEN '' ELSE format('(%I)', given.attname) END, given.role,
        CASE WHEN given.is_grantable THEN 'WITH GRANT OPTION' ELSE '' END);
    END LOOP;
    DROP TABLE ${served};
  END IF;
  ALTER TABLE ${next} RENAME TO ${identifier(name)};
${grants.map((role) => `  GRANT USAGE ON SCHEMA ${identifier(copied.relation[0])} TO ${identifier(role)};\n  GRANT SELECT ON ${served} TO ${identifier(role)};\n`).join("")}END;`);
}
