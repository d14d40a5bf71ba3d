/** A decimal whose name says its digits, in ClickHouse, is one of these digits when a copy is loaded. */
import { expect, it } from "vitest";
import { dataTypeOf } from "../../generator/catalogue/types/read-type.js";
import { conversionOf } from "../../generator/ddl/clickhouse/conversions.js";

it.each([
  ["Float64", "Decimal64(3)", "Decimal(18, 3)"],
  ["Int64", "Decimal32(2)", "Decimal(9, 2)"],
  ["Decimal(38, 10)", "Decimal128(4)", "Decimal(38, 4)"],
])("%s to %s is checked as %s is", (from, byName, byDigits) => {
  const conditionOf = (to: string) => conversionOf("x", dataTypeOf(from), dataTypeOf(to))?.isExact;
  expect(conditionOf(byName)).toEqual(conditionOf(byDigits));
  expect(conditionOf(byName)).toContain("x");
});
