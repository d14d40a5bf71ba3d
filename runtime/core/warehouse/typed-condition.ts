import type { DatabaseType } from "../model/database-types.js";
import { type HttpError, httpError } from "../model/errors.js";
import { operatorOf } from "../model/operators.js";
import type { ColumnCondition, TypedValue } from "../model/query.js";
import type { FilterType } from "./filter-type.js";

/** Gives a condition its values in the type of its column; the error where the column cannot be compared with them. */
export function typeCondition(
  condition: ColumnCondition,
  { refusal, text }: DatabaseType,
  typeOf: () => FilterType,
): HttpError | null {
  const { operator, name } = condition;
  const kind = operatorOf(operator).value;
  const asText = kind === "pattern" || kind === "text" || "case" in condition;
  if (kind !== "flag" && (refusal !== undefined || (asText && text === "none")))
    return httpError("notFilterable", { name });
  if (kind !== "typed") return null;
  const type = typeOf();
  if (condition.typed?.type === type) return null;
  const values = valuesOf(condition, type);
  if (values === null) return httpError("valueNotOfType", { name, type: type.kindText });
  condition.typed = { type, values };
  return null;
}

/** Null: one is not of the type. */
function valuesOf({ value }: ColumnCondition, type: FilterType): readonly TypedValue[] | null {
  const values: TypedValue[] = [];
  for (const text of typeof value === "string" ? [value] : value) {
    const read = type.read(text);
    if (read === undefined) return null;
    values.push(read);
  }
  return values;
}
