import { described, flag } from "@routewright/runtime/model";
import { HINT, NOUN } from "../../manifest/schema-errors.js";
import { formatValue } from "../../manifest/strings.js";
import type { DataType } from "../types/data-type.js";
import { dataTypeOf } from "../types/read-type.js";
import type { ApiSettings, RoutewrightContext } from "./context.js";
import { invalid, reading, type Setting, type SettingProblem } from "./setting.js";

const AT = "cursor";

/** Pages follow each other by cursor: the columns that identify a row. */
export const cursor: Setting<boolean, readonly string[] | undefined, RoutewrightContext> = {
  schema: {
    ...described("pages follow each other by cursor: no row is skipped or sent twice", flag, false),
    [NOUN]: "a boolean",
    [HINT]: "Write `cursor: true`.",
  },
  read: (value = false, context) => {
    const problems = value && context.api !== null ? cursorProblems(context.api, context) : [];
    return reading(problems, () => (value ? (keyOf(context.api, context) ?? undefined) : undefined));
  },
};

/** The proven key that the sort holds, else the shortest one. */
function keyOf(
  api: ApiSettings | null,
  { provenKeys, served }: RoutewrightContext,
): readonly string[] | null {
  const names = served.map(({ name }) => name);
  const sorted = (api?.sort ?? []).map(([column]) => column);
  const keys = provenKeys.filter((key) => key.every((column) => names.includes(column)));
  const [shortest] = keys.toSorted((a, b) => a.length - b.length);
  return keys.find((key) => key.every((column) => sorted.includes(column))) ?? shortest ?? null;
}

function cursorProblems(api: ApiSettings, context: RoutewrightContext): readonly SettingProblem[] {
  const taken = api.parameters.find(({ name }) => name === "cursor");
  if (taken !== undefined) {
    const message = `A parameter has the name ${formatValue(taken.name)}, which pages by cursor use.`;
    return invalid(AT, message, "Rename the parameter.");
  }
  if (api.pagination === null)
    return invalid(AT, "The endpoint has no pages.", "Set `meta.api.pagination`, or remove `cursor`.");
  return [...unprovenSort(api, context), ...inexactSort(api, context), ...hiddenSort(api, context)];
}

function unprovenSort({ sort }: ApiSettings, context: RoutewrightContext): readonly SettingProblem[] {
  if (keyOf(null, context) !== null) return [];
  const sorted = sort.map(([column]) => column);
  const of = sorted.length === 0 ? "" : ` by ${sorted.join(", ")}`;
  const key = sorted.length === 0 ? "the columns that identify a row" : `[${sorted.join(", ")}]`;
  const tests =
    sorted.length === 1
      ? `Add a \`unique\` and a \`not_null\` test to ${formatValue(sorted[0])}`
      : `Add a \`dbt_utils.unique_combination_of_columns\` test on ${key}`;
  return invalid(
    AT,
    `Nothing proves that the sort${of} is unique: rows that tie could be lost between pages.`,
    `${tests}, or such tests to other columns that identify a row. A test with \`where\`, \`warn\` or \`error_if\` proves nothing.`,
  );
}

/** A cursor holds the values of the sort columns as texts. */
function inexactSort(
  { sort, sortableFields }: ApiSettings,
  { columns }: RoutewrightContext,
): readonly SettingProblem[] {
  const sorted = new Set([...sort.map(([column]) => column), ...sortableFields]);
  return columns
    .filter(({ name, type }) => sorted.has(name) && isNested(dataTypeOf(type)))
    .map(({ name, type }) => ({
      at: AT,
      message: `The column ${formatValue(name)} is ${formatValue(type)}, whose values no cursor can hold.`,
      hint: "Take it out of `sort` and `sortable_fields`, or remove `cursor`.",
    }));
}

/** A cursor would show callers the values of a column that is not served. */
function hiddenSort(
  { sort, sortableFields }: ApiSettings,
  { served }: RoutewrightContext,
): readonly SettingProblem[] {
  const names = new Set([...sort.map(([column]) => column), ...sortableFields]);
  for (const { name } of served) names.delete(name);
  return [...names].map((name) => ({
    at: AT,
    message: `The model does not declare the column ${formatValue(name)}, and a cursor holds the values of the sort.`,
    hint: "Declare it in the model's schema.yml, take it out of `sort` and `sortable_fields`, or remove `cursor`.",
  }));
}

const isNested = ({ kind }: DataType): boolean => ["array", "map", "tuple", "record", "json"].includes(kind);
