import {
  type ColumnFilter,
  described,
  flag,
  listOf,
  PAGE_FIELDS,
  REQUIRE_FRESH,
  SORT_FIELDS,
  text,
  type ValueKind,
} from "@routewright/runtime/model";
import { HINT, NOUN } from "../../manifest/schema-errors.js";
import { formatValue } from "../../manifest/strings.js";
import type { DataType } from "../types/data-type.js";
import { jsonKindOf } from "../types/json-schema.js";
import { dataTypeOf } from "../types/read-type.js";
import { databaseTypeOf } from "../types/type-facts.js";
import type { RoutewrightContext } from "./context.js";
import { unknownColumn } from "./setting-columns.js";
import { invalid, reading, type Setting, type SettingProblem } from "./setting.js";

const LIST_HINT = "List names of columns: `filters: [amount, created_at]`.";

/** Columns that callers filter by with operators. */
export const filters: Setting<readonly string[], readonly ColumnFilter[], RoutewrightContext> = {
  schema: {
    ...described(
      "callers filter by these columns with operators: `?amount_usd[gte]=10`",
      listOf({ ...text, [NOUN]: "the name of a column", [HINT]: LIST_HINT }),
    ),
    [NOUN]: "a list of columns",
    [HINT]: LIST_HINT,
  },
  read: (value = [], context) => {
    const isTaken = takenNames(context);
    const problems = value.flatMap((name, i) =>
      name === undefined ? [] : filterProblems(name, `filters[${String(i)}]`, context, isTaken),
    );
    return reading(problems, () =>
      [...new Set(value as readonly string[])].map((name): ColumnFilter => {
        const type = context.columns.find((column) => column.name === name)?.type ?? null;
        return { column: name, type: filterTypeOf(type, context.hasOwnTypes) ?? "text" };
      }),
    );
  },
};

/** Callers combine conditions on these columns in one expression. */
export const filter: Setting<boolean, true | undefined, RoutewrightContext> = {
  schema: {
    ...described(
      "callers combine conditions on the columns of `filters`: `?filter=status eq 'paid' or amount gt 10`",
      flag,
      false,
    ),
    [NOUN]: "a boolean",
    [HINT]: "Write `filter: true` beside `filters`.",
  },
  read: (value = false, context) =>
    reading(value ? expressionProblems(context) : [], () => value || undefined),
};

function expressionProblems({ api, routewright, columns }: RoutewrightContext): readonly SettingProblem[] {
  const names = Array.isArray(routewright["filters"]) ? routewright["filters"] : [];
  if (names.length === 0) {
    const message = "`filters` names no column that an expression could compare.";
    return invalid("filter", message, "List columns: `filters: [status, amount]`.");
  }
  const isParameter = api?.parameters.some(({ name }) => name === "filter") === true;
  const isColumn = columns.some(({ name }) => name === "filter");
  if (!isParameter && !isColumn) return [];
  const message = `${isParameter ? "A parameter" : "A column"} has the name \`filter\`, by which callers send an expression.`;
  return invalid(
    "filter",
    message,
    isParameter ? "Rename the parameter." : "Rename the column, or remove `filter: true`.",
  );
}

/** Whether the operators of a column would have the name of another parameter. */
function takenNames({ api, routewright }: RoutewrightContext): (name: string) => boolean {
  const reserved: readonly string[] = [
    ...PAGE_FIELDS,
    ...SORT_FIELDS,
    ...(routewright["cursor"] === true ? ["cursor"] : []),
    "fields",
    REQUIRE_FRESH,
  ];
  const parameters = api?.parameters.map(({ name }) => name) ?? [];
  return (name) =>
    /[[\]]/.test(name) || reserved.includes(name) || parameters.some((each) => each.startsWith(`${name}[`));
}

function filterProblems(
  name: string,
  at: string,
  { columns, hasOwnTypes }: RoutewrightContext,
  isTaken: (name: string) => boolean,
): readonly SettingProblem[] {
  const column = columns.find((each) => each.name === name);
  if (column === undefined) return unknownColumn(name, at, columns);
  if (isTaken(name)) {
    const message = `Operators of ${formatValue(name)} would have the name of another parameter, or the name holds a bracket.`;
    return invalid(at, message, "Leave the column out, or rename that parameter.");
  }
  if (filterTypeOf(column.type, hasOwnTypes) !== null) return [];
  const message =
    column.type === null
      ? `The column ${formatValue(name)} has no type, which decides the operators.`
      : `The column ${formatValue(name)} is ${formatValue(column.type)}, which has no operators${reasonOf(column.type)}.`;
  const hint = "Filter columns of numbers, dates, times, texts, booleans or UUIDs, with their `data_type`.";
  return invalid(at, message, hint);
}

function reasonOf(type: string): string {
  const { refusal } = databaseTypeOf(dataTypeOf(type)) ?? {};
  return refusal === undefined ? "" : `: ${refusal}`;
}

/** A type by its own name: an enum, a domain or an extension's. Of one that PostgreSQL does not sort, texts compare. */
const OWN_NAME = /^(?:"[^"]+"|[a-z_][\w$]*)(?:\s*\.\s*(?:"[^"]+"|[a-z_][\w$]*))?$/i;

/** The values that operators compare; null for a type without. `hasOwnTypes`: whether the database lets users make types. */
export function filterTypeOf(text: string | null, hasOwnTypes: boolean): ValueKind | null {
  const type: DataType = dataTypeOf(text);
  const known = databaseTypeOf(type);
  const { value = "text", refusal } = known ?? {};
  if (refusal !== undefined) return null;
  switch (jsonKindOf(type)) {
    case "integer":
      return "integer";
    case "decimal":
    case "float":
      return "number";
    case "date":
      return "date";
    case "boolean":
      return "boolean";
    case "dateTime":
      return "date-time";
    case "enum":
      return "text";
    case "string":
      return value;
    default:
      return hasOwnTypes && known === null && OWN_NAME.test(text ?? "") ? "text" : null;
  }
}
