import { PAGE_FIELDS, SORT_FIELDS } from "@routewright/runtime/model";
import type { ModelColumn } from "../../manifest/columns.js";
import { closest, formatValue } from "../../manifest/strings.js";
import { type ColumnType, parseColumnType } from "../column-types/column-type.js";
import { isUnordered } from "../column-types/type-facts.js";
import type { MetaApi, MetaPagination, MetaParameter, ValidationError, ValidPart } from "./schema.js";

type ValidParameter = ValidPart<MetaParameter>;

/**
 * The rules about several values of a `meta.api`, or about its model's columns (generator/docs/meta-api.md). Invalid
 * values are absent: `validateShape` reports them.
 */
export function validateRules(
  api: ValidPart<MetaApi>,
  columns: readonly TypedColumn[],
  hasFilters: boolean,
): ValidationError[] {
  const parameters = (api.parameters ?? []).map((parameter) => parameter ?? {});
  const names = columns.map(({ name }) => name);
  const sorted = [
    ...(api.sort ?? []).map((key, i) => [key?.column, `sort[${String(i)}].column`] as const),
    ...(api.sortable_fields ?? []).map((column, i) => [column, `sortable_fields[${String(i)}]`] as const),
  ];
  return [
    ...parameters.flatMap(({ column }, i) => unknownColumn(column, `parameters[${String(i)}].column`, names)),
    ...parameters.flatMap(({ type, operator, column }, i) =>
      type === "date" && (operator === undefined || TYPE_OF_OPERATOR[operator] === "date")
        ? notADateColumn(column, `parameters[${String(i)}].type`, columns)
        : [],
    ),
    ...parameters.flatMap((parameter, i) => pairingErrors(parameter, `parameters[${String(i)}]`)),
    ...duplicates(parameters),
    ...reservedNames(api, parameters),
    ...sorted.flatMap(([column, at]) => unknownColumn(column, at, names)),
    ...sorted.flatMap(([column, at]) => unorderedColumn(column, at, columns)),
    ...undeclaredFilters(api, parameters),
    ...(hasFilters ? [] : missingFilters(api)),
    ...(api.pagination ? swappedLimits(api.pagination) : []),
  ];
}

/** One error, as the list that a rule returns. */
function invalid(at: string, message: string, hint: string): ValidationError[] {
  return [{ at, message, hint }];
}

type TypedColumn = Pick<ModelColumn, "name" | "type">;

/**
 * A filter compares in its column's type, so a date needs a date, a timestamp, or a text, where ISO dates sort as text
 * (`lint` warns). Undeclared types are not checked.
 */
function notADateColumn(
  column: string | undefined,
  at: string,
  columns: readonly TypedColumn[],
): ValidationError[] {
  const type = columns.find(({ name }) => name === column)?.type ?? null;
  if (type === null || !isKnownOtherThanDate(type)) return [];
  return invalid(
    at,
    `The column ${formatValue(column)} is ${formatValue(type)}, neither a date nor a time.`,
    "Filter a date or timestamp column, or correct the column's data_type.",
  );
}

function isKnownOtherThanDate(type: string): boolean {
  const parsed = parseColumnType(type);
  if (parsed.kind === "unknown") return isUnordered(type);
  return parsed.kind !== "date" && parsed.kind !== "dateTime" && !isPlainText(parsed);
}

/** Text that may hold anything, so dates too. */
export function isPlainText(type: ColumnType): boolean {
  return type.kind === "string" && type.format === undefined;
}

function unorderedColumn(
  column: string | undefined,
  at: string,
  columns: readonly TypedColumn[],
): ValidationError[] {
  const type = columns.find(({ name }) => name === column)?.type ?? null;
  if (type === null || !isUnordered(type)) return [];
  const message = `The column ${formatValue(column)} is ${formatValue(type)}: values of this type have no order.`;
  return [{ at, message, hint: "Sort by another column." }];
}

const TYPE_OF_OPERATOR = {
  "=": "string",
  ILIKE: "string",
  ">=": "date",
  "<=": "date",
  IN: "string_list",
} as const;

function pairingErrors(parameter: ValidParameter, at: string): ValidationError[] {
  const { operator, type, case: letterCase, max_items, max_length } = parameter;
  if (type === undefined) return [];
  const expected = operator && TYPE_OF_OPERATOR[operator];
  const misplaced = (key: string, value: unknown, isTaken: boolean, of: string): ValidationError[] =>
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

function unknownColumn(
  column: string | undefined,
  at: string,
  columns: readonly string[],
): ValidationError[] {
  return column === undefined || columns.includes(column) ? [] : [{ at, ...noColumn(column, columns) }];
}

/** A column that the model does not list. */
export function noColumn(
  name: string,
  columns: readonly string[],
): Pick<ValidationError, "message" | "hint"> {
  const near = closest(name, columns);
  const hint = near
    ? `Did you mean ${formatValue(near)}? Otherwise list the column in the model's schema.yml, or pass --catalog.`
    : "List the column in the model's schema.yml, or pass --catalog with dbt's catalog.json.";
  return { message: `The model has no column ${formatValue(name)}.`, hint };
}

function duplicates(parameters: readonly ValidParameter[]): ValidationError[] {
  const names = parameters.map(({ name }) => name);
  const hint = "Give each parameter its own name.";
  return names.flatMap((name, i) => {
    if (name === undefined || names.indexOf(name) === i) return [];
    return invalid(`parameters[${String(i)}].name`, `The name ${formatValue(name)} is used twice.`, hint);
  });
}

/** A parameter cannot have the name of a pagination or sorting field of its endpoint. */
function reservedNames(
  { pagination, sortable_fields = [] }: ValidPart<MetaApi>,
  parameters: readonly ValidParameter[],
): ValidationError[] {
  const reserved: readonly (string | undefined)[] = [
    ...(pagination?.enabled ? PAGE_FIELDS : []),
    ...(sortable_fields.length > 0 ? SORT_FIELDS : []),
  ];
  return parameters.flatMap(({ name }, i) => {
    if (!reserved.includes(name)) return [];
    const message = `${formatValue(name)} is reserved for pagination or sorting.`;
    return [{ at: `parameters[${String(i)}].name`, message, hint: "Choose another name." }];
  });
}

function undeclaredFilters(
  api: ValidPart<MetaApi>,
  parameters: readonly ValidParameter[],
): ValidationError[] {
  const names = parameters.map(({ name }) => name);
  if (isInvalid(api, "parameters") || names.includes(undefined)) return [];
  const declared = names.map(formatValue).join(", ") || "none are declared";
  return (api.require_any_of ?? []).flatMap((name, i) => {
    if (name === undefined || names.includes(name)) return [];
    const hint = `Declare it, or use one of: ${declared}.`;
    return invalid(`require_any_of[${String(i)}]`, `No parameter is named ${formatValue(name)}.`, hint);
  });
}

function missingFilters(api: ValidPart<MetaApi>): ValidationError[] {
  if (isInvalid(api, "parameters") || isInvalid(api, "allow_unfiltered")) return [];
  if (api.allow_unfiltered || (api.parameters ?? []).length > 0) return [];
  return invalid(
    "allow_unfiltered",
    "It is false and no parameter is declared: every request would be refused.",
    "Declare a parameter, or write `allow_unfiltered: true`.",
  );
}

function isInvalid(api: ValidPart<MetaApi>, key: keyof MetaApi): boolean {
  return Object.hasOwn(api, key) && api[key] === undefined;
}

function swappedLimits({ enabled, default_limit, max_limit }: ValidPart<MetaPagination>): ValidationError[] {
  if (!enabled || default_limit === undefined || max_limit === undefined) return [];
  if (default_limit <= max_limit) return [];
  return invalid(
    "pagination.max_limit",
    `\`max_limit\` (${String(max_limit)}) is below \`default_limit\` (${String(default_limit)}).`,
    "Raise `max_limit` or lower `default_limit`.",
  );
}
