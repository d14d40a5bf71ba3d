import { VALUES, type ValueKind } from "../core/model/column-types.js";
import { type HttpError, httpError, isHttpError, type Result } from "../core/model/errors.js";
import { LITERALS, type LiteralKind } from "../core/model/filter-text.js";
import { DEFAULT_MAX_LENGTH } from "../core/model/limits.js";
import { type ColumnCondition, type Condition, FILTER, isDate, isGroup } from "../core/model/query.js";
import { PARSERS } from "../core/warehouse/filter-values.js";
import {
  type Compared,
  compares,
  either,
  type ComparedColumns,
  group,
  isAny,
  isNull,
  on,
} from "./comparisons.js";
import { isInParts } from "./date-parts.js";
import type { Comparing, Expression, Literal, Order, FilterSubject, TextTest } from "./expression.js";

/**
 * The condition of an expression, without `not` around `and` and `or`. A row is selected where it is true, so only what is negated needs
 * to tell false from unknown: comparisons with null are false, and a test of a text that is null is unknown, as OData has it.
 */
export function conditionOf(
  expression: Expression,
  scope: ComparedColumns,
  isNegated = false,
): Result<Condition> {
  switch (expression.kind) {
    case "and":
    case "or":
      return groupOf(expression, scope, isNegated);
    case "not":
      return conditionOf(expression.of, scope, !isNegated);
    case "text":
      return textTest(expression, scope, isNegated);
    case "flag":
      return flag(expression.subject, scope, isNegated);
    case "compare":
    case "in": {
      const condition = comparison(expression, scope);
      return isNegated && !isHttpError(condition) ? negated(condition) : condition;
    }
  }
}

function groupOf(
  { kind, of }: Expression & { readonly kind: "and" | "or" },
  scope: ComparedColumns,
  isNegated: boolean,
): Result<Condition> {
  const members: Condition[] = [];
  for (const each of of) {
    const member = conditionOf(each, scope, isNegated);
    if (isHttpError(member)) return member;
    members.push(member);
  }
  return group(isNegated ? OPPOSITE[kind] : kind, ...members);
}

const OPPOSITE = { and: "or", or: "and" } as const;

/** Of conditions that are true or false. */
function negated(condition: Condition): Condition {
  if (!isGroup(condition)) return isNullTest(condition) ? opposite(condition) : group("not", condition);
  const { operator, of } = condition;
  const [first] = of;
  if (operator === "not" && first !== undefined) return first;
  return operator === "not" ? condition : group(OPPOSITE[operator], ...of.map(negated));
}

const isNullTest = ({ operator }: ColumnCondition): boolean => operator === "null";

const opposite = (condition: ColumnCondition): ColumnCondition => ({
  ...condition,
  value: condition.value === "true" ? "false" : "true",
});

/** The column of a subject. */
function compared({ column, at }: FilterSubject, scope: ComparedColumns): Result<Compared> {
  const filter = scope.get(column);
  if (filter !== undefined) return { ...filter, at };
  const names = [...scope.keys()].join(", ") || "none";
  return httpError("filterColumn", { position: at, names });
}

/** A test of a null is unknown: its opposite does not select the row either. */
function textTest(
  { test, subject, value }: TextTest,
  scope: ComparedColumns,
  isNegated: boolean,
): Result<Condition> {
  const column = compared(subject, scope);
  if (isHttpError(column)) return column;
  if (column.type !== "text") return expected(subject.at, `a column of texts, which ${column.column} is not`);
  const problem = textProblem(value);
  if (problem !== null) return problem;
  const condition = on(column, { operator: test, type: "value", value: value.text });
  return isNegated ? group("and", group("not", condition), isNull(column, false)) : condition;
}

function flag(subject: FilterSubject, scope: ComparedColumns, isNegated: boolean): Result<Condition> {
  const column = compared(subject, scope);
  if (isHttpError(column)) return column;
  if (column.type !== "boolean")
    return expected(subject.at, `a comparison of ${column.column}, which is no boolean`);
  return on(column, { operator: "=", type: "string", value: String(!isNegated) });
}

function comparison(
  expression: Comparing | (Expression & { readonly kind: "in" }),
  scope: ComparedColumns,
): Result<Condition> {
  const { subject } = expression;
  const column = compared(subject, scope);
  if (isHttpError(column)) return column;
  const values = expression.kind === "in" ? expression.values : [expression.value];
  const problem = valuesProblem(column, subject, values);
  if (problem !== null) return problem;
  const sign = expression.kind === "in" ? "eq" : expression.operator;
  if (sign !== "eq" && sign !== "ne" && !VALUES[column.type].ordered)
    return expected(subject.at, `eq, ne or in for ${column.column}, whose values have no order`);
  const texts = values.filter(({ kind }) => kind !== "null").map(({ text }) => text);
  const hasNull = texts.length < values.length;
  if (sign === "ne") return negated(equals(column, subject, texts, hasNull));
  return sign === "eq" ? equals(column, subject, texts, hasNull) : ordered(column, subject, sign, texts);
}

/** Whether a column, or its part, is one of the values, or null. */
function equals(
  column: Compared,
  { part }: FilterSubject,
  texts: readonly string[],
  hasNull: boolean,
): Condition {
  const [first] = texts;
  const known =
    first === undefined ? [] : [part === null ? isAny(column, texts) : isInParts(column, part, "eq", texts)];
  return either([...known, ...(hasNull ? [isNull(column, true)] : [])]);
}

/** No value is less or greater than null. */
function ordered(
  column: Compared,
  { part }: FilterSubject,
  sign: Exclude<Order, "eq">,
  [text]: readonly string[],
): Condition {
  if (text === undefined) return group("or");
  return part === null ? compares(column, sign, text) : isInParts(column, part, sign, [text]);
}

const PART_LITERALS = {
  year: { kind: "integer", text: VALUES.integer.text },
  month: { kind: "integer", text: VALUES.integer.text },
  day: { kind: "integer", text: VALUES.integer.text },
  date: { kind: "date", text: VALUES.date.text },
} as const;

function valuesProblem(
  column: Compared,
  { part, at }: FilterSubject,
  values: readonly Literal[],
): HttpError | null {
  const isTime = column.type === "date" || column.type === "date-time";
  if (part !== null && !isTime)
    return expected(at, `a column of dates or times, which ${column.column} is not`);
  const kinds: readonly LiteralKind[] =
    part === null ? (LITERALS[column.type] ?? ["text"]) : [PART_LITERALS[part].kind];
  for (const value of values) {
    if (value.kind === "null") continue;
    const isValue = part === "date" ? isDate : (text: string) => PARSERS[column.type](text) !== undefined;
    if (!kinds.includes(value.kind) || ((part === null || part === "date") && !isValue(value.text)))
      return expected(value.at, `${part === null ? textOf(column.type) : PART_LITERALS[part].text}, or null`);
    const problem = textProblem(value);
    if (problem !== null) return problem;
  }
  return null;
}

const textOf = (type: ValueKind): string =>
  LITERALS[type] === undefined ? `${VALUES[type].text} in quotes` : VALUES[type].text;

function textProblem({ kind, text }: Literal): HttpError | null {
  const isLong = kind === "text" && Array.from(text).length > DEFAULT_MAX_LENGTH;
  return isLong ? httpError("valueTooLong", { name: FILTER, max: DEFAULT_MAX_LENGTH }) : null;
}

function expected(position: number, text: string): HttpError {
  return httpError("filterValue", { position, expected: text });
}
