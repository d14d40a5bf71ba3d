import type { Relation } from "@routewright/runtime/model";
import type { RunQuery } from "../verify/relations.js";
import { clickhouseIdentifier } from "../verify/clickhouse-relations.js";
import { clickhouseFacts, postgresFacts } from "./statistics.js";

/** Groups of a relation. Estimated. */
export interface GroupCounts {
  readonly rows: number;
  /** Values of each group by itself. */
  readonly each: readonly number[];
  readonly together: number;
}

/** A group as an expression over the columns of its relation. */
export interface CountedGroup {
  readonly expr: string;
  readonly sql: string;
  /** Whether the values are days of a time. */
  readonly isDay: boolean;
}

/** Null where nothing says how many rows there are. */
export type CountGroups = (
  relation: Relation,
  groups: readonly CountedGroup[],
) => Promise<GroupCounts | null>;

/** What a database says of relations and their groups. */
export interface RelationGroups {
  /** Types by the names of a relation's columns; null where it is not there. */
  readonly typesOf: (relation: Relation) => ReadonlyMap<string, string> | null;
  readonly countGroups: CountGroups;
}

const SPAN = `
  SELECT extract(epoch FROM last::timestamp - first::timestamp)::float8 / 86400 AS days FROM (
    SELECT (s.histogram_bounds::text::text[])[1] AS first, (s.histogram_bounds::text::text[])[array_length(s.histogram_bounds::text::text[], 1)] AS last
    FROM pg_catalog.pg_stats s WHERE s.schemaname = $1 AND s.tablename = $2 AND s.attname = $3
    ORDER BY s.inherited DESC LIMIT 1) AS bounds`;

/** By what PostgreSQL's statistics say of each column: as if no group depended on another. */
export function postgresGroups(query: RunQuery): CountGroups {
  return async (relation, groups) => {
    const { rows, columns } = await postgresFacts(query, relation);
    if (rows === null) return null;
    const each: number[] = [];
    for (const { expr, isDay } of groups) {
      const distinct = columns.get(expr)?.distinct ?? rows;
      const [span] = (isDay ? await query(SPAN, [...relation, expr]) : []) as readonly {
        readonly days: number | null;
      }[];
      each.push(Math.max(1, Math.min(distinct, span?.days == null ? distinct : Math.ceil(span.days) + 1)));
    }
    return { rows, each, together: Math.min(rows, product(each)) };
  };
}

const product = (counts: readonly number[]): number => counts.reduce((all, each) => all * each, 1);

/** Rows that are read, since ClickHouse keeps no statistics of values. */
const SAMPLE_ROWS = 1_000_000;

/** By the groups of the rows that ClickHouse reads first; of further rows as many have groups of their own. */
export function clickhouseGroups(query: RunQuery): CountGroups {
  return async (relation, groups) => {
    const { rows } = await clickhouseFacts(query, relation);
    if (rows === null) return null;
    const all = groups.map(({ sql }) => sql);
    const counted = [...all, `tuple(${all.join(", ")})`].map((sql) => `toFloat64(uniq(${sql}))`);
    const table = relation.map(clickhouseIdentifier).join(".");
    const [line] = (await query(
      `SELECT toFloat64(count()) AS read, [${counted.join(", ")}] AS counts FROM (SELECT * FROM ${table} LIMIT ${String(SAMPLE_ROWS)})`,
    )) as readonly string[];
    if (line === undefined) return null;
    const { read, counts } = JSON.parse(line) as {
      readonly read: number;
      readonly counts: readonly number[];
    };
    const share = read === 0 ? 1 : Math.max(1, rows / read);
    return { rows, each: counts.slice(0, -1), together: (counts.at(-1) ?? 1) * share };
  };
}
