import { expect, it } from "vitest";
import { catalogueFrom, onlySkipped, told } from "./catalogues.js";

const named = { name: "filter", column: "status", operator: "=", type: "string" };
const model = (routewright: object, parameters: readonly object[] = [], columns: object = {}) => ({
  name: "api_orders",
  tags: ["production", "shop", "api:orders"],
  columns: { status: "text", ...columns },
  api: { allow_unfiltered: true, parameters },
  routewright: { filter: true, ...routewright },
});

it.each([
  ["no columns to compare", model({}), "`filters` names no column that an expression could compare."],
  [
    "a parameter of its name",
    model({ filters: ["status"] }, [named]),
    "A parameter has the name `filter`, by which callers send an expression.",
  ],
  [
    "a column of its name",
    model({ filters: ["status"] }, [], { filter: "text" }),
    "A column has the name `filter`, by which callers send an expression.",
  ],
])("`filter` with %s skips the model", (_, given, message) => {
  expect(told(onlySkipped(catalogueFrom([given])).problems)).toEqual([
    `$.meta.routewright.filter: ${message}`,
  ]);
});

it("a catalogue says which endpoints have it", () => {
  const { entries } = catalogueFrom([model({ filters: ["status"] })]);
  expect(entries.map(({ filter }) => filter)).toEqual([true]);
});
