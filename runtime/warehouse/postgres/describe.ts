import type { Relation } from "../../model/endpoint.js";
import { bind, constant, identifier, join, literal, plan, sql, statement, type Statement } from "../sql.js";
import type { DescribedRelation, DescribedSelect, ResultColumn } from "../warehouse.js";
import { placeholder } from "./columns.js";

/** Precision and scale of `numeric(p,s)`, from the type modifier of attribute `a`: the scale has eleven bits and a sign. */
const DECIMAL_OF_A = sql`CASE WHEN a.atttypid = 'numeric'::regtype AND a.atttypmod > 3
  THEN json_build_array((a.atttypmod - 4) >> 16 & 65535, (((a.atttypmod - 4) & 2047) # 1024) - 1024) END`;

/**
 * The types of the columns, and those that they consist of: under a domain, in an array, a composite type or a range.
 * `UNION` reads each once: a look-up for each column read all types of the database for it, 417,000 pages for 30 columns.
 */
const PARTS = sql`parts (oid) AS (
  SELECT atttypid FROM attributes
  UNION SELECT part.oid FROM parts JOIN pg_catalog.pg_type b ON b.oid = parts.oid, LATERAL (
    SELECT b.typbasetype UNION ALL SELECT b.typelem
    UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute a
      WHERE b.typtype = 'c' AND a.attrelid = b.typrelid AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL SELECT r.rngsubtype FROM ranges r WHERE b.oid IN (r.rngtypid, r.multi)
  ) part (oid) WHERE part.oid <> 0)`;

/** PostgreSQL has multiranges since version 14. */
const RANGES = sql`ranges AS (
  SELECT r.rngtypid, r.rngsubtype, (to_json(r)->>'rngmultitypid')::oid AS multi FROM pg_catalog.pg_range r)`;

const TYPE_OF_B = sql`json_build_object('oid', b.oid::int8, 'name', b.typname,
  'schema', (SELECT CASE WHEN n.nspname <> 'pg_catalog' THEN n.nspname END FROM pg_catalog.pg_namespace n WHERE n.oid = b.typnamespace),
  'isEnum', CASE WHEN b.typtype = 'e' THEN true END,
  'base', CASE WHEN b.typtype = 'd' THEN b.typbasetype::int8 END,
  'element', CASE WHEN b.typcategory = 'A' THEN nullif(b.typelem, 0)::int8 END,
  'fields', CASE WHEN b.typtype = 'c' THEN (
    SELECT json_agg(json_build_object('name', a.attname, 'oid', a.atttypid::int8) ORDER BY a.attnum)
    FROM pg_catalog.pg_attribute a WHERE a.attrelid = b.typrelid AND a.attnum > 0 AND NOT a.attisdropped) END,
  'range', (SELECT json_build_object('bound', r.rngsubtype::int8, 'isMulti', b.oid <> r.rngtypid)
    FROM ranges r WHERE b.oid IN (r.rngtypid, r.multi)))`;

const COLUMN_OF_A = sql`json_build_object('name', a.attname, 'oid', a.atttypid::int8, 'decimal', ${DECIMAL_OF_A},
  'isNondeterministic', (SELECT true FROM pg_catalog.pg_collation l WHERE l.oid = a.attcollation AND NOT l.collisdeterministic))`;

/** One row for a relation, none where it does not exist: a text that `describedRelation` reads. */
export function describe([schema, name]: Relation): Statement {
  const body = sql`WITH RECURSIVE relation AS (
      SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = ${bind(() => schema)} AND c.relname = ${bind(() => name)}),
    attributes AS (
      SELECT a.* FROM relation JOIN pg_catalog.pg_attribute a ON a.attrelid = relation.oid
      WHERE a.attnum > 0 AND NOT a.attisdropped),
    ${RANGES}, ${PARTS}
    SELECT json_strip_nulls(json_build_object('id', relation.oid::text, 'moneyScale', scale(0::money::numeric),
      'columns', (SELECT json_agg(${COLUMN_OF_A} ORDER BY a.attnum) FROM attributes a),
      'types', (SELECT json_agg(${TYPE_OF_B}) FROM parts JOIN pg_catalog.pg_type b ON b.oid = parts.oid)
    ))::text AS relation FROM relation`;
  return statement(plan(body, placeholder), undefined);
}

/** One row: the columns of a statement, which is planned and not run, as of a relation. */
export function describeSelect({ select, names }: DescribedSelect): Statement {
  const columns = names.map(
    (name, i) => sql`(${constant(i)}, ${literal(name)}, pg_typeof(q.${identifier(name)})::oid, -1, 0::oid)`,
  );
  const body = sql<never>`WITH RECURSIVE attributes AS (
      SELECT v.* FROM (SELECT) AS one LEFT JOIN (SELECT * FROM (${select}) AS every LIMIT 0) AS q ON true
      CROSS JOIN LATERAL (VALUES ${join(columns, ", ")}) AS v(attnum, attname, atttypid, atttypmod, attcollation)),
    ${RANGES}, ${PARTS}
    SELECT json_strip_nulls(json_build_object('id', '', 'moneyScale', scale(0::money::numeric),
      'columns', (SELECT json_agg(${COLUMN_OF_A} ORDER BY a.attnum) FROM attributes a),
      'types', (SELECT json_agg(${TYPE_OF_B}) FROM parts JOIN pg_catalog.pg_type b ON b.oid = parts.oid)
    ))::text AS relation`;
  return statement(plan(body, placeholder), undefined as never);
}

/** Number of a type. */
type Oid = number;

interface TypeRow {
  readonly oid: Oid;
  readonly name: string;
  readonly schema?: string;
  readonly isEnum?: true;
  /** The type under a domain. */
  readonly base?: Oid;
  readonly element?: Oid;
  readonly fields?: readonly { readonly name: string; readonly oid: Oid }[];
  readonly range?: { readonly bound: Oid; readonly isMulti: boolean };
}

interface RelationRow {
  readonly id: string;
  readonly moneyScale: number;
  readonly columns?: readonly (Pick<ResultColumn, "name" | "decimal" | "isNondeterministic"> & {
    readonly oid: Oid;
  })[];
  readonly types?: readonly TypeRow[];
}

/** `type` of a column is the base type of a domain; a leading `_` means an array of it. */
export function describedRelation(text: string): DescribedRelation {
  const { id, moneyScale, columns = [], types = [] } = JSON.parse(text) as RelationRow;
  const all = new Types(types);
  return {
    id,
    columns: columns.map(({ oid, ...column }) => {
      const { schema, isEnum } = all.base(oid);
      const type = all.typeOf(oid);
      return {
        ...column,
        ...type,
        ...(type.type === "money" && { moneyScale }),
        ...(schema !== undefined && { typeSchema: schema }),
        ...(isEnum && { isEnum }),
      };
    }),
  };
}

class Types {
  readonly #types: ReadonlyMap<Oid, TypeRow>;

  constructor(types: readonly TypeRow[]) {
    this.#types = new Map(types.map((type) => [type.oid, type]));
  }

  /** The type at the bottom of a chain of domains. */
  base(oid: Oid): TypeRow {
    const type = this.#types.get(oid);
    // Dropped between two reads of the catalogue.
    if (type === undefined) return { oid, name: "unknown" };
    return type.base === undefined ? type : this.base(type.base);
  }

  typeOf(oid: Oid): Omit<ResultColumn, "name"> {
    const base = this.base(oid);
    const item = base.element === undefined ? base : this.base(base.element);
    const { fields, range } = item;
    return {
      type: item === base ? base.name : `_${item.name}`,
      ...(fields && { fields: fields.map((field) => ({ name: field.name, ...this.typeOf(field.oid) })) }),
      ...(range && { range: { bound: this.base(range.bound).name, isMulti: range.isMulti } }),
    };
  }
}
