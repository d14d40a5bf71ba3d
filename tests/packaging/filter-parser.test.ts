import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { PARSER, parserSource } from "../../scripts/filter/parser-source.js";

it("the parser of `filter` is the one that `npm run filter-parser` makes of its grammar", () => {
  expect(readFileSync(PARSER, "utf8")).toBe(parserSource());
});
