import {
  type ColumnFilter,
  type ColumnFilterType,
  type Endpoint,
  PAGE_FIELDS,
  SORT_FIELDS,
} from "@routewright/runtime/model";
import { isObject, objectOr } from "../manifest/json.js";
import type { Model } from "../manifest/model.js";
import type { ModelColumn } from "../manifest/columns.js";
import { closest, formatValue } from "../manifest/strings.js";
import type { Problem } from "./catalogue.js";
import { type ColumnType, parseColumnType } from "./column-types/column-type.js";
import type { ApiSettings } from "./settings.js";

/** What `meta.routewright` lets callers ask for (generator/README.md, Queries). */
export type QuerySettings = Pick<Endpoint, "fields" | "filters" | "rows">;

/** The settings of a model without problems. */
export function querySettingsOf({ routewright, columns }: Model): QuerySettings {
  const filters = [...new Set(namesOf(routewright["filters"]))].map((name): ColumnFilter => {
    const type = columns.find((column) => column.name === name)?.type ?? null;
    return { column: name, type: filterTypeOf(type) ?? "text" };
  });
  const rows = objectOr(routewright["rows"]);
  return {
    ...(filters.length > 0 && { filters }),
    ...(routewright["fields"] === true && { fields: true as const }),
    ...(typeof rows["column"] === "string" && { rows: { column: rows["column"], equals: "org" as const } }),
  };
}

function namesOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
}

type Complaint = Omit<Problem, "model">;

/** Problems of the settings; `settings` is null where `meta.api` has problems of its own. */
export function querySettingsProblems(model: Model, settings: ApiSettings | null): readonly Problem[] {
  const complaints = [
    ...filterProblems(model, settings),
    ...fieldsProblems(model, settings),
    ...rowsProblems(model),
  ];
  return complaints.map((complaint) => ({ model: model.uniqueId, ...complaint }));
}

function fieldsProblems({ routewright, columns }: Model, settings: ApiSettings | null): readonly Complaint[] {
  const { fields = false } = routewright;
  const path = "$.meta.routewright.fields";
  if (typeof fields !== "boolean")
    return [{ path, message: `${formatValue(fields)} is not a boolean.`, hint: "Write `fields: true`." }];
  if (!fields) return [];
  if (columns.length === 0)
    return [
      {
        path,
        message: "The model declares no columns to choose from.",
        hint: "List them in its schema.yml.",
      },
    ];
  if (settings?.parameters.some(({ name }) => name === "fields") !== true) return [];
  const message = "A parameter has the name `fields`, by which callers choose columns.";
  return [{ path, message, hint: "Rename the parameter." }];
}

/** A mistake skips the model: without the setting everybody would read the rows of all organizations. */
function rowsProblems({ routewright, columns }: Model): readonly Complaint[] {
  const { rows = null } = routewright;
  if (rows === null) return [];
  const path = "$.meta.routewright.rows";
  const { column, equals, ...others } = objectOr(rows);
  if (!isObject(rows) || typeof column !== "string" || equals !== "org" || Object.keys(others).length > 0)
    return [
      {
        path,
        message: `${formatValue(rows)} is not a column and what it equals.`,
        hint: "Write `rows: {column: org_id, equals: org}`.",
      },
    ];
  return columns.some(({ name }) => name === column)
    ? []
    : [unknownColumn(column, `${path}.column`, columns)];
}

const FILTERS = "$.meta.routewright.filters";

function filterProblems({ routewright, columns }: Model, settings: ApiSettings | null): readonly Complaint[] {
  const { filters = [] } = routewright;
  if (!Array.isArray(filters))
    return [{ path: FILTERS, message: `${formatValue(filters)} is not a list of columns.`, hint: LIST_HINT }];
  const taken = new Set([
    ...(settings?.parameters.map(({ name }) => name) ?? []),
    ...PAGE_FIELDS,
    ...SORT_FIELDS,
    "fields",
  ]);
  return filters.flatMap((name: unknown, i) => {
    const path = `${FILTERS}[${String(i)}]`;
    return typeof name === "string"
      ? filterProblem(name, path, columns, taken)
      : [{ path, message: `${formatValue(name)} is not the name of a column.`, hint: LIST_HINT }];
  });
}

const LIST_HINT = "List names of columns: `filters: [amount, created_at]`.";

function filterProblem(
  name: string,
  path: string,
  columns: readonly ModelColumn[],
  taken: ReadonlySet<string>,
): readonly Complaint[] {
  const column = columns.find((each) => each.name === name);
  if (column === undefined) return [unknownColumn(name, path, columns)];
  if (taken.has(name) || /[[\]]/.test(name)) {
    const message = `${formatValue(name)} is the name of a parameter too, or holds a bracket.`;
    return [{ path, message, hint: "Rename that parameter, or leave the column out." }];
  }
  if (filterTypeOf(column.type) !== null) return [];
  const message =
    column.type === null
      ? `The column ${formatValue(name)} has no type, which decides the operators.`
      : `The column ${formatValue(name)} is ${formatValue(column.type)}, which has no operators.`;
  const hint = "Filter columns of numbers, dates, times, texts, booleans or UUIDs, with their `data_type`.";
  return [{ path, message, hint }];
}

/** A column that the model does not list. */
function unknownColumn(name: string, path: string, columns: readonly ModelColumn[]): Complaint {
  const near = closest(
    name,
    columns.map((column) => column.name),
  );
  const message = `The model has no column ${formatValue(name)}.`;
  const list = "List the column in the model's schema.yml, or pass --catalog with dbt's catalog.json.";
  return { path, message, hint: near ? `Did you mean ${formatValue(near)}? ${list}` : list };
}

/** Null for a type whose values are not compared. */
function filterTypeOf(text: string | null): ColumnFilterType | null {
  const type: ColumnType = parseColumnType(text ?? undefined);
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
