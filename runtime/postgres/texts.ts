import { join, literal, type Sql, sql } from "../core/warehouse/sql.js";
import type { Selection } from "../core/model/query.js";
import type { ResultColumn } from "../core/warehouse/warehouse.js";
import { databaseType } from "./filter-types.js";
import { infix } from "./qualified-names.js";

/** The text of a value, as responses show it. No setting of the session changes it. */
export function textOf(value: Sql<Selection>, column: ResultColumn): Sql<Selection> {
  if (PLAIN.has(column.type)) return value;
  const { text } = databaseType(column);
  return text === "made" ? madeText(value, column) : sql`${value}::pg_catalog.text`;
}

/** Types whose operators take texts. */
const PLAIN: ReadonlySet<string> = new Set(["text", "varchar", "bpchar", "citext"]);

function madeText(value: Sql<Selection>, { type, timezone = "UTC" }: ResultColumn): Sql<Selection> {
  switch (type) {
    case "date":
      return ifFinite(value, sql`pg_catalog.to_char(${value}, 'YYYY-MM-DD')`);
    case "timestamp":
      return timezone === "UTC"
        ? timeText(value)
        : timeText(sql`(${value} AT TIME ZONE ${literal(timezone)} AT TIME ZONE 'UTC')`);
    case "timestamptz":
      return timeText(sql`(${value} AT TIME ZONE 'UTC')`);
    case "interval":
      return intervalText(value);
    case "bytea":
      return infix(sql`'\\x'`, "||", sql`pg_catalog.encode(${value}, 'hex')`);
    case "inet":
      // A cast would add the `/32` of a host.
      return sql`pg_catalog.abbrev(${value})`;
    default:
      // The text of floats depends on `extra_float_digits`, that of money on its locale.
      return sql`${value}::pg_catalog.numeric::pg_catalog.text`;
  }
}

/** A date or a time, in UTC. */
export function inUtc(
  value: Sql<Selection>,
  { type, timezone }: Pick<ResultColumn, "type" | "timezone">,
): Sql<Selection> {
  if (type === "timestamptz") return sql`(${value} AT TIME ZONE 'UTC')`;
  if (type !== "timestamp") return sql`(${value})::pg_catalog.timestamp`;
  return timezone === undefined
    ? value
    : sql`(${value} AT TIME ZONE ${literal(timezone)} AT TIME ZONE 'UTC')`;
}

/** As PostgreSQL writes it under its default settings: `1 year 2 mons -3 days +04:05:06.5`. */
function intervalText(value: Sql<Selection>): Sql<Selection> {
  const part = (unit: Sql, name: Sql): Sql<Selection> => {
    const number = sql`extract(${unit} FROM ${value})::pg_catalog.int4`;
    const isNumber = (of: Sql): Sql<Selection> => infix(number, "=", of);
    return sql`CASE WHEN ${isNumber(sql`0`)} THEN NULL WHEN ${isNumber(sql`1`)} THEN pg_catalog.concat('1 ', ${name}) ELSE pg_catalog.concat(${number}, ' ', ${name}, 's') END`;
  };
  const parts = [
    part(sql`year`, sql`'year'`),
    part(sql`month`, sql`'mon'`),
    part(sql`day`, sql`'day'`),
    clockText(value),
  ];
  return ifFinite(value, sql`pg_catalog.concat_ws(' ', ${join(parts, ", ")})`);
}

/** The time of an interval with its sign; null where it is zero beside other parts. */
function clockText(value: Sql<Selection>): Sql<Selection> {
  const unit = (name: Sql): Sql<Selection> => sql`extract(${name} FROM ${value})`;
  const [hours, minutes, seconds] = [unit(sql`hour`), unit(sql`minute`), unit(sql`second`)];
  const [days, months] = [unit(sql`day`), unit(sql`month`)];
  const inSeconds = (of: Sql<Selection>, factor: Sql): Sql<Selection> => infix(of, "*", factor);
  const all = infix(infix(inSeconds(hours, sql`3600`), "+", inSeconds(minutes, sql`60`)), "+", seconds);
  const whole = sql`pg_catalog.trunc(${infix(sql`pg_catalog.abs(${all})`, "/", sql`3600`)})::pg_catalog.text`;
  const hour = sql`pg_catalog.lpad(${whole}, greatest(2, pg_catalog.length(${whole})), '0')`;
  const minute = sql`pg_catalog.to_char(pg_catalog.abs(${minutes}), 'FM":"00')`;
  const second = sql`pg_catalog.regexp_replace(pg_catalog.to_char(pg_catalog.abs(${seconds}), 'FM":"00.000000'), '[.]?0*$', '')`;
  const isAfterNegative = sql`${infix(days, "<", sql`0`)} OR ${infix(days, "=", sql`0`)} AND ${infix(months, "<", sql`0`)}`;
  const sign = sql`CASE WHEN ${infix(all, "<", sql`0`)} THEN '-' WHEN ${isAfterNegative} THEN '+' ELSE '' END`;
  const isShown = sql`${infix(all, "<>", sql`0`)} OR ${infix(value, "=", sql`'0'`)}`;
  return sql`CASE WHEN ${isShown} THEN pg_catalog.concat(${sign}, ${hour}, ${minute}, ${second}) END`;
}

function timeText(value: Sql<Selection>): Sql<Selection> {
  const text = sql`pg_catalog.to_char(${value}, 'YYYY-MM-DD"T"HH24:MI:SS.US')`;
  return ifFinite(value, infix(sql`pg_catalog.regexp_replace(${text}, '[.]?0*$', '')`, "||", sql`'Z'`));
}

function ifFinite(value: Sql<Selection>, text: Sql<Selection>): Sql<Selection> {
  return sql`CASE WHEN pg_catalog.isfinite(${value}) THEN ${text} END`;
}
