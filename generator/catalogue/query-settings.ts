import {
  type ColumnFilter,
  type ColumnFilterType,
  type Endpoint,
  PAGE_FIELDS,
  SORT_FIELDS,
} from "@routewright/runtime/model";
import { isObject, objectOr, textsOf } from "../manifest/json.js";
import type { Model } from "../manifest/model.js";
import type { ModelColumn } from "../manifest/columns.js";
import { formatValue } from "../manifest/strings.js";
import { type Complaint, complaint } from "./catalogue.js";
import { type ColumnType, parseColumnType } from "./column-types/column-type.js";
import { noColumn } from "./meta-api/rules.js";
import type { ApiSettings } from "./meta-api/schema.js";

/** What `meta.routewright` lets callers ask for (generator/docs/meta-routewright.md, Queries). */
export type QuerySettings = Pick<Endpoint, "cursor" | "fields" | "filters" | "rows">;

/** The settings of a model without problems. */
export function querySettingsOf(model: Model, settings: ApiSettings | null): QuerySettings {
  const { routewright, columns } = model;
  const filters = [...new Set(textsOf(routewright["filters"]))].map((name): ColumnFilter => {
    const type = columns.find((column) => column.name === name)?.type ?? null;
    return { column: name, type: filterTypeOf(type) ?? "text" };
  });
  const rows = objectOr(routewright["rows"]);
  const cursor = routewright["cursor"] === true ? cursorKeyOf(model, settings) : null;
  return {
    ...(cursor !== null && { cursor }),
    ...(filters.length > 0 && { filters }),
    ...(routewright["fields"] === true && { fields: true as const }),
    ...(typeof rows["column"] === "string" && { rows: { column: rows["column"], equals: "org" as const } }),
  };
}

const namesIn = (columns: readonly ModelColumn[]): readonly string[] => columns.map(({ name }) => name);

/** Problems of the settings; `settings` is null where `meta.api` has problems of its own. */
export function querySettingsProblems(model: Model, settings: ApiSettings | null): readonly Complaint[] {
  return [
    ...filterProblems(model, settings),
    ...fieldsProblems(model, settings),
    ...rowsProblems(model),
    ...cursorProblems(model, settings),
  ];
}

function fieldsProblems({ routewright, columns }: Model, settings: ApiSettings | null): readonly Complaint[] {
  const { fields = false } = routewright;
  const path = "$.meta.routewright.fields";
  if (typeof fields !== "boolean")
    return complaint(path, `${formatValue(fields)} is not a boolean.`, "Write `fields: true`.");
  if (!fields) return [];
  if (columns.length === 0)
    return complaint(path, "The model declares no columns to choose from.", "List them in its schema.yml.");
  if (settings?.parameters.some(({ name }) => name === "fields") !== true) return [];
  const message = "A parameter has the name `fields`, by which callers choose columns.";
  return [{ path, message, hint: "Rename the parameter." }];
}

/** The proven key that the sort holds, else the shortest one. */
function cursorKeyOf({ provenKeys, columns }: Model, settings: ApiSettings | null): readonly string[] | null {
  const names = columns.map(({ name }) => name);
  const sorted = (settings?.sort ?? []).map(([column]) => column);
  const keys = provenKeys.filter((key) => key.every((column) => names.includes(column)));
  const [shortest] = keys.toSorted((a, b) => a.length - b.length);
  return keys.find((key) => key.every((column) => sorted.includes(column))) ?? shortest ?? null;
}

const CURSOR = "$.meta.routewright.cursor";

function cursorProblems(model: Model, settings: ApiSettings | null): readonly Complaint[] {
  const { cursor = false } = model.routewright;
  const path = CURSOR;
  if (typeof cursor !== "boolean")
    return complaint(path, `${formatValue(cursor)} is not a boolean.`, "Write `cursor: true`.");
  if (!cursor || settings === null) return [];
  const taken = settings.parameters.find(({ name }) => name === "cursor");
  if (taken !== undefined) {
    const message = `A parameter has the name ${formatValue(taken.name)}, which pages by cursor use.`;
    return [{ path, message, hint: "Rename the parameter." }];
  }
  if (settings.pagination === null)
    return complaint(path, "The endpoint has no pages.", "Set `meta.api.pagination`, or remove `cursor`.");
  return [...unprovenSort(model, settings), ...inexactSort(model, settings)];
}

function unprovenSort(model: Model, { sort }: ApiSettings): readonly Complaint[] {
  if (cursorKeyOf(model, null) !== null) return [];
  const sorted = sort.map(([column]) => column);
  const of = sorted.length === 0 ? "" : ` by ${sorted.join(", ")}`;
  const key = sorted.length === 0 ? "the columns that identify a row" : `[${sorted.join(", ")}]`;
  const tests =
    sorted.length === 1
      ? `Add a \`unique\` and a \`not_null\` test to ${formatValue(sorted[0])}`
      : `Add a \`dbt_utils.unique_combination_of_columns\` test on ${key}`;
  return complaint(
    CURSOR,
    `Nothing proves that the sort${of} is unique: rows that tie could be lost between pages.`,
    `${tests}, or such tests to other columns that identify a row. A test with \`where\`, \`warn\` or \`error_if\` proves nothing.`,
  );
}

/** A cursor holds the values of the sort columns as texts. */
function inexactSort({ columns }: Model, { sort, sortableFields }: ApiSettings): readonly Complaint[] {
  const sorted = new Set([...sort.map(([column]) => column), ...sortableFields]);
  return columns
    .filter(({ name, type }) => sorted.has(name) && isNested(parseColumnType(type)))
    .map(({ name, type }) => ({
      path: CURSOR,
      message: `The column ${formatValue(name)} is ${formatValue(type)}, whose values no cursor can hold.`,
      hint: "Take it out of `sort` and `sortable_fields`, or remove `cursor`.",
    }));
}

const isNested = ({ kind }: ColumnType): boolean =>
  ["array", "map", "tuple", "record", "json"].includes(kind);

/** A mistake skips the model: without the setting every caller would read the rows of all organizations. */
function rowsProblems({ routewright, columns }: Model): readonly Complaint[] {
  const { rows = null } = routewright;
  if (rows === null) return [];
  const path = "$.meta.routewright.rows";
  const { column, equals, ...others } = objectOr(rows);
  if (!isObject(rows) || typeof column !== "string" || equals !== "org" || Object.keys(others).length > 0)
    return complaint(
      path,
      `${formatValue(rows)} is not a column and what it equals.`,
      "Write `rows: {column: org_id, equals: org}`.",
    );
  return columns.some(({ name }) => name === column)
    ? []
    : [{ path: `${path}.column`, ...noColumn(column, namesIn(columns)) }];
}

const FILTERS = "$.meta.routewright.filters";

function filterProblems({ routewright, columns }: Model, settings: ApiSettings | null): readonly Complaint[] {
  const { filters = [] } = routewright;
  if (!Array.isArray(filters))
    return [{ path: FILTERS, message: `${formatValue(filters)} is not a list of columns.`, hint: LIST_HINT }];
  const reserved = [
    ...PAGE_FIELDS,
    ...SORT_FIELDS,
    ...(routewright["cursor"] === true ? ["cursor"] : []),
    "fields",
  ];
  const parameters = settings?.parameters.map(({ name }) => name) ?? [];
  const isTaken = (name: string): boolean =>
    /[[\]]/.test(name) || reserved.includes(name) || parameters.some((each) => each.startsWith(`${name}[`));
  return filters.flatMap((name: unknown, i) => {
    const path = `${FILTERS}[${String(i)}]`;
    return typeof name === "string"
      ? filterProblem(name, path, columns, isTaken)
      : complaint(path, `${formatValue(name)} is not the name of a column.`, LIST_HINT);
  });
}

const LIST_HINT = "List names of columns: `filters: [amount, created_at]`.";

function filterProblem(
  name: string,
  path: string,
  columns: readonly ModelColumn[],
  isTaken: (name: string) => boolean,
): readonly Complaint[] {
  const column = columns.find((each) => each.name === name);
  if (column === undefined) return [{ path, ...noColumn(name, namesIn(columns)) }];
  if (isTaken(name)) {
    const message = `Operators of ${formatValue(name)} would have the name of another parameter, or the name holds a bracket.`;
    return [{ path, message, hint: "Leave the column out, or rename that parameter." }];
  }
  if (filterTypeOf(column.type) !== null) return [];
  const message =
    column.type === null
      ? `The column ${formatValue(name)} has no type, which decides the operators.`
      : `The column ${formatValue(name)} is ${formatValue(column.type)}, which has no operators.`;
  const hint = "Filter columns of numbers, dates, times, texts, booleans or UUIDs, with their `data_type`.";
  return [{ path, message, hint }];
}

/** Null for a type whose values are not compared. */
function filterTypeOf(text: string | null): ColumnFilterType | null {
  const type: ColumnType = parseColumnType(text);
  switch (type.kind) {
    case "integer":
      return "integer";
    case "decimal":
    case "float":
      return "number";
    case "date":
    case "boolean":
      return type.kind;
    case "dateTime":
      return "date-time";
    case "enum":
      return "text";
    case "string":
      return type.format === undefined ? "text" : type.format === "uuid" ? "uuid" : null;
    default:
      return null;
  }
}
