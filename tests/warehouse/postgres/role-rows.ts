import pg from "pg";
import { VIEWS } from "./setting-views.js";

/** What the role itself finds in a view, shown as the API shows it. */
export interface Found {
  readonly view: string;
  /** Null where the view fails. */
  readonly rows: readonly FoundRow[] | null;
  /** The ids of rows in the order of `v`, of those from a row's `v`, and of those whose text has a 1. */
  readonly sorted: readonly number[];
  readonly from: readonly number[];
  readonly like: readonly number[];
}

export interface FoundRow {
  readonly id: number;
  readonly v: unknown;
}

/** Settings in which values are shown; they come after the values are made. */
const SHOWN = `SET timezone = 'UTC'; SET datestyle = 'ISO, YMD'; SET intervalstyle = 'postgres'; SET extra_float_digits = 1; SET bytea_output = 'hex';
  SET quote_all_identifiers = off; SET standard_conforming_strings = on`;

/** The rows that the role finds: its own session makes the values, each kept as a value, and shows them afterwards. */
export async function roleRows(
  url: string,
  schema: string,
  types: ReadonlyMap<string, string>,
  from: number,
): Promise<readonly Found[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const made = new Set<string>();
    for (const view of VIEWS)
      await client.query(`CREATE TEMP TABLE o_${view} AS SELECT * FROM "${schema}".${view}`).then(
        () => made.add(view),
        () => undefined,
      );
    await client.query(SHOWN);
    const found: Found[] = [];
    for (const view of VIEWS)
      found.push(
        made.has(view)
          ? await shown(client, view, types.get(view) ?? "", from)
          : { view, rows: null, sorted: [], from: [], like: [] },
      );
    return found;
  } finally {
    await client.end();
  }
}

async function shown(client: pg.Client, view: string, type: string, from: number): Promise<Found> {
  const value = type === "money" ? "v::numeric" : "v";
  const idsOf = (rest: string): string => `ARRAY(SELECT id FROM o_${view} ${rest})`;
  const sorted = SORTED.has(type) ? idsOf("ORDER BY v, id") : "NULL";
  const filtered = FILTERED.has(type)
    ? idsOf(`WHERE v >= (SELECT v FROM o_${view} WHERE id = ${String(from)}) ORDER BY id`)
    : "NULL";
  const like = type === "text" ? idsOf("WHERE v ILIKE '%1%' ORDER BY id") : "NULL";
  const { rows } = await client.query<{ found: Omit<Found, "view"> }>(
    `SELECT json_build_object('rows', (SELECT json_agg(json_build_object('id', id, 'v', ${value}) ORDER BY id) FROM o_${view}),
       'sorted', ${sorted}, 'from', ${filtered}, 'like', ${like}) AS found`,
  );
  return { view, ...rows[0]!.found };
}

/** Types by which the API sorts with a cursor, and those by whose values it filters, as PostgreSQL writes them. */
export const SORTED: ReadonlySet<string> = new Set([
  ...["text", "integer", "bigint", "numeric", "double precision", "real", "boolean", "date", "money"],
  ...["timestamp with time zone", "timestamp without time zone", "interval", "time without time zone"],
  ...["bytea"],
]);
export const FILTERED: ReadonlySet<string> = new Set([
  ...["text", "integer", "bigint", "numeric", "double precision", "real", "date"],
  ...["timestamp with time zone", "timestamp without time zone"],
]);
