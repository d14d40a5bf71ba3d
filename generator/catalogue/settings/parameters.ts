import {
  DEFAULT_MAX_ITEMS,
  DEFAULT_MAX_LENGTH,
  type Filter,
  operatorOf,
  PAGE_FIELDS,
  PARAMETER_OPERATORS,
  type ParameterType,
  parameterTypeOf,
  SORT_FIELDS,
} from "@routewright/runtime/model";
import {
  described,
  listOf,
  name,
  oneOf,
  openRecord,
  text,
  type ValueOf,
  wholeNumber,
} from "@routewright/runtime/model";
import { HINT } from "../../manifest/schema-errors.js";
import { formatValue } from "../../manifest/strings.js";
import type { DescribedParameter } from "../catalogue.js";
import { isPlainText } from "../types/json-schema.js";
import { dataTypeOf } from "../types/read-type.js";
import { filterRefusal, isUnordered } from "../types/type-facts.js";
import { type SettingColumn, typeOfColumn, unknownColumn } from "./setting-columns.js";
import { invalid, reading, type Setting, type SettingProblem, type ValidPart } from "./setting.js";

/** From 1 to the maximum of a PostgreSQL `integer`. */
export const positive = wholeNumber(1, 2_147_483_647);
export const column = { ...name, [HINT]: "Name a column of the model." };

const TYPES: readonly ParameterType[] = ["string", "date", "string_list"];

/** Which operators take a type. */
function takenBy(type: ParameterType): string {
  const names = PARAMETER_OPERATORS.filter((name) => parameterTypeOf(name) === type);
  const list = names.map((name) => `\`${name}\``).join(" and ");
  return `${list} ${names.length === 1 ? "takes" : "take"} \`${type}\``;
}

const parameter = openRecord(
  {
    name: { ...described("required; unique", name), [HINT]: "Name the query parameter." },
    column: described("required; a column of the model", column),
    operator: described("required", oneOf(PARAMETER_OPERATORS)),
    type: described(`required: ${TYPES.map(takenBy).join(", ")}`, oneOf(TYPES)),
  },
  {
    description: described("shown in the documentation", text),
    case: described(
      "for `string` and `string_list`: value and column are compared in that letter case",
      oneOf(["lower", "upper"]),
    ),
    max_items: described("for `string_list`: values in one request", positive, DEFAULT_MAX_ITEMS),
    max_length: described("characters of a value", positive, DEFAULT_MAX_LENGTH),
  },
);

type MetaParameter = ValueOf<typeof parameter>;
type ValidParameter = ValidPart<MetaParameter>;

export interface ParameterContext {
  readonly columns: readonly SettingColumn[];
  /** The `meta.api` that they belong to. */
  readonly api: {
    readonly pagination?: { readonly enabled?: boolean | undefined } | undefined;
    readonly sortable_fields?: readonly unknown[] | undefined;
  };
}

export const parameters: Setting<readonly MetaParameter[], readonly DescribedParameter[], ParameterContext> =
  {
    schema: described("what callers filter by", listOf(parameter), []),
    read: (value = [], context) => {
      const all = value.map((each): ValidParameter => each ?? {});
      const problems = [
        ...all.flatMap(({ column }, i) =>
          unknownColumn(column, `parameters[${String(i)}].column`, context.columns),
        ),
        ...all.flatMap((each, i) =>
          unfilteredColumn(each, `parameters[${String(i)}].column`, context.columns),
        ),
        ...all.flatMap((each, i) => notADateColumn(each, `parameters[${String(i)}].type`, context.columns)),
        ...all.flatMap((each, i) => pairingProblems(each, `parameters[${String(i)}]`)),
        ...duplicates(all),
        ...reservedNames(all, context),
      ];
      return reading(problems, () => (value as readonly MetaParameter[]).map(parameterOf));
    },
  };

/** A type whose values no filter compares, or whose text no pattern and no `case` can read. */
function unfilteredColumn(
  { column, operator, case: letterCase }: ValidParameter,
  at: string,
  columns: readonly SettingColumn[],
): readonly SettingProblem[] {
  const value = operator && operatorOf(operator).value;
  if (value === "day") return [];
  const type = typeOfColumn(column, columns);
  const asText = value === "pattern";
  const reason = filterRefusal(dataTypeOf(type), asText || letterCase !== undefined);
  if (reason === null) return [];
  const message = `The column ${formatValue(column)} is ${formatValue(type)}, which this parameter cannot filter: ${reason}.`;
  return invalid(at, message, "Filter another column, or cast it to a text in the model's SQL.");
}

/**
 * A filter compares in its column's type, so a date needs a date, a timestamp, or a text, where ISO dates sort as text
 * (`lint` warns). Undeclared types are not checked.
 */
function notADateColumn(
  { type, operator, column }: ValidParameter,
  at: string,
  columns: readonly SettingColumn[],
): readonly SettingProblem[] {
  if (type !== "date" || (operator !== undefined && parameterTypeOf(operator) !== "date")) return [];
  const stored = typeOfColumn(column, columns);
  if (stored === null || !isKnownOtherThanDate(stored)) return [];
  return invalid(
    at,
    `The column ${formatValue(column)} is ${formatValue(stored)}, neither a date nor a time.`,
    "Filter a date or timestamp column, or correct the column's data_type.",
  );
}

function isKnownOtherThanDate(type: string): boolean {
  const parsed = dataTypeOf(type);
  if (parsed.kind === "unknown") return isUnordered(parsed);
  return parsed.kind !== "date" && parsed.kind !== "timestamp" && !isPlainText(parsed);
}

function pairingProblems(parameter: ValidParameter, at: string): readonly SettingProblem[] {
  const { operator, type, case: letterCase, max_items, max_length } = parameter;
  if (type === undefined) return [];
  const expected = operator && parameterTypeOf(operator);
  const misplaced = (key: string, value: unknown, isTaken: boolean, of: string): readonly SettingProblem[] =>
    value === undefined || isTaken
      ? []
      : invalid(`${at}.${key}`, `\`${key}\` does not apply to ${of}.`, `Leave \`${key}\` out.`);
  return [
    ...(expected === undefined || type === expected
      ? []
      : invalid(
          `${at}.type`,
          `The operator ${formatValue(operator)} does not take ${formatValue(type)}.`,
          `Write type ${formatValue(expected)}, or use an operator that takes ${formatValue(type)}.`,
        )),
    ...misplaced("case", letterCase, type !== "date", "a date"),
    ...misplaced("max_length", max_length, type !== "date", "a date"),
    ...misplaced("max_items", max_items, type === "string_list", formatValue(type)),
  ];
}

function duplicates(parameters: readonly ValidParameter[]): readonly SettingProblem[] {
  const names = parameters.map(({ name }) => name);
  const hint = "Give each parameter its own name.";
  return names.flatMap((name, i) => {
    if (name === undefined || names.indexOf(name) === i) return [];
    return invalid(`parameters[${String(i)}].name`, `The name ${formatValue(name)} is used twice.`, hint);
  });
}

/** A parameter cannot have the name of a pagination or sorting field of its endpoint. */
function reservedNames(
  parameters: readonly ValidParameter[],
  { api: { pagination, sortable_fields = [] } }: ParameterContext,
): readonly SettingProblem[] {
  const reserved: readonly (string | undefined)[] = [
    ...(pagination?.enabled ? PAGE_FIELDS : []),
    ...(sortable_fields.length > 0 ? SORT_FIELDS : []),
  ];
  return parameters.flatMap(({ name }, i) => {
    if (!reserved.includes(name)) return [];
    const message = `${formatValue(name)} is reserved for pagination or sorting.`;
    return invalid(`parameters[${String(i)}].name`, message, "Choose another name.");
  });
}

function parameterOf(meta: MetaParameter): DescribedParameter {
  const { name, column, description = "" } = meta;
  return { name, column, ...filterOf(meta), ...(description.trim() !== "" && { description }) };
}

/** Operator and type match: `pairingProblems` has checked it. */
function filterOf({ operator, case: letterCase, max_items, max_length }: MetaParameter): Filter {
  const text = {
    ...(letterCase !== undefined && { case: letterCase }),
    ...(max_length !== undefined && { maxLength: max_length }),
  };
  const type = parameterTypeOf(operator);
  const list = type === "string_list" && max_items !== undefined ? { maxItems: max_items } : {};
  return { operator, type, ...(type !== "date" && text), ...list } as Filter;
}
