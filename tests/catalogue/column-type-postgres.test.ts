import { describe, expect, it } from "vitest";
import {
  type ColumnType,
  nullable,
  parseColumnType,
} from "../../generator/catalogue/column-types/column-type.js";

const integer = (min: bigint, max: bigint): ColumnType => ({
  kind: "integer",
  min: `${min}`,
  max: `${max}`,
  nullable: false,
});
const signed = (bits: bigint) => integer(-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n);
const digits = (count: bigint) => integer(1n - 10n ** count, 10n ** count - 1n);
const decimal = (precision: number, scale: number): ColumnType => ({
  kind: "decimal",
  precision,
  scale,
  nullable: false,
});
const array = (of: ColumnType): ColumnType => ({ kind: "array", of, nullable: false });
const map = (value: ColumnType): ColumnType => ({ kind: "map", value, nullable: false });
const sized = (maxLength: number): ColumnType => ({ kind: "string", maxLength, nullable: false });
const formatted = (format: "uuid" | "ipv4" | "ipv6"): ColumnType => ({
  kind: "string",
  format,
  nullable: false,
});
const string: ColumnType = { kind: "string", nullable: false };
const double: ColumnType = { kind: "float", bits: 64, nullable: false };
const single: ColumnType = { kind: "float", bits: 32, nullable: false };
const boolean: ColumnType = { kind: "boolean", nullable: false };
const date: ColumnType = { kind: "date", nullable: false };
const dateTime: ColumnType = { kind: "dateTime", nullable: false };
const openDecimal: ColumnType = { kind: "decimal", nullable: false };
const json: ColumnType = { kind: "json" };
const unknown: ColumnType = { kind: "unknown" };

type Cases = readonly (readonly [text: string, type: ColumnType])[];

function reads(behaviour: string, cases: Cases): void {
  describe(behaviour, () => {
    it.each(cases)("%s", (text, type) => {
      expect(parseColumnType(text)).toEqual(type);
    });
  });
}

reads("reads PostgreSQL's numbers", [
  ["smallint", signed(16n)],
  ["int2", signed(16n)],
  ["integer", signed(32n)],
  ["int", signed(32n)],
  ["int4", signed(32n)],
  ["bigint", signed(64n)],
  ["int8", signed(64n)],
  ["smallserial", signed(16n)],
  ["serial", signed(32n)],
  ["bigserial", signed(64n)],
  ["numeric", openDecimal],
  ["decimal", openDecimal],
  ["numeric(10,2)", decimal(10, 2)],
  ["numeric(20,0)", digits(20n)],
  ["numeric(6)", digits(6n)],
  ["numeric(2,-3)", integer(-99_000n, 99_000n)],
  ["numeric(3,5)", decimal(3, 5)],
  ["real", single],
  ["float4", single],
  ["double precision", double],
  ["float8", double],
  ["float", double],
  ["float(24)", double],
]);

reads("reads PostgreSQL's other types", [
  ["boolean", boolean],
  ["bool", boolean],
  ["text", string],
  ["varchar", string],
  ["varchar(255)", sized(255)],
  ["character varying(10)", sized(10)],
  ["char(3)", sized(3)],
  ["character(3)", sized(3)],
  ["bpchar", string],
  ["citext", string],
  ["public.citext", string],
  ["name", string],
  ["uuid", formatted("uuid")],
  ["date", date],
  ["timestamp", dateTime],
  ["timestamp(3)", dateTime],
  ["timestamp without time zone", dateTime],
  ["timestamp(3) with time zone", dateTime],
  ["timestamptz", dateTime],
  ["timestamptz(6)", dateTime],
  ["time", string],
  ["time(3) with time zone", string],
  ["timetz", string],
  ["interval", string],
  ["interval day to second(3)", string],
  ["json", json],
  ["jsonb", json],
  ["hstore", map(nullable(string))],
  ["bytea", string],
  ["inet", string],
  ["cidr", string],
  ["money", string],
  ["xml", string],
  ["int4range", string],
  ["bit varying(8)", string],
  ["geometry(Point, 4326)", unknown],
]);

reads("reads PostgreSQL's arrays", [
  ["text[]", array(nullable(string))],
  ["numeric(20,0)[]", array(nullable(digits(20n)))],
  ["integer[3][3]", array(array(nullable(signed(32n))))],
  ["timestamp with time zone []", array(nullable(dateTime))],
  ["text ARRAY", array(nullable(string))],
  ["integer array[4]", array(nullable(signed(32n)))],
  ["varchar(10) array", array(nullable(sized(10)))],
  ["_text", array(nullable(string))],
  ["_numeric(10,2)", array(nullable(decimal(10, 2)))],
  ["jsonb[]", array(json)],
  ["my_enum[]", array(unknown)],
  ["int[][][][][][][]", unknown],
  ["int[a]", unknown],
  ["[]", unknown],
]);
