import { all, decimal, is, type Names, signed, sizedString, unsigned } from "./meaning.js";
import { DATE_TIME, DOUBLE, SINGLE, STRING } from "./meaning.js";

/**
 * Names that ClickHouse (some as SQL aliases) and PostgreSQL share. Where they differ, the wider reading counts:
 * `float` is single in ClickHouse and double in PostgreSQL.
 */
export const BOTH: Names = [
  ...all(["bool", "boolean"], is({ kind: "boolean", nullable: false })),
  ...all(["smallint", "int2"], is(signed(16))),
  ...all(["integer", "int", "int4"], is(signed(32))),
  ["bigint", is(signed(64))],
  ["tinyint", is(signed(8))],
  ["tinyint unsigned", is(unsigned(8))],
  ["smallint unsigned", is(unsigned(16))],
  ...all(["integer unsigned", "int unsigned"], is(unsigned(32))),
  ["bigint unsigned", is(unsigned(64))],
  ...all(["numeric", "decimal", "dec"], decimal),
  ...all(["float", "double", "double precision"], is(DOUBLE)),
  ["real", is(SINGLE)],
  ...all(["text", "varchar", "character varying", "char varying"], sizedString),
  ...all(["char", "character", "nchar", "national character", "national character varying"], sizedString),
  ["uuid", is({ kind: "string", format: "uuid", nullable: false })],
  ["date", is({ kind: "date", nullable: false })],
  ["timestamp", is(DATE_TIME)],
  ["time", is(STRING)],
  ["json", is({ kind: "json" })],
];
