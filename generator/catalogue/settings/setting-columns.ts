import type { ModelColumn } from "../../manifest/model-columns.js";
import { closest, formatValue } from "../../manifest/strings.js";
import { dataTypeOf } from "../types/read-type.js";
import { isUnordered } from "../types/type-facts.js";
import { invalid, type SettingProblem } from "./setting.js";

/** A column that settings may name: declared, or found in the warehouse. */
export type SettingColumn = Pick<ModelColumn, "name" | "type">;

/** Null for a column without a type, and for one that the model does not have. */
export function typeOfColumn(name: string | undefined, columns: readonly SettingColumn[]): string | null {
  return columns.find((column) => column.name === name)?.type ?? null;
}

/** The problem of a setting that names a column which the model does not have. */
export function unknownColumn(
  name: string | undefined,
  at: string,
  columns: readonly SettingColumn[],
): readonly SettingProblem[] {
  if (name === undefined || columns.some((column) => column.name === name)) return [];
  const near = closest(
    name,
    columns.map((column) => column.name),
  );
  const hint = near
    ? `Did you mean ${formatValue(near)}? Otherwise list the column in the model's schema.yml, or pass --catalog.`
    : "List the column in the model's schema.yml, or pass --catalog with dbt's catalog.json.";
  return invalid(at, `The model has no column ${formatValue(name)}.`, hint);
}

/** The problem of sorting by a column whose values have no order. */
export function unorderedColumn(
  name: string | undefined,
  at: string,
  columns: readonly SettingColumn[],
): readonly SettingProblem[] {
  const type = typeOfColumn(name, columns);
  if (type === null || !isUnordered(dataTypeOf(type))) return [];
  const message = `The column ${formatValue(name)} is ${formatValue(type)}: values of this type have no order.`;
  return invalid(at, message, "Sort by another column.");
}
