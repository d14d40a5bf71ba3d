/** Column types as tests write them. */
import { describe, expect, it } from "vitest";
import { type ColumnType, parseColumnType } from "../../generator/catalogue/column-types/column-type.js";

export const integer = (min: bigint, max: bigint): ColumnType => ({
  kind: "integer",
  min: `${min}`,
  max: `${max}`,
  nullable: false,
});
export const signed = (bits: bigint) => integer(-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n);
export const unsigned = (bits: bigint) => integer(0n, 2n ** bits - 1n);
export const digits = (count: bigint) => integer(1n - 10n ** count, 10n ** count - 1n);
export const decimal = (precision: number, scale: number): ColumnType => ({
  kind: "decimal",
  precision,
  scale,
  nullable: false,
});
export const array = (of: ColumnType): ColumnType => ({ kind: "array", of, nullable: false });
export const map = (value: ColumnType): ColumnType => ({ kind: "map", value, nullable: false });
export const tuple = (...of: ColumnType[]): ColumnType => ({ kind: "tuple", of, nullable: false });
export const record = (fields: Record<string, ColumnType>): ColumnType => ({
  kind: "record",
  fields: Object.entries(fields).map(([name, type]) => ({ name, type })),
  nullable: false,
});
export const enumeration = (...values: string[]): ColumnType => ({ kind: "enum", values, nullable: false });
export const sized = (maxLength: number): ColumnType => ({ kind: "string", maxLength, nullable: false });
export const formatted = (format: "uuid" | "ipv4" | "ipv6"): ColumnType => ({
  kind: "string",
  format,
  nullable: false,
});
export const string: ColumnType = { kind: "string", nullable: false };
export const double: ColumnType = { kind: "float", bits: 64, nullable: false };
export const single: ColumnType = { kind: "float", bits: 32, nullable: false };
export const boolean: ColumnType = { kind: "boolean", nullable: false };
export const date: ColumnType = { kind: "date", nullable: false };
export const dateTime: ColumnType = { kind: "dateTime", nullable: false };
export const openDecimal: ColumnType = { kind: "decimal", nullable: false };
export const json: ColumnType = { kind: "json" };
export const unknown: ColumnType = { kind: "unknown" };

type Cases = readonly (readonly [text: string, type: ColumnType])[];

/** A case per type text: what it is read as. */
export function reads(behaviour: string, cases: Cases): void {
  describe(behaviour, () => {
    it.each(cases)("%s", (text, type) => {
      expect(parseColumnType(text)).toEqual(type);
    });
  });
}
