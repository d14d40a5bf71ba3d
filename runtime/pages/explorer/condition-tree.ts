/** Groups of conditions, as the form shows them, and the text of the parameter `filter` (runtime/docs/filter.md). */
import type { ValueKind } from "../../core/model/column-types.js";
import { filterLiteral, filterName } from "../../core/model/filter-text.js";
import type { FilterSubject } from "../../filter/expression.js";
import { splitList } from "./values.js";

/** How the members of a group hold together; the last two are negated. */
export type GroupMode = "all" | "any" | "not all" | "none";

export interface TestGroup {
  mode: GroupMode;
  of: (TestGroup | ColumnTest)[];
}

/** A test of a column, or of a part of its dates. `value` is a text as it is typed, of a list with commas. */
export interface ColumnTest {
  column: string;
  part: FilterSubject["part"];
  test: TestName;
  value: string;
}

export type TestName =
  | ("eq" | "ne" | "gt" | "ge" | "lt" | "le" | "in" | "not in")
  | ("contains" | "startswith" | "endswith" | "not contains" | "not startswith" | "not endswith")
  | ("null" | "not null" | "true" | "false");

/** Tests without a value. */
export const UNARY: readonly TestName[] = ["null", "not null", "true", "false"];

/** Tests whose value is a list. */
const LISTS: readonly TestName[] = ["in", "not in"];

/** The values of a test, as they are typed. */
export function typedValues({ test, value }: ColumnTest): readonly string[] {
  const values = LISTS.includes(test) ? splitList(value) : [value.trim()];
  return values.filter((text) => text !== "");
}

export const isGroup = (member: TestGroup | ColumnTest): member is TestGroup => "of" in member;

/** The tests of a column that is compared as such values. */
export function testsOf(
  kind: ValueKind,
  part: FilterSubject["part"],
  isOrdered: boolean,
): readonly TestName[] {
  return [
    ...(["eq", "ne"] as const),
    ...(isOrdered || part !== null ? (["gt", "ge", "lt", "le"] as const) : []),
    ...(["in", "not in"] as const),
    ...(kind === "text" ? TEXT_TESTS : []),
    ...(kind === "boolean" ? (["true", "false"] as const) : []),
    ...(["null", "not null"] as const),
  ];
}

const TEXT_TESTS = [
  ...(["contains", "startswith", "endswith"] as const),
  ...(["not contains", "not startswith", "not endswith"] as const),
] as const;

/** What the values of a column, or of a part of its dates, are. */
export function kindOf(kind: ValueKind, part: FilterSubject["part"]): ValueKind {
  if (part === null) return kind;
  return part === "date" ? "date" : "integer";
}

/** Finds what a column's values are; a column that is not open is a text. */
export type KindOf = (column: string) => ValueKind;

/** The text of a group; empty where no test in it is complete. */
export function filterText(group: TestGroup, kindOfColumn: KindOf): string {
  return textOfGroup(group, kindOfColumn)?.text ?? "";
}

/** A text, and whether it needs parentheses beside another one. */
interface Written {
  readonly text: string;
  readonly joint: "and" | "or" | null;
}

function textOfGroup({ mode, of }: TestGroup, kindOfColumn: KindOf): Written | null {
  const joint = mode === "all" || mode === "not all" ? "and" : "or";
  const members = of.flatMap(
    (each) => (isGroup(each) ? textOfGroup(each, kindOfColumn) : textOfTest(each, kindOfColumn)) ?? [],
  );
  const [only] = members;
  if (only === undefined) return null;
  const inner: Written =
    members.length === 1 ? only : { text: members.map(inParts(joint)).join(` ${joint} `), joint };
  return mode === "all" || mode === "any" ? inner : { text: `not (${inner.text})`, joint: null };
}

const inParts =
  (outer: "and" | "or") =>
  ({ text, joint }: Written): string =>
    joint === null || joint === outer ? text : `(${text})`;

function textOfTest(tested: ColumnTest, kindOfColumn: KindOf): Written | null {
  const { column, part, test } = tested;
  const kind = kindOf(kindOfColumn(column), part);
  const name = part === null ? filterName(column) : `${part}(${filterName(column)})`;
  const literals = typedValues(tested).map((text) => filterLiteral(kind, text));
  const [literal] = literals;
  if (literal === undefined && !UNARY.includes(test)) return null;
  const text = TEXTS[test](name, literal ?? "", literals.join(", "));
  return { text, joint: null };
}

const negatedText =
  (test: string) =>
  (name: string, literal: string): string =>
    `not ${test}(${name}, ${literal})`;

const TEXTS: Readonly<Record<TestName, (name: string, literal: string, all: string) => string>> = {
  eq: (name, literal) => `${name} eq ${literal}`,
  ne: (name, literal) => `${name} ne ${literal}`,
  gt: (name, literal) => `${name} gt ${literal}`,
  ge: (name, literal) => `${name} ge ${literal}`,
  lt: (name, literal) => `${name} lt ${literal}`,
  le: (name, literal) => `${name} le ${literal}`,
  in: (name, _, all) => `${name} in (${all})`,
  "not in": (name, _, all) => `not (${name} in (${all}))`,
  contains: (name, literal) => `contains(${name}, ${literal})`,
  startswith: (name, literal) => `startswith(${name}, ${literal})`,
  endswith: (name, literal) => `endswith(${name}, ${literal})`,
  "not contains": negatedText("contains"),
  "not startswith": negatedText("startswith"),
  "not endswith": negatedText("endswith"),
  null: (name) => `${name} eq null`,
  "not null": (name) => `${name} ne null`,
  true: (name) => name,
  false: (name) => `not ${name}`,
};
