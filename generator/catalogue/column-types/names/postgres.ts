import { nullable } from "../kinds.js";
import { all, DATE_TIME, DOUBLE, is, type Names, signed, SINGLE, sizedString, STRING } from "./meaning.js";

const INTERVAL_FIELDS = ["year", "month", "day", "hour", "minute", "second"];

/** `interval`, `interval day`, `interval day to second`: the fields do not change the row. */
const INTERVALS = ["", ...INTERVAL_FIELDS, ...INTERVAL_FIELDS.flatMap(spansFrom)].map((fields) =>
  `interval ${fields}`.trimEnd(),
);

/**
 * PostgreSQL's own names, with the shape `to_json` gives their values. It quotes whatever is not a number, a
 * boolean or JSON, so that money, intervals, ranges and oids are strings. Left out, hence unknown: `point`, which
 * ClickHouse has too and shows otherwise, and PostGIS, whose JSON depends on its version.
 */
export const POSTGRES: Names = [
  ...all(["smallserial", "serial2"], is(signed(16))),
  ...all(["serial", "serial4"], is(signed(32))),
  ...all(["int8", "bigserial", "serial8"], is(signed(64))),
  ["float4", is(SINGLE)],
  ["float8", is(DOUBLE)],
  ["bpchar", sizedString],
  ...all(["timestamptz", "timestamp with time zone", "timestamp without time zone"], is(DATE_TIME)),
  ["jsonb", is({ kind: "json" })],
  ["hstore", is({ kind: "map", value: nullable(STRING), nullable: false })],
  ...all(["citext", "name", "bytea", "money", "xml", "oid", "ltree", "jsonpath"], is(STRING)),
  ...all(["inet", "cidr", "macaddr", "macaddr8", "tsvector", "tsquery"], is(STRING)),
  ...all(["bit", "varbit", "bit varying"], is(STRING)),
  ...all(["timetz", "time with time zone", "time without time zone", ...INTERVALS], is(STRING)),
  ...all(["int4range", "int8range", "numrange", "daterange", "tsrange", "tstzrange"], is(STRING)),
  ...all(["int4multirange", "int8multirange", "nummultirange"], is(STRING)),
  ...all(["datemultirange", "tsmultirange", "tstzmultirange"], is(STRING)),
];

function spansFrom(field: string, index: number): readonly string[] {
  return INTERVAL_FIELDS.slice(index + 1).map((end) => `${field} to ${end}`);
}
