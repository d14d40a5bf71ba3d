import {
  type ColumnFilter,
  type ColumnFilterType,
  type Endpoint,
  PAGE_FIELDS,
  SORT_FIELDS,
} from "@routewright/runtime/model";
import type { Model, ModelColumn } from "../manifest/model.js";
import { closest, formatValue } from "../manifest/strings.js";
import type { Problem } from "./catalogue.js";
import { type ColumnType, parseColumnType } from "./column-types/column-type.js";
import type { ApiSettings } from "./settings.js";

/** What `meta.routewright` lets callers ask for (generator/README.md, Queries). */
export type QuerySettings = Pick<Endpoint, "filters">;

/** The settings of a model without problems. */
export function querySettingsOf({ routewright, columns }: Model): QuerySettings {
  const filters = [...new Set(namesOf(routewright["filters"]))].map((name): ColumnFilter => {
    const type = columns.find((column) => column.name === name)?.type ?? null;
    return { column: name, type: filterTypeOf(type) ?? "text" };
  });
  return { ...(filters.length > 0 && { filters }) };
}

function namesOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
}

type Complaint = Omit<Problem, "model">;

/** Problems of the settings; `settings` is null where `meta.api` has problems of its own. */
export function querySettingsProblems(model: Model, settings: ApiSettings | null): readonly Problem[] {
  return filterProblems(model, settings).map((problem) => ({ model: model.uniqueId, ...problem }));
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
