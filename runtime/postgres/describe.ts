import type { Relation } from "../core/model/endpoint.js";
import {
  bind,
  constant,
  identifier,
  join,
  literal,
  plan,
  sql,
  statement,
  type Sql,
  type Statement,
} from "../core/warehouse/sql.js";
import type { DescribedRelation, DescribedSelect, ResultColumn } from "../core/warehouse/warehouse.js";
import { placeholder } from "./columns.js";
import { infix } from "./qualified-names.js";

/** Equal, by PostgreSQL's own operator. */
const IS = sql`OPERATOR(pg_catalog.=)`;
const IS_NOT = sql`OPERATOR(pg_catalog.<>)`;

/** Precision and scale of `numeric(p,s)`, from a type and its modifier: the scale has eleven bits and a sign. */
function decimalOf(type: Sql, modifier: Sql): Sql {
  const bits = infix(modifier, "-", sql`4`);
  const precision = sql`((${bits} OPERATOR(pg_catalog.>>) 16) OPERATOR(pg_catalog.&) 65535)`;
  const scale = sql`(((${bits} OPERATOR(pg_catalog.&) 2047) OPERATOR(pg_catalog.#) 1024) OPERATOR(pg_catalog.-) 1024)`;
  return sql`CASE WHEN ${type} ${IS} 'pg_catalog.numeric'::pg_catalog.regtype AND ${infix(modifier, ">", sql`3`)}
  THEN pg_catalog.json_build_array(${precision}, ${scale}) END`;
}

/** The columns of a relation, of attribute `a`. */
const IS_COLUMN = sql`a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped`;

/**
 * The types of the columns, and those that they consist of: under a domain, in an array, a composite type or a range.
 * `UNION` reads each once: a look-up for each column read all types of the database for it, 417,000 pages for 30 columns.
 */
const PARTS = sql`parts (oid) AS (
  SELECT atttypid FROM attributes
  UNION SELECT part.oid FROM parts JOIN pg_catalog.pg_type b ON b.oid ${IS} parts.oid, LATERAL (
    SELECT b.typbasetype UNION ALL SELECT b.typelem
    UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute a
      WHERE b.typtype ${IS} 'c' AND a.attrelid ${IS} b.typrelid AND ${IS_COLUMN}
    UNION ALL SELECT r.rngsubtype FROM ranges r WHERE b.oid ${IS} r.rngtypid OR b.oid ${IS} r.multi
  ) part (oid) WHERE part.oid ${IS_NOT} 0)`;

/** PostgreSQL has multiranges since version 14. */
const RANGES = sql`ranges AS (
  SELECT r.rngtypid, r.rngsubtype, (pg_catalog.to_json(r) OPERATOR(pg_catalog.->>) 'rngmultitypid')::pg_catalog.oid AS multi
  FROM pg_catalog.pg_range r)`;

/** An extension's type: its operators and aggregates are in its schema. Those of enums, composites, arrays and ranges are PostgreSQL's. */
const IS_EXTENSIONS = sql`b.typtype ${IS} 'b' AND b.typcategory ${IS_NOT} 'A' AND b.typnamespace ${IS_NOT} 'pg_catalog'::pg_catalog.regnamespace`;

const TYPE_OF_B = sql`pg_catalog.json_build_object('oid', b.oid::pg_catalog.int8, 'name', b.typname,
  'schema', (SELECT CASE WHEN n.nspname ${IS_NOT} 'pg_catalog' THEN n.nspname END FROM pg_catalog.pg_namespace n WHERE n.oid ${IS} b.typnamespace),
  'isEnum', CASE WHEN b.typtype ${IS} 'e' THEN true END,
  'hasOwnOperators', CASE WHEN ${IS_EXTENSIONS} THEN true END,
  'ownAggregates', CASE WHEN ${IS_EXTENSIONS} THEN (SELECT pg_catalog.json_agg(p.proname) FROM pg_catalog.pg_proc p
    WHERE p.pronamespace ${IS} b.typnamespace AND p.prokind ${IS} 'a' AND p.pronargs ${IS} 1 AND p.proargtypes[0] ${IS} b.oid) END,
  'base', CASE WHEN b.typtype ${IS} 'd' THEN b.typbasetype::pg_catalog.int8 END,
  'decimal', ${decimalOf(sql`b.typbasetype`, sql`b.typtypmod`)},
  'element', CASE WHEN b.typcategory ${IS} 'A' AND b.typelem ${IS_NOT} 0 THEN b.typelem::pg_catalog.int8 END,
  'fields', CASE WHEN b.typtype ${IS} 'c' THEN (
    SELECT pg_catalog.json_agg(pg_catalog.json_build_object('name', a.attname, 'oid', a.atttypid::pg_catalog.int8) ORDER BY a.attnum)
    FROM pg_catalog.pg_attribute a WHERE a.attrelid ${IS} b.typrelid AND ${IS_COLUMN}) END,
  'range', (SELECT pg_catalog.json_build_object('bound', r.rngsubtype::pg_catalog.int8, 'isMulti', b.oid ${IS_NOT} r.rngtypid)
    FROM ranges r WHERE b.oid ${IS} r.rngtypid OR b.oid ${IS} r.multi))`;

const COLUMN_OF_A = sql`pg_catalog.json_build_object('name', a.attname, 'oid', a.atttypid::pg_catalog.int8,
  'decimal', ${decimalOf(sql`a.atttypid`, sql`a.atttypmod`)},
  'isNondeterministic', (SELECT true FROM pg_catalog.pg_collation l WHERE l.oid ${IS} a.attcollation AND NOT l.collisdeterministic))`;

/** The object that `describedRelation` reads. */
const described = (id: Sql): Sql => sql`pg_catalog.json_strip_nulls(pg_catalog.json_build_object('id', ${id},
      'moneyScale', pg_catalog.scale(0::pg_catalog.money::pg_catalog.numeric),
      'columns', (SELECT pg_catalog.json_agg(${COLUMN_OF_A} ORDER BY a.attnum) FROM attributes a),
      'types', (SELECT pg_catalog.json_agg(${TYPE_OF_B}) FROM parts JOIN pg_catalog.pg_type b ON b.oid ${IS} parts.oid)
    ))::pg_catalog.text`;

/** One row, with null where the relation does not exist: a text that `describedRelation` reads. */
export function describe([schema, name]: Relation): Statement {
  const body = sql`WITH RECURSIVE relation AS (
      SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid ${IS} c.relnamespace
      WHERE n.nspname ${IS} ${bind(() => schema)} AND c.relname ${IS} ${bind(() => name)}),
    attributes AS (
      SELECT a.* FROM relation JOIN pg_catalog.pg_attribute a ON a.attrelid ${IS} relation.oid WHERE ${IS_COLUMN}),
    ${RANGES}, ${PARTS}
    SELECT (SELECT ${described(sql`relation.oid::pg_catalog.text`)} FROM relation)`;
  return statement(plan(body, placeholder), undefined);
}

/** One row: the columns of a statement, which is planned and not run, as of a relation. */
export function describeSelect({ select, names }: DescribedSelect): Statement {
  const columns = names.map(
    (name, i) =>
      sql`(${constant(i)}, ${literal(name)}, pg_catalog.pg_typeof(q.${identifier(name)})::pg_catalog.oid, -1, 0::pg_catalog.oid)`,
  );
  const body = sql<never>`WITH RECURSIVE attributes AS (
      SELECT v.* FROM (SELECT) AS one LEFT JOIN (SELECT * FROM (${select}) AS every LIMIT 0) AS q ON true
      CROSS JOIN LATERAL (VALUES ${join(columns, ", ")}) AS v(attnum, attname, atttypid, atttypmod, attcollation)),
    ${RANGES}, ${PARTS}
    SELECT ${described(sql`''`)}`;
  return statement(plan(body, placeholder), undefined as never);
}

/** Number of a type. */
type Oid = number;

interface TypeRow {
  readonly oid: Oid;
  readonly name: string;
  readonly schema?: string;
  readonly isEnum?: true;
  readonly hasOwnOperators?: true;
  readonly ownAggregates?: readonly string[];
  /** The type under a domain. */
  readonly base?: Oid;
  /** Of a domain over `numeric(p,s)`. */
  readonly decimal?: ResultColumn["decimal"];
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
  const all = new TypeRows(types);
  return {
    id,
    columns: columns.map(({ oid, ...column }) => {
      const { oid: base, schema, isEnum, hasOwnOperators, ownAggregates } = all.base(oid);
      const type = all.typeOf(oid);
      const decimal = column.decimal ?? all.decimalOf(oid);
      return {
        ...column,
        ...type,
        oid: base,
        ...(decimal && { decimal }),
        ...(type.type === "money" && { moneyScale }),
        ...(schema !== undefined && { typeSchema: schema }),
        ...(isEnum && { isEnum }),
        ...(hasOwnOperators && { hasOwnOperators }),
        ...(ownAggregates && { ownAggregates }),
      };
    }),
  };
}

class TypeRows {
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

  /** Precision and scale of a domain, or of one under it. */
  decimalOf(oid: Oid): ResultColumn["decimal"] {
    const type = this.#types.get(oid);
    return type?.base === undefined ? undefined : (type.decimal ?? this.decimalOf(type.base));
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
