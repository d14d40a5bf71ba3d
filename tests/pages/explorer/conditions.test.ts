/** Groups of conditions in the form: read from a text, written to it, and what a text means stays what it meant. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ValueKind } from "../../../runtime/core/model/column-types.js";
import type { Expression, FilterSubject, Literal } from "../../../runtime/filter/expression.js";
import { parse } from "../../../runtime/filter/parser.js";
import { filterText } from "../../../runtime/pages/explorer/condition-tree.js";
import { groupIn, isValue } from "../../../runtime/pages/explorer/read-conditions.js";
import {
  evaluate,
  expressions,
  type Name,
  randomRows,
  type TestExpression,
  textOf,
} from "../../core/request/filter-expressions.js";

const KINDS = {
  ...{ whole: "integer", amount: "number", ratio: "number", day: "date", at: "date-time" },
  ...{ label: "text", flag: "boolean", code: "uuid" },
} as const satisfies Record<string, ValueKind>;
const kindOf = (column: string): ValueKind => KINDS[column as Name];

/** What a text means to the evaluator. */
const meaningOf = (text: string): TestExpression =>
  tested(parse(text, { maxDepth: 100, maxValues: 10_000 }) as Expression);

function tested(expression: Expression): TestExpression {
  const value = ({ kind, text }: Literal) => (kind === "null" ? null : text);
  const subject = ({ column, part }: FilterSubject) => ({ column: column as Name, part });
  switch (expression.kind) {
    case "and":
    case "or":
      return { kind: expression.kind, of: expression.of.map(tested) };
    case "not":
      return { kind: "not", of: tested(expression.of) };
    case "flag":
      return { kind: "flag" };
    case "text":
      return { kind: "text", test: expression.test, value: expression.value.text };
    case "compare":
      return {
        ...{ kind: "compare", ...subject(expression.subject) },
        ...{ sign: expression.operator, value: value(expression.value) },
      };
    case "in":
      return { kind: "in", ...subject(expression.subject), values: expression.values.map(value) };
  }
}

describe("groups of a text", () => {
  it.each([
    ["a eq 1", "all", "a eq 1"],
    ["a eq 1 or b eq 'x'", "any", "a eq 1 or b eq 'x'"],
    ["not (a eq 1 or b eq '2')", "none", "not (a eq 1 or b eq '2')"],
    ["(a eq 1) and ((b lt '2' or c in (1,2)))", "all", "a eq 1 and (b lt '2' or c in (1, 2))"],
    ["not (a lt 1)", "none", "not (a lt 1)"],
    ["not (a eq 1)", "all", "a ne 1"],
    ["b in ('x', null, 'a,b')", "any", "b eq 'x' or b eq null or b eq 'a,b'"],
    ["year(d) ge 2026 and not contains(b, 'it''s')", "all", "year(d) ge 2026 and not contains(b, 'it''s')"],
    ["a gt null", "all", "a eq null and a ne null"],
    ['"odd name" eq 1', "all", '"odd name" eq 1'],
  ])("of %s are %s", (text, mode, again) => {
    const kinds = { a: "integer", b: "text", c: "integer", d: "date", "odd name": "integer" } as const;
    const kind = (column: string): ValueKind => kinds[column as keyof typeof kinds];
    const group = groupIn(text, kind, () => true);
    expect(group?.mode).toBe(mode);
    expect(filterText(group!, kind)).toBe(again);
  });

  it("are not shown where a part would be lost, or the text is none", () => {
    for (const text of ["label eq ''", "label eq ' x'", "label eq", "whole eq 1 and", "((whole eq 1)"])
      expect(
        groupIn(text, kindOf, () => true),
        text,
      ).toBeNull();
    expect(groupIn("flag", kindOf, ({ test }) => test !== "true")).toBeNull();
    expect(groupIn("  ", kindOf, () => true)).toEqual({ mode: "all", of: [] });
  });

  it("select the rows that random texts select", () => {
    const rows = randomRows(20, 3);
    const all = fc.sample(expressions(4), { numRuns: 150, seed: 75 });
    const shown = all.flatMap((expression) => {
      const group = groupIn(textOf(expression), kindOf, () => true);
      return group === null ? [] : [{ expression, again: meaningOf(filterText(group, kindOf)) }];
    });
    expect(shown.length).toBeGreaterThan(75);
    const idsOf = (expression: TestExpression) =>
      rows.filter((row) => evaluate(expression, row) === true).map(({ id }) => id);
    for (const { expression, again } of shown)
      expect(idsOf(again), textOf(expression)).toEqual(idsOf(expression));
  });
});

describe("a typed value", () => {
  it.each([
    ["integer", "5", true],
    ["integer", "5 or 1 eq 1", false],
    ["number", "1.50", true],
    ["number", "x", false],
    ["text", "it's", true],
    ["date", "2026-05-01", true],
    ["date", "1 May", false],
    ["uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", true],
    ["boolean", "true", true],
    ["boolean", "yes", false],
  ] as const)("of %s: %s is one: %s", (kind, text, isGood) => {
    expect(isValue(kind, text)).toBe(isGood);
  });
});
