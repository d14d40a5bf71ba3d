import { literal, type Sql, sql } from "../sql.js";
import type { Selection } from "../../model/query.js";
import type { ResultColumn } from "../warehouse.js";
import { databaseType } from "./filter-types.js";

/** The text of a value, as responses show it. No setting of the session changes it. */
export function textOf(value: Sql<Selection>, column: ResultColumn): Sql<Selection> {
  if (PLAIN.has(column.type)) return value;
  const { text } = databaseType(column);
  return text === "made" ? madeText(value, column) : sql`${value}::text`;
}

/** Types whose operators take texts. */
const PLAIN: ReadonlySet<string> = new Set(["text", "varchar", "bpchar", "citext"]);

function madeText(value: Sql<Selection>, { type, timezone = "UTC" }: ResultColumn): Sql<Selection> {
  switch (type) {
    case "date":
      return sql`CASE WHEN isfinite(${value}) THEN to_char(${value}, 'YYYY-MM-DD') END`;
    case "timestamp":
      return timezone === "UTC"
        ? timeText(value)
        : timeText(sql`(${value} AT TIME ZONE ${literal(timezone)} AT TIME ZONE 'UTC')`);
    case "timestamptz":
      return timeText(sql`(${value} AT TIME ZONE 'UTC')`);
    case "interval":
      return intervalText(value);
    case "bytea":
      return sql`'\\x' || encode(${value}, 'hex')`;
    case "inet":
      // A cast would add the `/32` of a host.
      return sql`abbrev(${value})`;
    default:
      // The text of floats depends on `extra_float_digits`, that of money on its locale.
      return sql`${value}::numeric::text`;
  }
}

/** As PostgreSQL writes it under its default settings: `1 year 2 mons -3 days +04:05:06.5`. */
function intervalText(value: Sql<Selection>): Sql<Selection> {
  const part = (unit: Sql, name: Sql): Sql<Selection> => {
    const number = sql`extract(${unit} FROM ${value})::int`;
    return sql`CASE ${number} WHEN 0 THEN NULL WHEN 1 THEN '1 ' || ${name} ELSE ${number} || ' ' || ${name} || 's' END`;
  };
  const date = sql`${part(sql`year`, sql`'year'`)}, ${part(sql`month`, sql`'mon'`)}, ${part(sql`day`, sql`'day'`)}`;
  const seconds = sql`(extract(hour FROM ${value}) * 3600 + extract(minute FROM ${value}) * 60 + extract(second FROM ${value}))`;
  const clock = sql`lpad(trunc(abs(${seconds}) / 3600)::text, greatest(2, length(trunc(abs(${seconds}) / 3600)::text)), '0') || to_char(abs(extract(minute FROM ${value})), 'FM":"00') || regexp_replace(to_char(abs(extract(second FROM ${value})), 'FM":"00.000000'), '[.]?0*$', '')`;
  const sign = sql`CASE WHEN ${seconds} < 0 THEN '-' WHEN extract(day FROM ${value}) < 0 OR extract(day FROM ${value}) = 0 AND extract(month FROM ${value}) < 0 THEN '+' ELSE '' END`;
  const time = sql`CASE WHEN ${seconds} <> 0 OR ${value} = interval '0' THEN ${sign} || ${clock} END`;
  return sql`CASE WHEN isfinite(${value}) THEN concat_ws(' ', ${date}, ${time}) END`;
}

function timeText(value: Sql<Selection>): Sql<Selection> {
  const text = sql`to_char(${value}, 'YYYY-MM-DD"T"HH24:MI:SS.US')`;
  return sql`CASE WHEN isfinite(${value}) THEN regexp_replace(${text}, '[.]?0*$', '') || 'Z' END`;
}
