import { columnNamed, type Endpoint, type MissingColumn, missingColumns } from "@routewright/runtime/model";
import type { Catalogue, CatalogueEntry, DescribedColumn } from "../catalogue/catalogue.js";
import { jsonKindOf } from "../catalogue/types/json-schema.js";
import { dataTypeOf } from "../catalogue/types/read-type.js";
import { isZoneless } from "../catalogue/types/type-facts.js";
import { compareTypes, type TypeChange } from "../diff/column-compatibility.js";
import { list, sentence } from "../manifest/strings.js";
import { relationsOf } from "./aggregate-relations.js";
import { type Mismatch, mismatchAt } from "./checks.js";

/** Runs one SQL statement and returns its rows. */
export type RunQuery = (text: string, values?: readonly unknown[]) => Promise<readonly unknown[]>;

/** A column in the database. */
export interface LiveColumn {
  readonly name: string;
  readonly type: string;
  readonly notNull: boolean;
  readonly readable: boolean;
  readonly comment?: string | null;
  /** Of an enumeration, also in an array. */
  readonly labels?: readonly string[] | null;
  /** What a domain is of. */
  readonly baseType?: string | null;
}

/** A relation in the database; `kind` is `pg_class.relkind`, null where the relation does not exist. */
export interface LiveRelation {
  readonly schema: string;
  readonly name: string;
  readonly kind: string | null;
  /** False for a materialized view that was never refreshed. */
  readonly populated?: boolean;
  readonly readable: boolean | null;
  /** Whether it is a view with parameters: it has no columns without them (ClickHouse). */
  readonly isParameterized?: true;
  readonly columns: readonly LiveColumn[] | null;
  /** The role that reads it, and the statements that let it, as its owner would run them. */
  readonly role?: string;
  readonly grant?: string;
}

const RELATIONS = `
  SELECT r.schema, r.name, c.relkind AS kind, c.relispopulated AS populated, current_user AS role,
    format('GRANT USAGE ON SCHEMA %1$I TO %3$I; GRANT SELECT ON %1$I.%2$I TO %3$I;', r.schema, r.name, current_user) AS "grant",
    has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT') AS readable,
    (SELECT json_agg(json_build_object(
        'name', a.attname,
        'type', format_type(a.atttypid, a.atttypmod),
        'notNull', a.attnotnull AND NOT EXISTS (
          SELECT FROM pg_catalog.pg_constraint k
          WHERE k.conrelid = c.oid AND k.contype = 'n' AND k.conkey = ARRAY[a.attnum] AND NOT k.convalidated),
        'comment', col_description(c.oid, a.attnum),
        'labels', (SELECT json_agg(e.enumlabel ORDER BY e.enumsortorder) FROM pg_catalog.pg_enum e
          WHERE e.enumtypid IN (t.oid, nullif(t.typelem, 0), t.typbasetype)),
        'baseType', CASE WHEN t.typtype = 'd' THEN format_type(t.typbasetype, t.typtypmod) END,
        'readable', has_schema_privilege(n.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT')
      ) ORDER BY a.attnum)
      FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
      WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns
  FROM unnest($1::text[], $2::text[]) AS r (schema, name)
  LEFT JOIN pg_catalog.pg_namespace n ON n.nspname = r.schema
  LEFT JOIN pg_catalog.pg_class c
    ON c.relnamespace = n.oid AND c.relname = r.name AND c.relkind IN ('r', 'p', 'v', 'm', 'f')`;

export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** How a database names what is its own in a statement that reads the project's relations. */
export interface SqlNames {
  /** Makes an SQL identifier of a name. */
  readonly quote: (name: string) => string;
  /** In front of a function or a type of its own. */
  readonly own: string;
  /** Its operator of numbers. */
  readonly above: string;
}

/** Whatever the role's `search_path` finds first (`runtime/postgres/qualified-names.ts`). */
export const POSTGRES_NAMES: SqlNames = {
  quote: identifier,
  own: "pg_catalog.",
  above: "OPERATOR(pg_catalog.>)",
};

/** Reads relations from the system tables of a database. */
export type ReadRelations = (relations: readonly Endpoint["relation"][]) => Promise<readonly LiveRelation[]>;

export function postgresRelations(query: RunQuery): ReadRelations {
  return async (relations) => {
    const names = [relations.map(([schema]) => schema), relations.map(([, name]) => name)];
    return (await query(RELATIONS, names)) as readonly LiveRelation[];
  };
}

/**
 * Compares relations, columns, types, nullability and privileges with the database. One query of the system catalog:
 * cheap enough for the start of a server.
 */
export async function verifyRelations(
  catalogue: Catalogue,
  read: ReadRelations,
): Promise<readonly Mismatch[]> {
  return (await inspectRelations(catalogue, read)).mismatches;
}

/** The mismatches of `verifyRelations`, and the catalogue with the relations' own names of its columns, for checks by SQL. */
export async function inspectRelations(
  catalogue: Catalogue,
  read: ReadRelations,
): Promise<{ readonly mismatches: readonly Mismatch[]; readonly own: Catalogue }> {
  const parts = catalogue.entries.flatMap(relationsOf);
  const live = await read(distinct([...catalogue.entries, ...parts].map(({ relation }) => relation)));
  const found = new Map(live.map((relation) => [keyOf([relation.schema, relation.name]), relation]));
  const liveOf = ({ relation }: CatalogueEntry) => found.get(keyOf(relation));
  const entries = catalogue.entries.map((entry) => withOwnNames(entry, liveOf(entry)?.columns ?? []));
  return {
    mismatches: parts.flatMap((entry) => compareRelation(entry, liveOf(entry))),
    own: { ...catalogue, entries },
  };
}

function distinct(relations: readonly Endpoint["relation"][]): readonly Endpoint["relation"][] {
  return [...new Map(relations.map((relation) => [keyOf(relation), relation])).values()];
}

function withOwnNames(entry: CatalogueEntry, columns: readonly LiveColumn[]): CatalogueEntry {
  const ownName = (name: string): string => columnNamed(columns, name)?.name ?? name;
  const renamed = <Filter extends { readonly column: string }>(filter: Filter): Filter => ({
    ...filter,
    column: ownName(filter.column),
  });
  return {
    ...entry,
    parameters: entry.parameters.map(renamed),
    ...(entry.filters && { filters: entry.filters.map(renamed) }),
    ...(entry.cursor && { cursor: entry.cursor.map(ownName) }),
  };
}

function keyOf(relation: Endpoint["relation"]): string {
  return JSON.stringify(relation);
}

function compareRelation(entry: CatalogueEntry, live: LiveRelation | undefined): readonly Mismatch[] {
  const { relation, columns } = entry;
  const name = relation.join(".");
  if (live?.isParameterized) return parameterized(entry);
  if (live?.kind == null || live.columns === null) {
    const message = sentence`The relation ${name} does not exist.`;
    const hint = "Run `dbt build` for the model, or check DATABASE_URL and the grants of its role.";
    return mismatchAt(entry, "missing-relation", message, hint);
  }
  const existing = live.columns;
  const unreadable = columns
    .filter((column) => columnNamed(existing, column.name)?.readable === false)
    .map((column) => column.name);
  const privilege =
    live.readable || (columns.length > 0 && unreadable.length === 0)
      ? []
      : notReadable(entry, live, unreadable.length < columns.length ? unreadable : []);
  return [
    ...privilege,
    ...(live.populated === false ? unpopulated(entry) : []),
    ...missingColumns(entry, existing).flatMap((missing) => missingColumn(entry, missing)),
    ...columns.flatMap((column) =>
      compareColumn(entry, column, columnNamed(existing, column.name), live.kind),
    ),
  ];
}

function parameterized(entry: CatalogueEntry): readonly Mismatch[] {
  const message = sentence`${entry.relation.join(".")} is a view with parameters, which no request gives it.`;
  const hint = "Serve a view of it that gives them values: `SELECT * FROM this_view(name = value)`.";
  return mismatchAt(entry, "missing-relation", message, hint);
}

function unpopulated(entry: CatalogueEntry): readonly Mismatch[] {
  const message = sentence`The materialized view ${entry.relation.join(".")} was created \`WITH NO DATA\` and never refreshed.`;
  const hint = "Run `dbt build` for the model, or `REFRESH MATERIALIZED VIEW`.";
  return mismatchAt(entry, "unpopulated-relation", message, hint);
}

/** `columns`: those that the role may not read, where it may read others. */
function notReadable(
  entry: CatalogueEntry,
  { role = "of DATABASE_URL", grant = "" }: LiveRelation,
  columns: readonly string[],
): readonly Mismatch[] {
  const name = entry.relation.join(".");
  const message =
    columns.length === 0
      ? sentence`The role ${role} may not read ${name}.`
      : sentence`The role ${role} may not read the columns ${list(columns)} of ${name}.`;
  const hint = sentence`Its owner runs ${grant}; in dbt \`grants\` keeps it: \`grants: {select: [${role}]}\`.`;
  return mismatchAt(entry, "unreadable-relation", message, hint);
}

function missingColumn(entry: CatalogueEntry, { name, candidates }: MissingColumn): readonly Mismatch[] {
  const relation = entry.relation.join(".");
  const message =
    candidates.length === 0
      ? sentence`${relation} has no column ${name}: rows come without it.`
      : sentence`${relation} has several columns that ${name} may mean, ${list(candidates)}: requests fail.`;
  const hint = "Build the model again, or correct the column's name in its schema.yml.";
  return mismatchAt(entry, "missing-column", message, hint);
}

function compareColumn(
  entry: CatalogueEntry,
  { name, type, notNull }: DescribedColumn,
  live: LiveColumn | undefined,
  kind: string | null,
): readonly Mismatch[] {
  const relation = entry.relation.join(".");
  if (live === undefined || type === null) return [];
  const documented = dataTypeOf(type);
  const actual = dataTypeOf(live.type);
  const outcome = compareTypes(documented, actual);
  const isZoneChanged =
    jsonKindOf(documented) === jsonKindOf(actual) && isZoneless(documented) !== isZoneless(actual);
  const differences: Mismatch[] = [];
  if (!FITS.has(outcome) || isZoneChanged) {
    const message = sentence`The column ${name} is documented as ${type}, and ${relation} has ${live.type}.`;
    const hint = "Correct `data_type` in the model's schema.yml, or cast the column in its SQL.";
    differences.push(...mismatchAt(entry, "column-type", message, hint));
  }
  if (notNull === "constraint" && !live.notNull && HAS_CONSTRAINTS.has(kind)) {
    const message = sentence`The column ${name} has a not_null constraint in the project, and ${relation} has none.`;
    const hint = "Build the model with `contract: {enforced: true}`, or remove the constraint.";
    differences.push(...mismatchAt(entry, "column-nullable", message, hint));
  }
  return differences;
}

/** Outcomes where every value fits what is documented. */
const FITS: ReadonlySet<TypeChange> = new Set(["same", "narrowed", "shortened", "text-changed"]);

/** Ordinary, partitioned and foreign tables: views have no constraints. */
const HAS_CONSTRAINTS: ReadonlySet<string | null> = new Set(["r", "p", "f"]);

/** Rows of a relation that are read for duplicates. */
const READ_ROWS = 1_000_000;

/**
 * Looks for duplicates under the keys that pages by cursor rely on. A dbt test proves a key when it runs; a ClickHouse table enforces
 * none, and a `ReplacingMergeTree` has duplicates until it merges.
 */
export async function verifyKeys(
  { entries }: Catalogue,
  query: RunQuery,
  { quote, own, above }: SqlNames,
  isToCheck: (entry: CatalogueEntry) => boolean,
): Promise<readonly Mismatch[]> {
  const differences: Mismatch[] = [];
  for (const entry of entries) {
    const { cursor: key = [], relation } = entry;
    if (key.length === 0 || !isToCheck(entry)) continue;
    const columns = key.map(quote).join(", ");
    const rows = `SELECT ${columns} FROM ${relation.map(quote).join(".")} LIMIT ${String(READ_ROWS)}`;
    const duplicates = `SELECT 1 AS found FROM (${rows}) AS r GROUP BY ${columns} HAVING ${own}count(*) ${above} 1 LIMIT 1`;
    if ((await query(duplicates)).length > 0) differences.push(...duplicateKey(entry, key));
  }
  return differences;
}

function duplicateKey(entry: CatalogueEntry, key: readonly string[]): readonly Mismatch[] {
  return mismatchAt(
    entry,
    "duplicate-key",
    sentence`Rows of ${entry.relation.join(".")} share a value of ${list(key)}, which tests call unique.`,
    "Remove the duplicates in the model's SQL (in ClickHouse also with `FINAL`), then run its tests.",
  );
}
