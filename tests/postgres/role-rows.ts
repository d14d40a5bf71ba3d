import pg from "pg";
import { VALUES } from "../../runtime/core/model/column-types.js";
import { typeNamed } from "../../runtime/core/model/database-types.js";
import { VIEWS } from "./setting-views.js";

/** What the role itself finds in a view, shown as the API shows it. */
export interface Found {
  readonly view: string;
  /** Null where the view fails. */
  readonly rows: readonly FoundRow[] | null;
  /** The ids of rows in the order of `v`, of those that each filter finds, and of those whose text has a 1. */
  readonly sorted: readonly number[] | null;
  readonly filtered: Readonly<Record<string, readonly number[]>> | null;
  readonly like: readonly number[] | null;
}

export interface FoundRow {
  readonly id: number;
  readonly v: unknown;
}

/** Settings in which values are shown; they come after the values are made. */
const SHOWN = `SET timezone = 'UTC'; SET datestyle = 'ISO, YMD'; SET intervalstyle = 'postgres'; SET extra_float_digits = 1; SET bytea_output = 'hex';
  SET quote_all_identifiers = off; SET standard_conforming_strings = on`;

/** Rows by whose values filters find others. */
export const ASKED = [9, 14] as const;

/** The values of a filter as SQL compares them, by the operator that a request names. */
const FILTERS: Readonly<Record<string, string>> = {
  eq: "= ANY",
  gte: ">= ANY",
  lt: "< ANY",
  in: "= ANY",
};

/** Whether the API sorts and filters by a type, as PostgreSQL writes it, and by which operators. */
export const isCompared = (type: string): boolean => (typeNamed(type)?.value ?? "other") !== "other";
export const operatorsOf = (type: string): readonly string[] =>
  VALUES[typeNamed(type)?.value ?? "other"].ordered ? Object.keys(FILTERS) : ["eq", "in"];

/** The rows that the role finds: its own session makes the values, each kept as a value, and shows them afterwards. */
export async function roleRows(
  url: string,
  schema: string,
  types: ReadonlyMap<string, string>,
): Promise<readonly Found[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    // As in sessions of the API: compiling took most of the time under some settings.
    await client.query("SET jit = off");
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
          ? await shown(client, view, types.get(view) ?? "")
          : { view, rows: null, sorted: null, filtered: null, like: null },
      );
    return found;
  } finally {
    await client.end();
  }
}

async function shown(client: pg.Client, view: string, type: string): Promise<Found> {
  const value = type === "money" ? "v::numeric" : "v";
  const idsOf = (rest: string): string => `ARRAY(SELECT id FROM o_${view} ${rest})`;
  const filters = operatorsOf(type).map((operator) => {
    const asked = operator === "in" ? ASKED : ASKED.slice(0, 1);
    const values = `ARRAY(SELECT v FROM o_${view} WHERE id IN (${asked.join(", ")}))`;
    return `'${operator}', ${idsOf(`WHERE v ${FILTERS[operator] ?? ""} (${values}) ORDER BY id`)}`;
  });
  const { rows } = await client.query<{ found: Omit<Found, "view"> }>(
    `SELECT json_build_object('rows', (SELECT json_agg(json_build_object('id', id, 'v', ${value}) ORDER BY id) FROM o_${view}),
       'sorted', ${isCompared(type) ? idsOf("ORDER BY v, id") : "NULL"},
       'filtered', ${isCompared(type) ? `json_build_object(${filters.join(", ")})` : "NULL"},
       'like', ${type === "text" ? idsOf("WHERE v ILIKE '%1%' ORDER BY id") : "NULL"}) AS found`,
  );
  return { view, ...rows[0]!.found };
}
