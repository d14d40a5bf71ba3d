/** Reads the groups of conditions of a text of the parameter `filter`. */
import type { ValueKind } from "../../core/model/column-types.js";
import { filterLiteral, LITERALS } from "../../core/model/filter-text.js";
import { FILTER_LIMITS } from "../../core/model/limits.js";
import type { Expression, FilterSubject, Literal } from "../../filter/expression.js";
import { parse } from "../../filter/parser.js";
import {
  type ColumnTest,
  type TestGroup,
  filterText,
  isGroup,
  type KindOf,
  type TestName,
} from "./condition-tree.js";

/** Whether a typed value is one of the column's kind, as the grammar has it. */
export function isValue(kind: ValueKind, text: string): boolean {
  const found = parsed(`x eq ${filterLiteral(kind, text)}`);
  return found?.kind === "compare" && (LITERALS[kind] ?? ["text"]).includes(found.value.kind);
}

function parsed(text: string): Expression | null {
  try {
    return parse(text, { maxDepth: FILTER_LIMITS.depth, maxValues: FILTER_LIMITS.values }) as Expression;
  } catch {
    return null;
  }
}

/**
 * The groups of a text; an empty one is a group without members. Null where it is no expression, where groups would lose a part of it, such
 * as an empty text, and where a column has no such test.
 */
export function groupIn(
  text: string,
  kindOfColumn: KindOf,
  hasTest: (tested: ColumnTest) => boolean,
): TestGroup | null {
  const found = readGroup(text);
  if (found === null || !found.of.every((member) => isShown(member, hasTest))) return null;
  const again = readGroup(filterText(found, kindOfColumn));
  return JSON.stringify(again) === JSON.stringify(found) ? found : null;
}

function isShown(member: TestGroup | ColumnTest, hasTest: (tested: ColumnTest) => boolean): boolean {
  return isGroup(member) ? member.of.every((each) => isShown(each, hasTest)) : hasTest(member);
}

function readGroup(text: string): TestGroup | null {
  if (text.trim() === "") return { mode: "all", of: [] };
  const expression = parsed(text);
  if (expression === null) return null;
  const member = memberOf(expression);
  return isGroup(member) ? member : { mode: "all", of: [member] };
}

function memberOf(expression: Expression): TestGroup | ColumnTest {
  switch (expression.kind) {
    case "and":
    case "or":
      return joined(expression.kind === "and" ? "all" : "any", expression.of.map(memberOf));
    case "not":
      return negated(memberOf(expression.of));
    case "flag":
      return { ...subjectOf(expression.subject), test: "true", value: "" };
    case "text":
      return { ...subjectOf(expression.subject), test: expression.test, value: expression.value.text };
    case "compare":
      return compared(expression.subject, expression.operator, expression.value);
    case "in":
      return listed(expression.subject, expression.values);
  }
}

/** Parentheses around members of the same kind mean nothing. */
function joined(mode: "all" | "any", members: readonly (TestGroup | ColumnTest)[]): TestGroup {
  return { mode, of: members.flatMap((each) => (isGroup(each) && each.mode === mode ? each.of : [each])) };
}

const subjectOf = ({ column, part }: FilterSubject) => ({ column, part });

function compared(
  subject: FilterSubject,
  operator: "eq" | "ne" | "gt" | "ge" | "lt" | "le",
  { kind, text }: Literal,
): TestGroup | ColumnTest {
  if (kind !== "null") return { ...subjectOf(subject), test: operator, value: text };
  if (operator === "eq" || operator === "ne")
    return { ...subjectOf(subject), test: operator === "eq" ? "null" : "not null", value: "" };
  // Nothing is less or greater than null.
  return {
    mode: "all",
    of: (["null", "not null"] as const).map((test) => ({ ...subjectOf(subject), test, value: "" })),
  };
}

/** A list that cannot be typed with commas is a group of its values. */
function listed(subject: FilterSubject, values: readonly Literal[]): TestGroup | ColumnTest {
  const isPlain = values.every(
    ({ kind, text }) => kind !== "null" && text !== "" && text === text.trim() && !text.includes(","),
  );
  if (isPlain) return { ...subjectOf(subject), test: "in", value: values.map(({ text }) => text).join(", ") };
  return { mode: "any", of: values.map((value) => compared(subject, "eq", value)) };
}

const OPPOSITES: Partial<Record<TestName, TestName>> = {
  ...{ eq: "ne", ne: "eq", in: "not in", "not in": "in", null: "not null", "not null": "null" },
  ...{ contains: "not contains", startswith: "not startswith", endswith: "not endswith" },
  ...{ "not contains": "contains", "not startswith": "startswith", "not endswith": "endswith" },
  ...{ true: "false", false: "true" },
};

const OPPOSITE_MODES = { all: "not all", any: "none", "not all": "all", none: "any" } as const;

function negated(member: TestGroup | ColumnTest): TestGroup | ColumnTest {
  if (isGroup(member)) return { ...member, mode: OPPOSITE_MODES[member.mode] };
  const test = OPPOSITES[member.test];
  return test === undefined ? { mode: "none", of: [member] } : { ...member, test };
}
